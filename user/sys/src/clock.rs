//! The machine's monotonic clock, and the processor's counter.

use nacre_abi::{Call, Status};

use crate::{Reference, raw};

/// Nanoseconds since the machine started.
pub fn read(clock: Reference) -> Result<u64, Status> {
    raw::call(Call::ClockRead, [clock.0, 0, 0, 0]).map(|(nanoseconds, _)| nanoseconds)
}

/// Ticks of the processor's time-stamp counter: the cheapest measure of time, with no meaning beyond the difference of two.
#[inline(always)]
pub fn ticks() -> u64 {
    raw::ticks()
}
