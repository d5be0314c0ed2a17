//! The stack of the first thread, which grows when it is needed: a call below what there is makes more, and so does a fault there.
//!
//! A fault comes to the agent if that keeps the process. Else it comes to the manager, which sends the thread on to the library: see [`faulted`].

use crate::abi::errno::{ENOMEM, Errno};
use crate::abi::registers::Frame;
use crate::calls::identity::limits::USUAL_STACK;
use crate::calls::signals::SIGSEGV;
use crate::process::Process;
use crate::state::signals::pending::Info;
use nacre_abi::Rights;
use nacre_nest::plan::{FOREIGN_STACK_END as END, MAX_FOREIGN_STACK as MOST};
use nacre_sys::Thread;

/// What must be there below the stack pointer: a handler's frame, and a little more.
const BELOW: u64 = 0x4000;
/// A stack grows by multiples of this.
const STEP: u64 = 0x1_0000;

/// How far the stack reaches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Growth {
    /// Its lowest address; 0: the process has none that can grow.
    low: u64,
    /// How far above [`FLOOR`] a stack pointer is that has too little below it.
    alarm: u64,
}

/// No stack pointer of a stack that grows is below this.
const FLOOR: u64 = END - MOST + 1;

impl Growth {
    /// A stack that reaches down to `low`.
    fn to(low: u64) -> Growth {
        Growth { low, alarm: (low + BELOW).saturating_sub(FLOOR) }
    }

    /// Whether a stack pointer is in the stack's range, and there may be nothing below it.
    #[inline]
    pub fn is_below(self, stack: u64) -> bool {
        stack.wrapping_sub(FLOOR) < self.alarm
    }
}

/// Where a stack that reaches down to `low` and is to have `wanted` starts, if it may have `limit` bytes: twice as much as it has, so that there are few parts.
fn next(low: u64, wanted: u64, limit: u64) -> Option<u64> {
    let floor = END - limit.min(MOST) / STEP * STEP;
    let doubled = low.saturating_sub(END - low);
    let start = (wanted & !(STEP - 1)).min(doubled).max(floor);
    (start < low && start <= wanted.max(floor)).then_some(start)
}

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

/// A thread has come here by a fault in the range of the stack. What it was about is in the frame, but for the instruction, which is where its `fs` was.
pub fn faulted(process: &mut Process, frame: &mut Frame) {
    let thread = process.me();
    let (kernel, base) = (thread.kernel, thread.fs_base);
    frame.next = kernel.get_state().map_or(0, |state| state.fs_base);
    // A base that was set before can be set again.
    let _ = Thread::set_fs_base(base);
    if !process.grow_stack(frame.stack) {
        process.force(Info { signal: SIGSEGV, code: 1, fields: [frame.stack, 0, 0, 0] });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_doubles_up_to_its_limit() {
        let low = END - 0x4_0000;
        assert_eq!(next(low, low - 8, MOST), Some(END - 0x8_0000));
        assert_eq!(next(low, END - 0x20_0000, MOST), Some(END - 0x20_0000));
        assert_eq!(next(END - 0x50_0000, END - 0x50_0008, MOST), Some(END - MOST));
        assert_eq!(next(END - MOST, END - MOST - 8, MOST), None);
        assert_eq!(next(low, low - 8, 0x4_0000), None);
        assert_eq!(next(low, low - 0x1_0000, 0x5_0000), Some(END - 0x5_0000));
    }

    #[test]
    fn only_the_stacks_own_range_is_looked_at() {
        let growth = Growth::to(END - 0x4_0000);
        assert!(growth.is_below(END - 0x4_0000 + 8));
        assert!(!growth.is_below(END - 8) && !growth.is_below(0x6fff_ffff_f000));
        assert!(!Growth::default().is_below(END - 8));
    }
}
