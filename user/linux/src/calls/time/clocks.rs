//! Clocks and waits.

use crate::abi::errno::{Answer, EFAULT, EINVAL, EPERM, ERESTART_SLEEP, ERESTART_UNHANDLED, Errno};
use crate::abi::registers::Frame;
use crate::abi::time_units::{MICROSECOND, MONOTONIC, REALTIME, SECOND};
use crate::operations::clock_reading::{clock, duration, nanoseconds, now};
use crate::operations::cpu_time;
use crate::process::Process;
use crate::state::memory::Memory;

const TIMER_ABSTIME: u64 = 1;
/// Ticks a second of `times`.
const TICKS: u64 = 100;

/// `clock_gettime(clock, time)`.
pub fn clock_gettime(process: &mut Process, frame: &mut Frame) -> Answer {
    let [number, time, ..] = frame.arguments();
    let (seconds, nanoseconds) = match cpu_time::clock(process, number)? {
        Some(clock) => cpu_time::cpu_now(process, clock).map(|used| (used / SECOND, used % SECOND))?,
        None => process.services.clock(clock(number)?)?,
    };
    process.memory.write_words(time, &[seconds, nanoseconds])?;
    Ok(0)
}

/// `clock_getres(clock, resolution)`.
pub fn clock_getres(process: &mut Process, frame: &mut Frame) -> Answer {
    let [number, resolution, ..] = frame.arguments();
    if cpu_time::clock(process, number)?.is_none() {
        clock(number)?;
    }
    if resolution != 0 {
        process.memory.write_words(resolution, &[0, 1])?;
    }
    Ok(0)
}

/// Latest time that Linux's clock can be set to: a run of thirty years more must fit.
const LATEST: u64 = i64::MAX as u64 / SECOND - 30 * 365 * 24 * 60 * 60;

/// The clock belongs to others, which is said of a time that could be set.
fn refuse_to_set(time: [u64; 2]) -> Answer {
    nanoseconds(time)?;
    if time[0] >= LATEST { Err(EINVAL) } else { Err(EPERM) }
}

/// `clock_settime(clock, time)`: of all clocks, only that of the calendar can be set, and those of
/// processor time that are named.
pub fn clock_settime(process: &mut Process, frame: &mut Frame) -> Answer {
    let [number, time, ..] = frame.arguments();
    let names_somebody = (number as i32) < 0;
    if !names_somebody && number as u32 != REALTIME as u32 {
        return Err(EINVAL);
    }
    let time = process.memory.read_words(time)?;
    if names_somebody {
        return cpu_time::clock(process, number).and(Err(EPERM));
    }
    refuse_to_set(time)
}

/// `settimeofday(time, zone)`.
pub fn settimeofday(process: &mut Process, frame: &mut Frame) -> Answer {
    let [time, zone, ..] = frame.arguments();
    if time == 0 {
        return if zone == 0 { Ok(0) } else { process.memory.read_words::<1>(zone).and(Err(EPERM)) };
    }
    let [seconds, microseconds] = process.memory.read_words(time)?;
    if microseconds > SECOND / MICROSECOND {
        return Err(EINVAL);
    }
    refuse_to_set([seconds, microseconds * MICROSECOND])
}

/// `gettimeofday(time, zone)`.
pub fn gettimeofday(process: &mut Process, frame: &mut Frame) -> Answer {
    let [time, zone, ..] = frame.arguments();
    if time != 0 {
        let (seconds, nanoseconds) = process.services.clock(REALTIME)?;
        process.memory.write_words(time, &[seconds, nanoseconds / MICROSECOND])?;
    }
    if zone != 0 {
        process.memory.write_words(zone, &[0])?;
    }
    Ok(0)
}

/// `time(where)`.
pub fn time(process: &mut Process, frame: &mut Frame) -> Answer {
    let (seconds, _) = process.services.clock(REALTIME)?;
    let address = frame.arguments()[0];
    if address != 0 {
        process.memory.write_words(address, &[seconds])?;
    }
    Ok(seconds)
}

