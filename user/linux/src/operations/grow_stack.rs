//! Grows the stack of the first thread.

use crate::abi::errno::{ENOMEM, Errno};
use crate::process::Process;
use crate::state::limits::USUAL_STACK;
use crate::state::memory::stack_growth::{BELOW, Growth, next};
use nacre_abi::Rights;
use nacre_nest::plan::{FOREIGN_STACK_END as END, MAX_FOREIGN_STACK as MOST};

impl Process {
    /// Finds the stack among the areas.
    pub fn find_stack(&mut self) {
        let mut low = END;
        while let Some(area) = self.memory.map.area(low - 1).filter(|area| area.start >= END - MOST && area.rights.contains(Rights::WRITE)) {
            low = area.start;
        }
        self.growth = if low == END { Growth::default() } else { Growth::to(low) };
    }

    /// Makes the stack reach below `stack`, if it may; whether there is more than there was.
    pub fn grow_stack(&mut self, stack: u64) -> bool {
        self.try_grow(stack.saturating_sub(BELOW)).is_ok()
    }

    fn try_grow(&mut self, wanted: u64) -> Result<(), Errno> {
        let low = self.growth.low;
        if low == 0 || wanted >= low {
            return Err(ENOMEM);
        }
        let soft = self.limits.stack();
        // The usual limit is what threads are given, all at once; the first thread has room for more.
        let limit = if soft == USUAL_STACK { MOST } else { soft };
        let start = next(low, wanted, limit).ok_or(ENOMEM)?;
        self.check_memory(low - start, false)?;
        self.memory.add(&mut self.services, start, low - start, Rights::READ.union(Rights::WRITE))?;
        self.growth = Growth::to(start);
        Ok(())
    }

    /// Whether a fault at `address` was for want of stack, and there is some now.
    pub fn resolve_fault(&mut self, address: u64) -> bool {
        (END - MOST..self.growth.low).contains(&address) && self.try_grow(address).is_ok()
    }
}
