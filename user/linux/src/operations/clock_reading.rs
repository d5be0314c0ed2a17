//! Clocks, and moments as programs write them.

use crate::abi::errno::{EINVAL, Errno};
use crate::abi::time_units::{MICROSECOND, MONOTONIC, REALTIME, SECOND};
use crate::process::Process;
use crate::state::memory::Memory;

/// The Common Protocols' clock for a Linux clock; those of used time, where no other may stand, are
/// taken for that of passing time.
pub fn clock(number: u64) -> Result<u64, Errno> {
    match number as u32 {
        // Realtime: exact, coarse, alarm, TAI.
        0 | 5 | 8 | 11 => Ok(REALTIME),
        // Monotonic, CPU time of process and thread, raw, coarse, since boot, and its alarm.
        1 | 2 | 3 | 4 | 6 | 7 | 9 => Ok(MONOTONIC),
        _ => Err(EINVAL),
    }
}

/// Seconds and nanoseconds as nanoseconds; more than fits is for ever.
pub fn nanoseconds([seconds, nanoseconds]: [u64; 2]) -> Result<u64, Errno> {
    if (seconds as i64) < 0 || nanoseconds >= SECOND {
        return Err(EINVAL);
    }
    Ok(seconds.saturating_mul(SECOND).saturating_add(nanoseconds))
}

/// Reads a `timespec` as a duration.
pub fn duration(memory: &Memory, address: u64) -> Result<u64, Errno> {
    nanoseconds(memory.read_words(address)?)
}

/// Reads a `timeval` as a duration; its microseconds may exceed a second, as Linux's `select`
/// allows.
pub fn duration_of_timeval(memory: &Memory, address: u64) -> Result<u64, Errno> {
    let [seconds, microseconds] = memory.read_words(address)?;
    if (seconds as i64) < 0 || (microseconds as i64) < 0 {
        return Err(EINVAL);
    }
    Ok(seconds.saturating_mul(SECOND).saturating_add(microseconds.saturating_mul(MICROSECOND)))
}

/// Reads a clock, in nanoseconds.
pub fn now(process: &mut Process, which: u64) -> Result<u64, Errno> {
    let (seconds, rest) = process.services.clock(which)?;
    Ok(seconds.saturating_mul(SECOND).saturating_add(rest))
}

/// Microseconds or nanoseconds of a second, and the seconds, as nanoseconds.
pub fn span([seconds, part]: [u64; 2], unit: u64) -> Result<u64, Errno> {
    if (seconds as i64) < 0 || part >= SECOND / unit {
        return Err(EINVAL);
    }
    Ok(seconds.saturating_mul(SECOND).saturating_add(part * unit))
}

fn parts(nanoseconds: u64, unit: u64) -> [u64; 2] {
    [nanoseconds / SECOND, nanoseconds % SECOND / unit]
}

pub fn write_timer(process: &mut Process, address: u64, [interval, left]: [u64; 2], unit: u64) -> Result<(), Errno> {
    let [a, b] = parts(interval, unit);
    let [c, d] = parts(left, unit);
    process.memory.write_words(address, &[a, b, c, d])
}

/// The moment that a time of `clock` means on the monotonic clock; `None` for 0, which disarms.
pub fn moment(process: &mut Process, clock: u64, value: u64, absolute: bool) -> Result<Option<u64>, Errno> {
    if value == 0 {
        return Ok(None);
    }
    let start = now(process, MONOTONIC)?;
    if !absolute {
        return Ok(Some(start.saturating_add(value)));
    }
    let here = if clock == MONOTONIC { start } else { now(process, clock)? };
    Ok(Some(start.saturating_add(value.saturating_sub(here))))
}

/// Reads interval and value of an `itimerspec`.
pub fn read_setting(process: &Process, address: u64) -> Result<[u64; 2], Errno> {
    let [a, b, c, d] = process.memory.read_words(address)?;
    Ok([span([a, b], 1)?, span([c, d], 1)?])
}

/// Writes an `itimerspec`.
pub fn write_setting(process: &mut Process, address: u64, setting: [u64; 2]) -> Result<(), Errno> {
    write_timer(process, address, setting, 1)
}

/// Limit of a wait.
#[derive(Clone, Copy)]
pub(crate) enum Until {
    Ever,
    /// Duration in nanoseconds.
    For(u64),
    /// Until a clock says this.
    At(u64, u64),
}

impl Until {
    /// Returns the rest of the limit in nanoseconds, where 0 is for ever, or `None` if it has
    /// passed.
    pub(crate) fn left(self, process: &mut Process) -> Result<Option<u64>, Errno> {
        match self {
            Until::Ever => Ok(Some(0)),
            Until::For(span) => Ok(Some(span).filter(|span| *span != 0)),
            Until::At(clock, moment) => {
                let now = now(process, clock)?;
                Ok(moment.checked_sub(now).filter(|left| *left != 0))
            }
        }
    }
}

/// The end of a wait in a call's fourth argument.
pub(crate) fn until(process: &Process, address: u64, clock: Option<u64>) -> Result<Until, Errno> {
    if address == 0 {
        return Ok(Until::Ever);
    }
    let moment = duration(&process.memory, address)?;
    Ok(clock.map_or(Until::For(moment), |clock| Until::At(clock, moment)))
}