/// `times(buffer)`.
pub fn times(process: &mut Process, frame: &mut Frame) -> Answer {
    let (seconds, nanoseconds) = process.services.clock(MONOTONIC)?;
    let ticks = seconds * TICKS + nanoseconds / (SECOND / TICKS);
    let buffer = frame.arguments()[0];
    if buffer != 0 {
        let (used, [_, children, _]) = (process.used(), cpu_time::times_told());
        process.memory.write_words(buffer, &[used / (SECOND / TICKS), 0, children / (SECOND / TICKS), 0])?;
    }
    Ok(ticks)
}

/// Sleeps until the monotonic clock says `end`. What is left if a signal cuts it off.
fn sleep_until(process: &mut Process, end: u64) -> Result<(), u64> {
    loop {
        let left = now(process, MONOTONIC).map_or(0, |now| end.saturating_sub(now));
        if left == 0 {
            return Ok(());
        }
        if process.is_interrupted() {
            process.me().deadline = Some(end);
            return Err(left);
        }
        process.sleep(left);
    }
}

/// Sleeps for a while, or for what is left of a sleep that was cut off and is made again.
/// `remaining`: where to say what is left, or 0.
fn sleep_for(process: &mut Process, span: u64, remaining: u64) -> Answer {
    let end = match process.me().deadline.take() {
        Some(end) => end,
        None if span == 0 => return Ok(0),
        None => now(process, MONOTONIC)?.saturating_add(span),
    };
    match sleep_until(process, end) {
        Ok(()) => Ok(0),
        Err(left) if remaining != 0 => {
            process.memory.write_words(remaining, &[left / SECOND, left % SECOND])?;
            Err(ERESTART_SLEEP)
        }
        Err(_) => Err(ERESTART_SLEEP),
    }
}

/// `nanosleep(request, remaining)`.
pub fn nanosleep(process: &mut Process, frame: &mut Frame) -> Answer {
    let [request, remaining, ..] = frame.arguments();
    let span = duration(&process.memory, request)?;
    sleep_for(process, span, remaining)
}

/// `clock_nanosleep(clock, flags, request, remaining)`.
pub fn clock_nanosleep(process: &mut Process, frame: &mut Frame) -> Answer {
    let [number, flags, request, remaining, ..] = frame.arguments();
    let which = clock(number)?;
    let wanted = duration(&process.memory, request)?;
    if flags & TIMER_ABSTIME == 0 {
        return sleep_for(process, wanted, remaining);
    }
    loop {
        let left = wanted.saturating_sub(now(process, which)?);
        if left == 0 {
            return Ok(0);
        }
        if process.is_interrupted() {
            return Err(ERESTART_UNHANDLED);
        }
        process.sleep(left);
    }
}

/// `utimensat`'s pair of times: seconds and nanoseconds, access first; without an address: now.
pub fn pair_of_times(memory: &Memory, address: u64) -> Result<[u64; 4], Errno> {
    const NOW: u64 = 0x3fff_ffff;
    const OMIT: u64 = 0x3fff_fffe;
    if address == 0 {
        return Ok([0, NOW, 0, NOW]);
    }
    let times: [u64; 4] = memory.read_words(address).map_err(|_| EFAULT)?;
    let fits = |part: u64| part < SECOND || part == NOW || part == OMIT;
    if fits(times[1]) && fits(times[3]) { Ok(times) } else { Err(EINVAL) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_saturate() {
        assert_eq!(nanoseconds([1, 5]), Ok(SECOND + 5));
        assert_eq!(nanoseconds([i64::MAX as u64, 0]), Ok(u64::MAX));
        assert_eq!(nanoseconds([u64::MAX, 0]), Err(EINVAL));
        assert_eq!(nanoseconds([0, SECOND]), Err(EINVAL));
    }
}
