//! What time it is: by the processor's counter, if the clock's server says how; else the server is
//! asked each time.

use crate::abi::errno::Errno;
use crate::abi::time_units::{MONOTONIC, SECOND};
use crate::services::find;
use nacre_proto::clock;
use nacre_proto::flags::SERVICE_CLOCK;
use nacre_sys::{OwnedReference, Reference};
use nacre_sys::clock::{Scale, ticks};

/// Source of the time.
#[derive(Debug, Default)]
pub enum Clock {
    /// Unknown source: the library has not asked yet.
    #[default]
    Unknown,
    /// The server, each time.
    Asked(OwnedReference),
    /// The counter; so much more than the machine's time is that since 1970.
    Counted(Scale, u64),
}

impl Clock {
    /// Reads a clock, in seconds and nanoseconds.
    #[inline]
    pub fn read(&mut self, which: u64) -> Result<(u64, u64), Errno> {
        match self {
            Clock::Counted(scale, since_1970) => Ok(split(scale.nanoseconds(ticks()), which, *since_1970)),
            Clock::Asked(server) => ask(server.handle(), which),
            Clock::Unknown => {
                *self = find()?;
                self.read(which)
            }
        }
    }
}

/// Time of the machine's clock, on this clock.
#[inline]
fn split(now: u64, which: u64, since_1970: u64) -> (u64, u64) {
    let now = if which == MONOTONIC { now } else { now.wrapping_add(since_1970) };
    (now / SECOND, now % SECOND)
}

#[cold]
fn ask(server: Reference, which: u64) -> Result<(u64, u64), Errno> {
    let reply = clock::read(server, which)?;
    Ok((reply.seconds, reply.nanoseconds))
}

#[cold]
fn find() -> Result<Clock, Errno> {
    let mut server = None;
    let known = clock::scale(find::find(&mut server, SERVICE_CLOCK)?);
    Ok(match (known, server) {
        (Ok(reply), _) => Clock::Counted(Scale { start: reply.start, factor: reply.factor }, reply.since_1970),
        (Err(_), Some(server)) => Clock::Asked(server),
        (Err(error), None) => return Err(error.into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::time_units::REALTIME;

    #[test]
    fn the_calendar_starts_elsewhere() {
        assert_eq!(split(2_500_000_000, MONOTONIC, 7), (2, 500_000_000));
        assert_eq!(split(2_500_000_000, REALTIME, 7 * SECOND), (9, 500_000_000));
        // A machine that was started before 1970 was said to be.
        assert_eq!(split(2_500_000_000, REALTIME, 0u64.wrapping_sub(SECOND)), (1, 500_000_000));
    }
}
