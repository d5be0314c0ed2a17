//! Grows the stack of the first thread, and what is mapped with `MAP_GROWSDOWN`.

use crate::abi::errno::{ENOMEM, Errno};
use crate::operations::limit_checks;
use crate::process::Process;
use crate::state::limits::USUAL_STACK;
use crate::state::memory::stack_growth::{BELOW, StackGrowth, next};
use crate::state::memory::mapped_part::LOWEST;
use nacre_abi::{PAGE_SIZE, Rights};
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

/// Resolves a fault at `address` by growing the stack, or what lies above the address. Returns true
/// if that succeeded.
pub fn resolve_fault(process: &mut Process, address: u64) -> bool {
    let is_stack = (END - MOST..process.growth.low).contains(&address);
    is_stack && try_grow(process, address).is_ok() || grow_mapping(process, address).is_ok()
}

/// Makes what lies above `address`, and grows downward, reach down to its page.
pub fn grow_mapping(process: &mut Process, address: u64) -> Result<(), Errno> {
    /// Addresses that stay free above what does not grow.
    const GUARD: u64 = 256 * PAGE_SIZE;
    let (start, rights) = process.memory.growing_above(address).ok_or(ENOMEM)?;
    let low = address & !(PAGE_SIZE - 1);
    let below = process.memory.map.below(low).filter(|area| area.rights != Rights::NONE).map_or(0, |area| area.end + GUARD);
    let end = process.memory.growing.end_of(start);
    let soft = process.limits.stack();
    let limit = if soft == USUAL_STACK { MOST } else { soft };
    if low < LOWEST || low < below || end - low > limit {
        return Err(ENOMEM);
    }
    limit_checks::check_memory(process, start - low, rights.contains(Rights::WRITE))?;
    process.memory.add(&mut process.services, low, start - low, rights)?;
    process.memory.growing.add(low, end);
    Ok(())
}
