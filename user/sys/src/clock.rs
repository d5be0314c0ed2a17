//! The machine's monotonic clock, and the processor's counter.

use nacre_abi::{Call, Status};

use crate::{Reference, raw};

/// Nanoseconds since the machine started.
pub fn read(clock: Reference) -> Result<u64, Status> {
    raw::call(Call::ClockRead, [clock.0, 0, 0, 0]).map(|(nanoseconds, _)| nanoseconds)
}

/// Conversion of the processor's counter to nanoseconds since the machine started, as the kernel
/// does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// The counter when the machine started.
    pub start: u64,
    /// Nanoseconds a tick, shifted left by 32.
    pub factor: u64,
}

impl Scale {
    /// Returns the scale of a counter with `frequency` ticks a second, or `None` if the counter
    /// stands still.
    pub const fn new(start: u64, frequency: u64) -> Option<Scale> {
        match (1_000_000_000u128 << 32).checked_div(frequency as u128) {
            Some(factor) => Some(Scale { start, factor: factor as u64 }),
            None => None,
        }
    }

    /// Nanoseconds when the counter says so.
    #[inline]
    pub const fn nanoseconds(self, ticks: u64) -> u64 {
        ((ticks.saturating_sub(self.start) as u128 * self.factor as u128) >> 32) as u64
    }
}

/// Ticks of the processor's time-stamp counter: the cheapest measure of time, with no meaning
/// beyond the difference of two.
#[inline(always)]
pub fn ticks() -> u64 {
    raw::ticks()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_become_nanoseconds() {
        let scale = Scale::new(1000, 2_000_000_000).unwrap();
        assert_eq!((scale.nanoseconds(3000), scale.nanoseconds(1001), scale.nanoseconds(5)), (1000, 0, 0));
        assert_eq!(scale.nanoseconds(1000 + 2_000_000_000 * 86400 * 365), 1_000_000_000 * 86400 * 365);
        assert_eq!(Scale::new(7, 0), None);
        // Whatever somebody else says is no more than a wrong time.
        let _ = Scale { start: 0, factor: u64::MAX }.nanoseconds(u64::MAX);
    }
}
