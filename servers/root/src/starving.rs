//! Faults that wait for memory: threads that have touched a page of a promise when there was none.
//!
//! A fault waits until memory comes back, or until its deadline. When a deadline passes, the fault
//! of the promise that has most memory is refused, whichever it is, and all others get a new
//! deadline. So a program that takes all memory ends, and not the one that came next. If threads
//! that waited have gone meanwhile, their program ends already, and no fault is refused. Nothing is
//! tried while nothing has changed: the server sleeps until memory comes back or a deadline passes.

use crate::table::Key;
use alloc::collections::VecDeque;
use nacre_proto::Errno;

/// Nanoseconds that a fault waits for memory of programs that end. Their makers take it back, who
/// may be busy, so this is long for them and short for a person.
pub const PATIENCE: u64 = 1_000_000_000;
/// Faults that are tried between two events.
pub const AT_ONCE: usize = 8;

/// A fault that waits.
pub struct Starving<R> {
    /// The promise.
    pub key: Key,
    /// Offset of the byte that was touched.
    pub offset: u64,
    /// Moment at which waiting is over.
    pub until: u64,
    /// The reply that is owed.
    pub reply: R,
}

/// All faults that wait.
pub struct Hunger<R> {
    waiting: VecDeque<Starving<R>>,
    /// Number of faults that were not tried since memory came back.
    untried: usize,
    /// State of the memory after the last try.
    seen: (u64, u64),
}

impl<R> Default for Hunger<R> {
    fn default() -> Hunger<R> {
        Hunger { waiting: VecDeque::new(), untried: 0, seen: (0, 0) }
    }
}

impl<R> Hunger<R> {
    /// Makes room for one more.
    pub fn reserve(&mut self) -> Result<(), Errno> {
        self.waiting.try_reserve(1).map_err(|_| Errno::ENOMEM)
    }

    /// Adds a fault that was tried, behind the others.
    pub fn add(&mut self, fault: Starving<R>) {
        self.waiting.push_back(fault);
    }

    /// Returns true if nobody waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Returns true if some faults are to be tried now.
    pub fn is_busy(&self) -> bool {
        self.untried != 0
    }

    /// Notes what has come back so far: if it is more than before, all faults are tried again.
    pub fn notice(&mut self, returned: (u64, u64)) {
        if self.seen != returned {
            self.untried = self.waiting.len();
        }
        self.seen = returned;
    }

    /// Notes what has come back by trying itself, which is no reason to try again.
    pub fn settle(&mut self, returned: (u64, u64)) {
        self.seen = returned;
    }

    /// Takes the fault that is tried next.
    pub fn take_untried(&mut self) -> Option<Starving<R>> {
        self.untried = self.untried.checked_sub(1)?;
        self.waiting.pop_front()
    }

    /// Returns the nanoseconds until the first deadline.
    pub fn patience(&self, now: u64) -> Option<u64> {
        self.waiting.iter().map(|fault| fault.until).min().map(|until| until.saturating_sub(now).max(1))
    }

    /// Returns true if a deadline has passed.
    pub fn is_due(&self, now: u64) -> bool {
        self.patience(now).is_some_and(|left| left <= 1)
    }

    /// Takes a fault whose thread has gone.
    pub fn take_gone(&mut self, is_gone: impl Fn(&R) -> bool) -> Option<Starving<R>> {
        let gone = self.waiting.iter().position(|fault| is_gone(&fault.reply))?;
        self.remove(gone)
    }

    /// Takes the fault to refuse: the one whose promise has most.
    pub fn take_victim(&mut self, taken: impl Fn(Key) -> u64) -> Option<Starving<R>> {
        let victim = (0..self.waiting.len()).max_by_key(|index| taken(self.waiting[*index].key))?;
        self.remove(victim)
    }

    fn remove(&mut self, index: usize) -> Option<Starving<R>> {
        let fault = self.waiting.remove(index)?;
        self.untried = self.untried.min(self.waiting.len());
        Some(fault)
    }

    /// Gives each fault a new deadline, because somebody ends.
    pub fn wait_anew(&mut self, now: u64) {
        self.waiting.iter_mut().for_each(|fault| fault.until = now + PATIENCE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hunger(faults: &[(u64, u64)]) -> Hunger<u64> {
        let mut hunger = Hunger::default();
        for (number, until) in faults {
            hunger.reserve().unwrap();
            hunger.add(Starving { key: Key::from_word(*number), offset: 0, until: *until, reply: *number });
        }
        hunger
    }

    #[test]
    fn the_greediest_is_refused_though_another_has_waited_longer() {
        let mut hunger = hunger(&[(1, 100), (2, 110), (3, 120)]);
        let taken = |key: Key| [0, 4, 900, 8][key.to_word() as usize];
        assert_eq!(hunger.patience(90), Some(10));
        assert!(!hunger.is_due(90) && hunger.is_due(100));
        assert_eq!(hunger.take_victim(taken).map(|fault| fault.reply), Some(2));
        hunger.wait_anew(100);
        assert_eq!(hunger.patience(100), Some(PATIENCE));
        assert!(hunger.is_due(100 + PATIENCE));
        assert_eq!(hunger.take_victim(taken).map(|fault| fault.reply), Some(3));
    }

    #[test]
    fn the_fault_of_a_thread_that_has_gone_is_no_victim() {
        let mut hunger = hunger(&[(1, 100), (2, 100), (3, 100), (2, 100)]);
        let gone = |hunger: &mut Hunger<u64>| hunger.take_gone(|reply| *reply == 2).map(|fault| fault.reply);
        assert_eq!([gone(&mut hunger), gone(&mut hunger), gone(&mut hunger)], [Some(2), Some(2), None]);
        assert_eq!(hunger.take_victim(|key| key.to_word()).map(|fault| fault.reply), Some(3));
    }

    #[test]
    fn nothing_is_tried_while_nothing_has_changed() {
        let mut hunger = hunger(&[(1, 100), (2, 110), (3, 120)]);
        hunger.notice((0, 0));
        assert!(!hunger.is_busy() && hunger.take_untried().is_none());
        hunger.notice((1, 0));
        for number in 1..=3 {
            let fault = hunger.take_untried().unwrap();
            assert_eq!(fault.reply, number);
            hunger.add(fault);
        }
        hunger.settle((2, 0));
        hunger.notice((2, 0));
        assert!(!hunger.is_busy());
        hunger.notice((2, 1));
        assert!(hunger.is_busy());
    }
}
