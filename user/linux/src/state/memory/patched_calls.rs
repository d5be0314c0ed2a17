//! Places that make calls without the kernel, and how often others are used.

use alloc::vec::Vec;

/// A place is rewritten when it was shown so often, with others not much more often in between.
pub const OFTEN: u32 = 32;
/// Number of call sites that are counted at a time.
const COUNTED: usize = 8;
/// Range of a jump in bytes.
pub const REACH: u64 = (1 << 31) - (1 << 16);

/// Call sites that are used often, and the stubs that were made for them.
#[derive(Default)]
pub struct PatchedCalls {
    counts: [(u64, u32); COUNTED],
    /// Pages of stubs, and how many bytes of each are in use.
    pub pages: Vec<(u64, u64)>,
    /// Pages of code that are the process's own.
    pub own: Vec<u64>,
    /// Number of other processes that share this memory and would not see new stubs.
    pub guests: usize,
}

impl PatchedCalls {
    /// Returns true if a call site was sampled often enough to be worth patching. Samples of other
    /// sites wear its count down.
    pub fn is_hot(&mut self, at: u64) -> bool {
        if let Some(index) = self.counts.iter().position(|(place, _)| *place == at) {
            self.counts[index].1 += 1;
            let is_hot = self.counts[index].1 >= OFTEN;
            if is_hot {
                self.counts[index] = (0, 0);
            }
            return is_hot;
        }
        match self.counts.iter_mut().find(|(_, count)| *count == 0) {
            Some(free) => *free = (at, 1),
            None => self.counts.iter_mut().for_each(|(_, count)| *count -= 1),
        }
        false
    }

    /// Notes that another process shares this memory.
    pub fn join(&mut self) {
        self.guests += 1;
    }

    /// Notes that a process no longer shares this memory.
    pub fn leave(&mut self) {
        self.guests -= 1;
    }
}
