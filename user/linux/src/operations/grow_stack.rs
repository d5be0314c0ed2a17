//! Grows the stack of the first thread.

use crate::abi::errno::{ENOMEM, Errno};
use crate::operations::limit_checks;
use crate::process::Process;
use crate::state::limits::USUAL_STACK;
use crate::state::memory::stack_growth::{BELOW, StackGrowth, next};
use nacre_abi::Rights;
use nacre_nest::plan::{FOREIGN_STACK_END as END, MAX_FOREIGN_STACK as MOST};

/// Finds the stack among the areas.
pub fn find_stack(process: &mut Process) {
    let mut low = END;
    while let Some(area) = process.memory.map.area(low - 1).filter(|area| area.start >= END - MOST && area.rights.contains(Rights::WRITE)) {
        low = area.start;
    }
    process.growth = if low == END { StackGrowth::default() } else { StackGrowth::to(low) };
}

/// Makes the stack reach below `stack`, if it may; whether there is more than there was.
pub fn grow_stack(process: &mut Process, stack: u64) -> bool {
    try_grow(process, stack.saturating_sub(BELOW)).is_ok()
}

fn try_grow(process: &mut Process, wanted: u64) -> Result<(), Errno> {
    let low = process.growth.low;
    if low == 0 || wanted >= low {
        return Err(ENOMEM);
    }
    let soft = process.limits.stack();
    // The usual limit is what threads are given, all at once; the first thread has room for more.
    let limit = if soft == USUAL_STACK { MOST } else { soft };
    let start = next(low, wanted, limit).ok_or(ENOMEM)?;
    limit_checks::check_memory(process, low - start, false)?;
    process.memory.add(&mut process.services, start, low - start, Rights::READ.union(Rights::WRITE))?;
    process.growth = StackGrowth::to(start);
    Ok(())
}

/// Resolves a fault at `address` by growing the stack. Returns true if that succeeded.
pub fn resolve_fault(process: &mut Process, address: u64) -> bool {
    (END - MOST..process.growth.low).contains(&address) && try_grow(process, address).is_ok()
}
