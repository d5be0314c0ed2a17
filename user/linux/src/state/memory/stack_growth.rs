//! The stack of the first thread, which grows when it is needed: a call below what there is makes
//! more, and so does a fault there.
//!
//! A fault comes to the agent if that keeps the process. Else it comes to the manager, which sends
//! the thread on to the library: see [`faulted`].

use nacre_nest::plan::{FOREIGN_STACK_END as END, MAX_FOREIGN_STACK as MOST};

/// Bytes that must exist below the stack pointer: a handler's frame, and a little more.
pub const BELOW: u64 = 0x4000;
/// A stack grows by multiples of this.
const STEP: u64 = 0x1_0000;

/// Extent of the stack.
#[derive(Clone, Copy, Debug, Default)]
pub struct StackGrowth {
    /// Lowest address, or 0 if the process has no stack that can grow.
    pub low: u64,
    /// Distance from [`FLOOR`] below which a stack pointer has too little stack left.
    alarm: u64,
}

/// Lowest possible stack pointer of a stack that grows.
const FLOOR: u64 = END - MOST + 1;

impl StackGrowth {
    /// A stack that reaches down to `low`.
    pub fn to(low: u64) -> StackGrowth {
        StackGrowth { low, alarm: (low + BELOW).saturating_sub(FLOOR) }
    }

    /// Returns true if a stack pointer is in the stack's range and may lack memory below it.
    #[inline]
    pub fn is_below(self, stack: u64) -> bool {
        stack.wrapping_sub(FLOOR) < self.alarm
    }
}

/// Returns the new start of a stack that reaches down to `low` and needs `wanted`, within `limit`
/// bytes. The stack doubles, so that it has few parts.
pub fn next(low: u64, wanted: u64, limit: u64) -> Option<u64> {
    let floor = END - limit.min(MOST) / STEP * STEP;
    let doubled = low.saturating_sub(END - low);
    let start = (wanted & !(STEP - 1)).min(doubled).max(floor);
    (start < low && start <= wanted.max(floor)).then_some(start)
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
        let growth = StackGrowth::to(END - 0x4_0000);
        assert!(growth.is_below(END - 0x4_0000 + 8));
        assert!(!growth.is_below(END - 8) && !growth.is_below(0x6fff_ffff_f000));
        assert!(!StackGrowth::default().is_below(END - 8));
    }
}
