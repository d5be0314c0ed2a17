//! The machine's monotonic clock.

use nacre_abi::{Call, Status};

use crate::{Reference, raw};

/// Nanoseconds since the machine started.
pub fn read(clock: Reference) -> Result<u64, Status> {
    raw::call(Call::ClockRead, [clock.0, 0, 0, 0]).map(|(nanoseconds, _)| nanoseconds)
}
