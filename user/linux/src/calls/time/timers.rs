//! Timers: `alarm`, `setitimer`, `timer_create` and its like. The agent waits for the first that is due.
//!
//! States of a timer: disarmed (no moment); armed. All moments are of the monotonic clock.

use crate::abi::errno::{Answer, EAGAIN, EINVAL, Errno};
use crate::abi::registers::Frame;
use crate::calls::time::clocks::{self, MICROSECOND, MONOTONIC, SECOND};
use crate::operations::cpu_time::{self, Clock};
use crate::process::Process;
use crate::state::signals::pending::{Info, LAST, SI_KERNEL, SI_TIMER};
use alloc::vec::Vec;

const SIGALRM: u64 = 14;
/// Most timers of `timer_create`.
const MOST: usize = 1024;
const TIMER_ABSTIME: u64 = 1;

/// What happens when a timer is due.
#[derive(Clone, Copy, Debug)]
enum Effect {
    /// Nothing but that it counts.
    Nothing,
    /// A signal for the process, with this value.
    Signal(u64, u64),
    /// A signal for one thread, by its number.
    Thread(u64, u64, u64),
}

/// One timer.
#[derive(Clone, Copy, Debug)]
pub struct Timer {
    /// When it is due.
    pub due: Option<u64>,
    /// After how long again; 0: not again.
    pub interval: u64,
    /// How often it was due since somebody asked.
    pub count: u64,
}

impl Timer {
    /// A timer that is not armed.
    pub const fn new() -> Timer {
        Timer { due: None, interval: 0, count: 0 }
    }

    /// How often it has become due by `now`; it is armed again if it repeats.
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
struct Posix {
    timer: Timer,
    clock: u64,
    /// It counts time that is used, and what it is due at is of that.
    used: Option<Clock>,
    effect: Effect,
}

/// All timers that the agent serves.
pub struct Timers {
    /// That of `alarm` and `setitimer(ITIMER_REAL)`.
    real: Timer,
    posix: Vec<Option<Posix>>,
}

impl Timers {
    /// None armed.
    pub const fn new() -> Timers {
        Timers { real: Timer::new(), posix: Vec::new() }
    }

    /// When the real timer is due (0: never), and after how long again.
    pub fn real_words(&self) -> [u64; 2] {
        [self.real.due.unwrap_or(0), self.real.interval]
    }

    /// Sets it so.
    pub fn set_real_words(&mut self, [due, interval]: [u64; 2]) {
        self.real = Timer { due: (due != 0).then_some(due), interval, count: 0 };
    }

    /// Whether one is armed.
    pub fn is_armed(&self) -> bool {
        self.next().is_some() || self.posix.iter().flatten().any(|posix| posix.used.is_some() && posix.timer.due.is_some())
    }

    fn next(&self) -> Option<u64> {
        let posix = self.posix.iter().flatten().filter(|posix| posix.used.is_none()).filter_map(|posix| posix.timer.due);
        posix.chain(self.real.due).min()
    }
}

impl Process {
    /// Sends what is due; how long until the next is, 0 for ever.
    pub fn fire_timers(&mut self) -> u64 {
        if !self.timers.is_armed() && !self.has_file_timers() && !self.has_cpu_timers() {
            return nacre_sys::FOREVER;
        }
        let Ok(now) = clocks::now(self, MONOTONIC) else { return SECOND };
        if self.timers.real.expire(now) != 0 {
            // A signal that cannot queue is lost.
            let _ = self.post(Info { signal: SIGALRM, code: SI_KERNEL, fields: [0; 4] });
        }
        for index in 0..self.timers.posix.len() {
            self.fire(index, now);
        }
        let files = self.fire_file_timers(now);
        let used = self.fire_cpu_timers().into_iter().chain(self.next_used()).min();
        let next = self.timers.next().into_iter().chain(files).min().map(|next| next.saturating_sub(now).max(1));
        next.into_iter().chain(used).min().unwrap_or(nacre_sys::FOREVER)
    }

    /// How soon a timer of `timer_create` can be due that counts time that is used.
    fn next_used(&mut self) -> Option<u64> {
        let armed = self.timers.posix.iter().flatten().filter_map(|posix| posix.used.zip(posix.timer.due));
        let armed: Vec<(Clock, u64)> = armed.collect();
        // Of a thread that has ended nothing is due any more.
        armed.into_iter().filter_map(|(clock, due)| self.cpu_now(clock).ok().map(|now| self.soonest(due.saturating_sub(now), clock))).min()
    }

    /// What time it is for a timer.
    fn now_for(&mut self, used: Option<Clock>, monotonic: u64) -> u64 {
        used.map_or(Some(monotonic), |clock| self.cpu_now(clock).ok()).unwrap_or(0)
    }

