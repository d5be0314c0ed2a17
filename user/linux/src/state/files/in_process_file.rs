//! Files that are inside the process: counters (`eventfd`), timers (`timerfd`), signals
//! (`signalfd`). Sets of files (`epoll`) are in [`epoll`](crate::calls::files::epoll).
//!
//! What would have to wait gives `EAGAIN` here; whoever calls waits until something changes in the
//! process.

use crate::abi::errno::{EAGAIN, EINVAL, Errno};
use crate::abi::poll_events::{POLLIN, POLLOUT};
use crate::state::files::epoll_set::Set;
use crate::state::files::proc_node::Shown;
use crate::state::timers::Timer;
use alloc::vec::Vec;

/// A counter.
pub struct Counter {
    pub value: u64,
    /// A read takes 1, and not all.
    pub is_semaphore: bool,
}

impl Counter {
    pub fn read(&mut self) -> Result<u64, Errno> {
        if self.value == 0 {
            return Err(EAGAIN);
        }
        let taken = if self.is_semaphore { 1 } else { self.value };
        self.value -= taken;
        Ok(taken)
    }

    pub fn write(&mut self, by: u64) -> Result<(), Errno> {
        if by == u64::MAX {
            return Err(EINVAL);
        }
        let sum = self.value.checked_add(by).filter(|sum| *sum != u64::MAX).ok_or(EAGAIN)?;
        self.value = sum;
        Ok(())
    }

    pub fn events(&self) -> u64 {
        let readable = if self.value != 0 { POLLIN } else { 0 };
        readable | if self.value < u64::MAX - 1 { POLLOUT } else { 0 }
    }
}

/// A timer that is read.
pub struct FileTimer {
    pub timer: Timer,
    pub clock: u64,
}

/// Start of the path value that marks a timer in an inheritance.
const TIMER: &[u8] = b"timer";

impl FileTimer {
    /// Returns the timer as a path value of an inheritance.
    pub fn to_path(&self) -> Vec<u8> {
        let Timer { due, interval, count } = self.timer;
        let words = [due.map_or(0, |due| due.saturating_add(1)), interval, count, self.clock].map(u64::to_le_bytes);
        [TIMER, words.as_flattened()].concat()
    }

    /// Returns the timer that a path value says; `None` if it says none.
    pub fn of_path(path: &[u8]) -> Option<FileTimer> {
        let words: [u8; 32] = path.strip_prefix(TIMER)?.try_into().ok()?;
        let word = |number: usize| words.as_chunks::<8>().0.get(number).map_or(0, |word| u64::from_le_bytes(*word));
        let timer = Timer { due: word(0).checked_sub(1), interval: word(1), count: word(2) };
        Some(FileTimer { timer, clock: word(3) })
    }
}

/// A file that is told of faults.
#[derive(Clone, Copy)]
pub struct UserFaultFile {
    /// Number of it, which no other file of the process ever has.
    pub number: u64,
    /// Features that the program asked for; `None`: it has not yet.
    pub features: Option<u64>,
    /// Tells of faults of the program's own instructions alone, not of those of its calls.
    pub is_for_program: bool,
}

/// State of a file inside the process, by kind.
pub enum InProcessFile {
    /// `eventfd`.
    Counter(Counter),
    /// `timerfd`.
    Timer(FileTimer),
    /// `signalfd`: the signals of a set.
    Signals(u64),
    /// `epoll`.
    Set(Set),
    /// `userfaultfd`.
    Faults(UserFaultFile),
    /// A process, by its number.
    Process(u64),
    /// Something in `/proc`.
    Shown(Shown),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_is_what_its_path_says() {
        for due in [None, Some(0), Some(5)] {
            let path = FileTimer { timer: Timer { due, interval: 7, count: 2 }, clock: 1 }.to_path();
            let again = FileTimer::of_path(&path).unwrap();
            assert_eq!((again.timer.due, again.timer.interval, again.timer.count, again.clock), (due, 7, 2, 1));
            assert!(FileTimer::of_path(&path[1..]).is_none() && FileTimer::of_path(&path[..36]).is_none());
        }
    }

    #[test]
    fn counters_give_all_or_one() {
        let mut counter = Counter { value: 3, is_semaphore: false };
        assert_eq!((counter.read(), counter.read()), (Ok(3), Err(EAGAIN)));
        assert_eq!(counter.write(u64::MAX), Err(EINVAL));
        assert_eq!(counter.write(u64::MAX - 1), Ok(()));
        assert_eq!(counter.write(1), Err(EAGAIN));
        assert_eq!(counter.events(), POLLIN);
        let mut counter = Counter { value: 2, is_semaphore: true };
        assert_eq!((counter.read(), counter.read(), counter.read()), (Ok(1), Ok(1), Err(EAGAIN)));
        assert_eq!(counter.events(), POLLOUT);
    }
}
