//! Timers of the process.

use alloc::vec::Vec;

/// Effect of a timer that is due.
#[derive(Clone, Copy, Debug)]
pub enum Effect {
    /// Counts only; has no other effect.
    Nothing,
    /// A signal for the process, with this value.
    Signal(u64, u64),
    /// A signal for one thread, by its number.
    Thread(u64, u64, u64),
}

/// One timer.
#[derive(Clone, Copy, Debug)]
pub struct Timer {
    /// Time at which the timer is due.
    pub due: Option<u64>,
    /// After how long again; 0: not again.
    pub interval: u64,
    /// Number of times that it was due since the program last asked.
    pub count: u64,
}

impl Timer {
    /// A timer that is not armed.
    pub const fn new() -> Timer {
        Timer { due: None, interval: 0, count: 0 }
    }

    /// Returns the number of times that it has become due by `now`, and arms it again if it
    /// repeats.
    pub fn expire(&mut self, now: u64) -> u64 {
        let Some(due) = self.due.filter(|due| *due <= now) else { return 0 };
        if self.interval == 0 {
            self.due = None;
            self.count += 1;
            return 1;
        }
        let times = (now - due) / self.interval + 1;
        self.due = Some(due.saturating_add(times.saturating_mul(self.interval)));
        self.count = self.count.saturating_add(times);
        times
    }

    /// Interval, and what is left until it is due.
    pub fn left(&self, now: u64) -> [u64; 2] {
        [self.interval, self.due.map_or(0, |due| due.saturating_sub(now).max(1))]
    }
}

/// A timer of `timer_create`.
pub struct Posix {
    pub timer: Timer,
    pub clock: u64,
    /// Clock of CPU time that the timer counts, if it does. `due` is then a time of that clock.
    pub used: Option<Clock>,
    pub effect: Effect,
}

/// All timers that the agent serves.
pub struct Timers {
    /// Timer of `alarm` and `setitimer(ITIMER_REAL)`.
    pub real: Timer,
    pub posix: Vec<Option<Posix>>,
}

impl Timers {
    /// Creates timers that are not armed.
    pub const fn new() -> Timers {
        Timers { real: Timer::new(), posix: Vec::new() }
    }

    /// Returns the time at which the real-time timer is due (0: never), and its period.
    pub fn real_words(&self) -> [u64; 2] {
        [self.real.due.unwrap_or(0), self.real.interval]
    }

    /// Sets it so.
    pub fn set_real_words(&mut self, [due, interval]: [u64; 2]) {
        self.real = Timer { due: (due != 0).then_some(due), interval, count: 0 };
    }

    /// Returns true if a timer is armed.
    pub fn is_armed(&self) -> bool {
        self.next().is_some() || self.posix.iter().flatten().any(|posix| posix.used.is_some() && posix.timer.due.is_some())
    }

    pub fn next(&self) -> Option<u64> {
        let posix = self.posix.iter().flatten().filter(|posix| posix.used.is_none()).filter_map(|posix| posix.timer.due);
        posix.chain(self.real.due).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timer_that_repeats_keeps_its_beat() {
        let mut timer = Timer { due: Some(100), interval: 30, count: 0 };
        assert_eq!(timer.expire(99), 0);
        assert_eq!(timer.expire(100), 1);
        assert_eq!(timer.due, Some(130));
        assert_eq!(timer.expire(200), 3);
        assert_eq!((timer.due, timer.count), (Some(220), 4));
        assert_eq!(timer.left(215), [30, 5]);
        assert_eq!(timer.left(300), [30, 1]);
    }

    #[test]
    fn a_timer_of_one_shot_is_over() {
        let mut timer = Timer { due: Some(5), ..Timer::new() };
        assert_eq!(timer.expire(u64::MAX), 1);
        assert_eq!((timer.expire(u64::MAX), timer.left(0)), (0, [0, 0]));
    }
}

/// The two timers of `setitimer`.
pub type CpuTimers = [Timer; 2];

/// A clock of time that is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// CPU time of the process.
    Process,
    /// CPU time of the thread with this number.
    Thread(u64),
}