    fn fire(&mut self, index: usize, now: u64) {
        let Some(Some(Posix { used, .. })) = self.timers.posix.get(index) else { return };
        let now = self.now_for(*used, now);
        let Some(Some(posix)) = self.timers.posix.get_mut(index) else { return };
        let times = posix.timer.expire(now);
        let thread = if let Effect::Thread(_, _, number) = posix.effect { self.threads.find(number) } else { None };
        // One signal of each timer waits at a time, and tells how often it was due meanwhile.
        let pending = match thread.and_then(|place| self.threads.get_mut(place)) {
            Some(thread) => &mut thread.pending,
            None => &mut self.signals.pending,
        };
        if times == 0 || pending.overrun(index as u64, times) {
            return;
        }
        let Some(Some(posix)) = self.timers.posix.get(index) else { return };
        let overrun = (times - 1).min(i32::MAX as u64);
        let effect = posix.effect;
        let info = |signal, value| Info { signal, code: SI_TIMER, fields: [index as u64 | overrun << 32, value, 0, 0] };
        // A signal that cannot queue is lost.
        let _ = match effect {
            Effect::Nothing => Ok(()),
            Effect::Signal(signal, value) => self.post(info(signal, value)),
            Effect::Thread(signal, value, number) => match self.threads.find(number) {
                Some(place) => self.post_to(place, info(signal, value)),
                None => Ok(()),
            },
        };
    }

