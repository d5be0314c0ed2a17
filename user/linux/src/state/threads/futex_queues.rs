//! Threads that wait for futexes, in the order in which they came, so that a wake looks at those
//! that wait and at no others.

use crate::abi::errno::{ENOMEM, Errno};
use crate::state::threads::futex_wait::Wait;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

/// Number of queues, among which words are divided: a power of 2.
const QUEUES: usize = 64;

/// A thread that waits for a word.
#[derive(Clone, Copy, Debug)]
pub struct Waiter {
    pub wait: Wait,
    /// Place of the thread in the table.
    pub thread: usize,
}

/// All threads that wait.
pub struct FutexQueues {
    /// Empty until a thread waits.
    queues: Vec<VecDeque<Waiter>>,
}

impl FutexQueues {
    /// Queues without waiters.
    pub const fn new() -> FutexQueues {
        FutexQueues { queues: Vec::new() }
    }

    fn queue_of(address: u64) -> usize {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        (address.wrapping_mul(ODD) >> (64 - QUEUES.trailing_zeros())) as usize
    }

    /// Puts a waiter behind all others.
    pub fn push(&mut self, waiter: Waiter) -> Result<(), Errno> {
        if self.queues.is_empty() {
            self.queues.try_reserve_exact(QUEUES).map_err(|_| ENOMEM)?;
            self.queues.resize_with(QUEUES, VecDeque::new);
        }
        let queue = &mut self.queues[FutexQueues::queue_of(waiter.wait.address)];
        queue.try_reserve(1).map_err(|_| ENOMEM)?;
        queue.push_back(waiter);
        Ok(())
    }

    fn place(&self, address: u64, is_it: impl Fn(&Wait) -> bool) -> Option<(usize, usize)> {
        let number = FutexQueues::queue_of(address);
        let place = self.queues.get(number)?.iter().position(|waiter| waiter.wait.address == address && is_it(&waiter.wait))?;
        Some((number, place))
    }

    /// The waiter at a word that came first, with any of the bits.
    pub fn first(&self, address: u64, bits: u32) -> Option<Waiter> {
        let (number, place) = self.place(address, |wait| wait.bits & bits != 0)?;
        self.queues[number].get(place).copied()
    }

    /// Takes a wait out. Returns false if it is not there.
    pub fn remove(&mut self, address: u64, ticket: u64) -> bool {
        let found = self.place(address, |wait| wait.ticket == ticket);
        found.and_then(|(number, place)| self.queues[number].remove(place)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiter(address: u64, ticket: u64, bits: u32) -> Waiter {
        Waiter { wait: Wait { address, bits, ticket }, thread: ticket as usize }
    }

    #[test]
    fn who_came_first_is_first() {
        let mut queues = FutexQueues::new();
        assert!(queues.first(4, 1).is_none() && !queues.remove(4, 1));
        for ticket in 0..1000 {
            queues.push(waiter(4 * (ticket % 200), ticket, 1 << (ticket / 200))).unwrap();
        }
        assert_eq!(queues.first(40, u32::MAX).map(|waiter| waiter.thread), Some(10));
        assert_eq!(queues.first(40, 0b1100).map(|waiter| waiter.thread), Some(410));
        assert!(queues.first(40, 1 << 5).is_none());
        assert!(queues.remove(40, 10) && !queues.remove(40, 10) && queues.remove(40, 410));
        assert_eq!(queues.first(40, 0b1100).map(|waiter| waiter.thread), Some(610));
        assert_eq!(queues.first(44, u32::MAX).map(|waiter| waiter.thread), Some(11));
    }
}
