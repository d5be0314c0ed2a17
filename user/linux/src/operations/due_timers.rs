//! Timers that are due.

use crate::abi::signal_info::{Info, SI_KERNEL, SI_TIMER};
use crate::abi::signal_numbers::SIGKILL;
use crate::abi::time_units::{MONOTONIC, SECOND};
use crate::operations::clock_reading;
use crate::operations::cpu_time;
use crate::operations::files::in_process_io;
use crate::process::Process;
use crate::state::limits::CpuLimit;
use crate::state::timers::{Clock, Effect, Posix};
use alloc::vec::Vec;

pub const SIGALRM: u64 = 14;

/// Sends what is due; how long until the next is, 0 for ever.
pub fn fire_timers(process: &mut Process) -> u64 {
    if !process.timers.is_armed() && !in_process_io::has_file_timers(process) && !has_cpu_timers(process) {
        return nacre_sys::FOREVER;
    }
    let Ok(now) = clock_reading::now(process, MONOTONIC) else { return SECOND };
    if process.timers.real.expire(now) != 0 {
        // A signal that cannot queue is lost.
        let _ = process.post(Info { signal: SIGALRM, code: SI_KERNEL, fields: [0; 4] });
    }
    for index in 0..process.timers.posix.len() {
        fire(process, index, now);
    }
    let files = in_process_io::fire_file_timers(process, now);
    let used = fire_cpu_timers(process).into_iter().chain(next_used(process)).min();
    let next = process.timers.next().into_iter().chain(files).min().map(|next| next.saturating_sub(now).max(1));
    next.into_iter().chain(used).min().unwrap_or(nacre_sys::FOREVER)
}

/// Returns the shortest time after which a CPU-time timer of `timer_create` can be due.
fn next_used(process: &mut Process) -> Option<u64> {
    let armed = process.timers.posix.iter().flatten().filter_map(|posix| posix.used.zip(posix.timer.due));
    let armed: Vec<(Clock, u64)> = armed.collect();
    // Of a thread that has ended nothing is due any more.
    armed.into_iter().filter_map(|(clock, due)| cpu_time::cpu_now(process, clock).ok().map(|now| soonest(process, due.saturating_sub(now), clock))).min()
}

/// Returns the present time of the clock that a timer uses.
pub fn now_for(process: &mut Process, used: Option<Clock>, monotonic: u64) -> u64 {
    used.map_or(Some(monotonic), |clock| cpu_time::cpu_now(process, clock).ok()).unwrap_or(0)
}

fn fire(process: &mut Process, index: usize, now: u64) {
    let Some(Some(Posix { used, .. })) = process.timers.posix.get(index) else { return };
    let now = now_for(process, *used, now);
    let Some(Some(posix)) = process.timers.posix.get_mut(index) else { return };
    let times = posix.timer.expire(now);
    let thread = if let Effect::Thread(_, _, number) = posix.effect { process.threads.find(number) } else { None };
    // One signal of each timer waits at a time, and tells how often it was due meanwhile.
    let pending = match thread.and_then(|place| process.threads.get_mut(place)) {
        Some(thread) => &mut thread.pending,
        None => &mut process.signals.pending,
    };
    if times == 0 || pending.overrun(index as u64, times) {
        return;
    }
    let Some(Some(posix)) = process.timers.posix.get(index) else { return };
    let overrun = (times - 1).min(i32::MAX as u64);
    let effect = posix.effect;
    let info = |signal, value| Info { signal, code: SI_TIMER, fields: [index as u64 | overrun << 32, value, 0, 0] };
    // A signal that cannot queue is lost.
    let _ = match effect {
        Effect::Nothing => Ok(()),
        Effect::Signal(signal, value) => process.post(info(signal, value)),
        Effect::Thread(signal, value, number) => match process.threads.find(number) {
            Some(place) => process.post_to(place, info(signal, value)),
            None => Ok(()),
        },
    };
}

/// Returns true if the signal thread has to watch CPU time.
pub fn has_cpu_timers(process: &Process) -> bool {
    process.cpu_timers.iter().any(|timer| timer.due.is_some()) || process.limits.cpu() != CpuLimit::NONE
}

/// Returns the shortest time in which the process can use `left` nanoseconds of this clock.
pub fn soonest(process: &Process, left: u64, clock: Clock) -> u64 {
    let threads = if clock == Clock::Process { process.threads.count().max(1) as u64 } else { 1 };
    (left / threads).max(TICK)
}

/// Sends what is due; how long until one can be due again.
pub fn fire_cpu_timers(process: &mut Process) -> Option<u64> {
    if !has_cpu_timers(process) {
        return None;
    }
    let used = process.used();
    for (index, signal) in SIGNALS.into_iter().enumerate() {
        if process.cpu_timers[index].expire(used) != 0 {
            // A signal that cannot queue is lost.
            let _ = process.post(Info { signal, code: SI_KERNEL, fields: [0; 4] });
        }
    }
    fire_cpu_limit(process, used);
    let CpuLimit { soft, hard } = process.limits.cpu();
    let limits = [soft, hard].into_iter().filter(|limit| *limit != u64::MAX).map(|limit| limit.saturating_mul(SECOND));
    let next = process.cpu_timers.iter().filter_map(|timer| timer.due).chain(limits).min()?;
    Some(soonest(process, next.saturating_sub(used), Clock::Process))
}

/// A process that has used what it may is told so each second, and ends when it has used all.
fn fire_cpu_limit(process: &mut Process, used: u64) {
    let CpuLimit { soft, hard } = process.limits.cpu();
    let signal = match used / SECOND {
        seconds if seconds >= hard => SIGKILL,
        seconds if seconds >= soft => SIGXCPU,
        _ => return,
    };
    process.limits.set_cpu_soft((used / SECOND).saturating_add(1));
    let _ = process.post(Info { signal, code: SI_KERNEL, fields: [0; 4] });
}

/// The signal of each timer: of the program's time, and of all that is done for it, which is the
/// same here.
const SIGNALS: [u64; 2] = [26, 27];
const SIGXCPU: u64 = 24;
/// Interval of the signal thread's looks at CPU time: Linux's tick, in nanoseconds.
const TICK: u64 = 4_000_000;