    /// The timer of an identifier that the program names.
    fn posix(&mut self, identifier: u64) -> Result<&mut Posix, Errno> {
        self.timers.posix.get_mut(identifier as u32 as usize).and_then(Option::as_mut).ok_or(EINVAL)
    }
}

/// Microseconds or nanoseconds of a second, and the seconds, as nanoseconds.
fn span([seconds, part]: [u64; 2], unit: u64) -> Result<u64, Errno> {
    if (seconds as i64) < 0 || part >= SECOND / unit {
        return Err(EINVAL);
    }
    Ok(seconds.saturating_mul(SECOND).saturating_add(part * unit))
}

fn parts(nanoseconds: u64, unit: u64) -> [u64; 2] {
    [nanoseconds / SECOND, nanoseconds % SECOND / unit]
}

/// Arms the real timer, or disarms it (0); interval and rest of before.
fn set_real(process: &mut Process, interval: u64, value: u64) -> Result<[u64; 2], Errno> {
    let now = clocks::now(process, MONOTONIC)?;
    let before = process.timers.real.left(now);
    let due = (value != 0).then(|| now.saturating_add(value));
    process.timers.real = Timer { due, interval, count: 0 };
    if due.is_some() {
        process.call_agent()?;
    }
    Ok(before)
}

/// `alarm(seconds)`: how many seconds were left of the one before.
pub fn alarm(process: &mut Process, frame: &mut Frame) -> Answer {
    let seconds = frame.arguments()[0] & 0xffff_ffff;
    let [_, left] = set_real(process, 0, seconds * SECOND)?;
    // As on Linux: rounded, but an alarm that is still to come is never 0.
    let rounded = (left + SECOND / 2) / SECOND;
    Ok(if left != 0 { rounded.max(1) } else { 0 })
}

/// Which of the timers of used time it is; `None`: the real one.
fn which_used(which: u64) -> Result<Option<usize>, Errno> {
    match which as u32 {
        0 => Ok(None),
        which @ 1..=2 => Ok(Some(which as usize - 1)),
        _ => Err(EINVAL),
    }
}

/// Arms a timer of used time, or disarms it (0); interval and rest of before.
fn set_used(process: &mut Process, index: usize, interval: u64, value: u64) -> Result<[u64; 2], Errno> {
    let now = process.used();
    let before = process.cpu_timers[index].left(now);
    let due = (value != 0).then(|| now.saturating_add(value));
    process.cpu_timers[index] = Timer { due, interval, count: 0 };
    if due.is_some() {
        process.call_agent()?;
    }
    Ok(before)
}

fn write_timer(process: &mut Process, address: u64, [interval, left]: [u64; 2], unit: u64) -> Result<(), Errno> {
    let [a, b] = parts(interval, unit);
    let [c, d] = parts(left, unit);
    process.memory.write_words(address, &[a, b, c, d])
}

/// `getitimer(which, value)`.
pub fn getitimer(process: &mut Process, frame: &mut Frame) -> Answer {
    let [which, value, ..] = frame.arguments();
    let left = match which_used(which)? {
        Some(index) => {
            let now = process.used();
            process.cpu_timers[index].left(now)
        }
        None => {
            let now = clocks::now(process, MONOTONIC)?;
            process.timers.real.left(now)
        }
    };
    write_timer(process, value, left, MICROSECOND)?;
    Ok(0)
}

/// `setitimer(which, new, old)`.
pub fn setitimer(process: &mut Process, frame: &mut Frame) -> Answer {
    let [which, new, old, ..] = frame.arguments();
    let used = which_used(which)?;
    let [a, b, c, d] = if new == 0 { [0; 4] } else { process.memory.read_words(new)? };
    let (interval, value) = (span([a, b], MICROSECOND)?, span([c, d], MICROSECOND)?);
    let before = match used {
        Some(index) => set_used(process, index, interval, value)?,
        None => set_real(process, interval, value)?,
    };
    if old != 0 {
        write_timer(process, old, before, MICROSECOND)?;
    }
    Ok(0)
}

/// What a `sigevent` asks for; without one `SIGALRM` with the timer's number.
fn effect(process: &Process, address: u64, identifier: u64) -> Result<Effect, Errno> {
    const SIGEV_SIGNAL: u64 = 0;
    const SIGEV_NONE: u64 = 1;
    const SIGEV_THREAD_ID: u64 = 4;
    if address == 0 {
        return Ok(Effect::Signal(SIGALRM, identifier));
    }
    let [value, word, thread] = process.memory.read_words(address)?;
    let (signal, kind) = (word & 0xffff_ffff, word >> 32);
    if kind != SIGEV_NONE && !(1..=LAST).contains(&signal) {
        return Err(EINVAL);
    }
    match kind {
        SIGEV_NONE => Ok(Effect::Nothing),
        SIGEV_SIGNAL => Ok(Effect::Signal(signal, value)),
        SIGEV_THREAD_ID if process.threads.find(thread & 0xffff_ffff).is_some() => Ok(Effect::Thread(signal, value, thread & 0xffff_ffff)),
        _ => Err(EINVAL),
    }
}

/// `timer_create(clock, event, identifier)`.
pub fn timer_create(process: &mut Process, frame: &mut Frame) -> Answer {
    let [clock, event, address, ..] = frame.arguments();
    let used = cpu_time::clock(process, clock)?;
    let clock = if used.is_some() { MONOTONIC } else { clocks::clock(clock)? };
    process.memory.writable(address, 4)?;
    let posix = &process.timers.posix;
    let index = posix.iter().position(Option::is_none).unwrap_or(posix.len());
    if index >= MOST {
        return Err(EAGAIN);
    }
    let effect = effect(process, event, index as u64)?;
    if index == process.timers.posix.len() {
        process.timers.posix.push(None);
    }
    process.timers.posix[index] = Some(Posix { timer: Timer::new(), clock, used, effect });
    process.memory.write_half(address, index as u32)?;
    Ok(0)
}

/// The moment that a time of `clock` means on the monotonic clock; `None` for 0, which disarms.
pub fn moment(process: &mut Process, clock: u64, value: u64, absolute: bool) -> Result<Option<u64>, Errno> {
    if value == 0 {
        return Ok(None);
    }
    let now = clocks::now(process, MONOTONIC)?;
    if !absolute {
        return Ok(Some(now.saturating_add(value)));
    }
    let here = if clock == MONOTONIC { now } else { clocks::now(process, clock)? };
    Ok(Some(now.saturating_add(value.saturating_sub(here))))
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

/// `timer_settime(identifier, flags, new, old)`.
pub fn timer_settime(process: &mut Process, frame: &mut Frame) -> Answer {
    let [identifier, flags, new, old, ..] = frame.arguments();
    let Posix { clock, used, .. } = *process.posix(identifier)?;
    let [interval, value] = read_setting(process, new)?;
    let now = clocks::now(process, MONOTONIC)?;
    let now = process.now_for(used, now);
    let is_absolute = flags & TIMER_ABSTIME != 0;
    let due = match used {
        Some(_) => (value != 0).then(|| if is_absolute { value } else { now.saturating_add(value) }),
        None => moment(process, clock, value, is_absolute)?,
    };
    let posix = process.posix(identifier)?;
    let before = posix.timer.left(now);
    posix.timer = Timer { due, interval, count: 0 };
    if old != 0 {
        write_setting(process, old, before)?;
    }
    if due.is_some() {
        process.call_agent()?;
    }
    Ok(0)
}

/// `timer_gettime(identifier, value)`.
pub fn timer_gettime(process: &mut Process, frame: &mut Frame) -> Answer {
    let [identifier, address, ..] = frame.arguments();
    let used = process.posix(identifier)?.used;
    let now = clocks::now(process, MONOTONIC)?;
    let now = process.now_for(used, now);
    let left = process.posix(identifier)?.timer.left(now);
    write_setting(process, address, left)?;
    Ok(0)
}

/// `timer_getoverrun(identifier)`: how often it was due besides when it was last due.
pub fn timer_getoverrun(process: &mut Process, frame: &mut Frame) -> Answer {
    let timer = &mut process.posix(frame.arguments()[0])?.timer;
    Ok(core::mem::take(&mut timer.count).saturating_sub(1).min(i32::MAX as u64))
}

/// `timer_delete(identifier)`.
pub fn timer_delete(process: &mut Process, frame: &mut Frame) -> Answer {
    let identifier = frame.arguments()[0];
    process.posix(identifier)?;
    process.timers.posix[identifier as u32 as usize] = None;
    Ok(0)
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
