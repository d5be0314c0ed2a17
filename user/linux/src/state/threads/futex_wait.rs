//! Waits of a thread for futexes.

use alloc::vec::Vec;

/// A thread's wait.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    /// The word.
    pub(crate) address: u64,
    pub(crate) bits: u32,
    pub(crate) ticket: u64,
}

/// Words that a thread waits for at once.
#[derive(Default)]
pub struct Several {
    pub waits: Vec<Wait>,
    /// Index of the word that was woken.
    pub taken: usize,
}

impl Several {
    /// The word is woken, and no other any more. Returns the waits that end.
    pub fn take(&mut self, address: u64) -> Vec<Wait> {
        let Some(number) = self.waits.iter().position(|wait| wait.address == address) else { return Vec::new() };
        self.taken = number;
        core::mem::take(&mut self.waits)
    }

    /// Moves the wait from one word to another (requeue).
    pub fn move_to(&mut self, from: u64, to: u64) {
        self.waits.iter_mut().filter(|wait| wait.address == from).for_each(|wait| wait.address = to);
    }
}
