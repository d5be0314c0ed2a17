//! Places that make calls without the kernel, and how often others are used.

use alloc::vec::Vec;

/// A place is rewritten when it was shown so often, with others not much more often in between.
pub const OFTEN: u32 = 32;
/// How many places are counted at a time.
const COUNTED: usize = 8;
/// How far a jump goes.
pub const REACH: u64 = (1 << 31) - (1 << 16);

/// Which places are used often, and what has been made for them.
#[derive(Default)]
pub struct Sites {
    counts: [(u64, u32); COUNTED],
    /// Pages of stubs, and how many bytes of each are in use.
    pub pages: Vec<(u64, u64)>,
    /// Pages of code that are the process's own.
    pub own: Vec<u64>,
    /// So many processes see this memory, and would not see new stubs.
    pub guests: usize,
}

impl Sites {
    /// Whether a place was shown so often that it is worth its price. As many others, each for
    /// itself, make it start anew.
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

    /// From now on, another process sees this memory.
    pub fn join(&mut self) {
        self.guests += 1;
    }

    /// It does no more.
    pub fn leave(&mut self) {
        self.guests -= 1;
    }
}
