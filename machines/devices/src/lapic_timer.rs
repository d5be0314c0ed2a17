//! The timer of a local APIC: it counts nanoseconds, divided, or goes off by the processor's
//! counter.

use crate::lapic::{BY_COUNTER, LocalApic, MASKED, PERIODIC, TIMER};

/// Shortest period, in nanoseconds: a guest that asks for less would keep its monitor busy.
const MIN_PERIOD: u64 = 200_000;

impl LocalApic {
    fn divisor(&self) -> u64 {
        let code = self.state.divide >> 1 & 4 | self.state.divide & 3;
        if code == 7 { 1 } else { 2 << code }
    }

    fn period(&self) -> u64 {
        u64::from(self.state.initial) * self.divisor()
    }

    pub(crate) fn set_initial(&mut self, value: u32, now: u64) {
        if self.state.local[TIMER] & BY_COUNTER != 0 {
            return;
        }
        self.state.initial = value;
        self.state.ends = if value == 0 { 0 } else { now.saturating_add(self.period()) };
    }

    pub(crate) fn set_divide(&mut self, value: u32, now: u64) {
        let left = u64::from(self.current(now));
        self.state.divide = value & 0xb;
        if self.state.ends != 0 {
            self.state.ends = now.saturating_add(left * self.divisor());
        }
    }

    pub(crate) fn current(&self, now: u64) -> u32 {
        (self.state.ends.saturating_sub(now) / self.divisor()) as u32
    }

    /// Returns the counter's value at which the timer goes off, 0 if it does not.
    pub fn counter(&self) -> u64 {
        if self.state.local[TIMER] & BY_COUNTER != 0 { self.state.counter } else { 0 }
    }

    /// Lets the timer go off when the processor's counter has this value, which is at time `at`; 0:
    /// never.
    pub fn set_counter(&mut self, value: u64, at: u64) {
        if self.state.local[TIMER] & BY_COUNTER != 0 {
            self.state.counter = value;
            self.state.ends = if value == 0 { 0 } else { at.max(1) };
        }
    }

    /// Returns the time at which the timer goes off.
    pub fn next_deadline(&self) -> Option<u64> {
        (self.state.ends != 0).then_some(self.state.ends)
    }

    /// Lets the timer go off if it is time.
    pub fn advance(&mut self, now: u64) {
        if self.state.ends == 0 || self.state.ends > now {
            return;
        }
        let local = self.state.local[TIMER];
        let period = self.period().max(MIN_PERIOD);
        self.state.counter = 0;
        self.state.ends = if local & PERIODIC != 0 && self.state.initial != 0 {
            // Ends that were missed are one.
            now - (now - self.state.ends) % period + period
        } else {
            0
        };
        if local & MASKED == 0 {
            let _ = self.request(local as u8, false);
        }
    }
}
