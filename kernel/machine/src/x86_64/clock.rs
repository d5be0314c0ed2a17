//! Time: the time-stamp counter as nanoseconds, and the deadline of each CPU's timer.

use crate::cell::{BootCell, Locked};
use super::cpu;
use super::{apic, features, io, pit};
use core::cell::Cell;

const SECOND: u64 = 1_000_000_000;
/// Ticks of the interval timer that a measurement takes: half a millisecond.
const MEASURED: u16 = 600;

struct Clock {
    start: u64,
    frequency: u64,
    /// Nanoseconds a tick, shifted left by 32.
    nanoseconds: u64,
    /// Ticks a nanosecond, shifted left by 32.
    ticks: u64,
    /// Ticks of the local timer a nanosecond, shifted left by 32.
    timer_ticks: u64,
}

static CLOCK: BootCell<Clock> = BootCell::new();
/// The latest time that was told: the counters of two CPUs may differ a little.
static LATEST: Locked<Cell<u64>> = Locked(Cell::new(0));

const fn scale(value: u64, factor: u64) -> u64 {
    ((value as u128 * factor as u128) >> 32) as u64
}

const fn factor(numerator: u64, denominator: u64) -> u64 {
    (((numerator as u128) << 32) / denominator as u128) as u64
}

/// One moment on all three clocks, just after the interval timer ticked.
struct Moment {
    interval: u16,
    stamp: u64,
    timer: u32,
}

fn moment_after(interval: u16) -> Moment {
    loop {
        let now = pit::left();
        if now <= interval {
            return Moment { interval: now, stamp: io::time_stamp(), timer: apic::timer_left() };
        }
    }
}

/// Frequencies of the time-stamp counter and of the local timer.
fn measure() -> (u64, u64) {
    apic::timer_mask(true);
    apic::timer_count(u32::MAX);
    pit::start();
    let first = moment_after(pit::left().saturating_sub(1));
    let last = moment_after(first.interval.saturating_sub(MEASURED));
    pit::stop();
    apic::timer_count(0);
    apic::timer_mask(false);
    let ticks = u64::from(first.interval - last.interval).max(1);
    let in_a_second = |count: u64| (count * pit::FREQUENCY / ticks).max(1);
    (in_a_second(last.stamp.wrapping_sub(first.stamp)), in_a_second(u64::from(first.timer.wrapping_sub(last.timer))))
}

/// Measures, once, on the first CPU, whose local controller is on.
///
/// # Safety
/// Only while one CPU runs.
pub unsafe fn initialize(start: u64) {
    let told = features::get().tsc_frequency.filter(|_| features::get().tsc_deadline);
    let (frequency, timer) = told.map_or_else(measure, |frequency| (frequency, 1));
    let clock = Clock {
        start,
        frequency,
        nanoseconds: factor(SECOND, frequency),
        ticks: factor(frequency, SECOND),
        timer_ticks: factor(timer, SECOND),
    };
    // SAFETY: the caller's promise.
    unsafe { CLOCK.set(clock) };
}

/// Ticks of the time-stamp counter a second.
pub fn frequency() -> u64 {
    CLOCK.get().frequency
}

/// Nanoseconds of so many ticks of the time-stamp counter.
pub fn nanoseconds(ticks: u64) -> u64 {
    scale(ticks, CLOCK.get().nanoseconds)
}

fn now_unordered() -> u64 {
    let clock = CLOCK.get();
    scale(io::time_stamp().saturating_sub(clock.start), clock.nanoseconds)
}

/// Implements `Machine::now`.
pub fn now() -> u64 {
    let now = now_unordered().max(LATEST.0.get());
    LATEST.0.set(now);
    now
}

/// Waits, at boot.
pub fn wait(nanoseconds: u64) {
    let end = now_unordered() + nanoseconds;
    while now_unordered() < end {
        core::hint::spin_loop();
    }
}

/// Implements `Machine::timer_set`.
pub fn timer_set(deadline: u64) {
    let cpu = cpu::this();
    if cpu.deadline.get() != deadline {
        cpu.deadline.set(deadline);
        arm(deadline);
    }
}

fn arm(deadline: u64) {
    let clock = CLOCK.get();
    if features::get().tsc_deadline {
        apic::timer_deadline(if deadline == u64::MAX { 0 } else { clock.start.saturating_add(scale(deadline, clock.ticks)) });
    } else if deadline == u64::MAX {
        apic::timer_count(0);
    } else {
        let left = scale(deadline.saturating_sub(now_unordered()), clock.timer_ticks);
        apic::timer_count(left.clamp(1, u64::from(u32::MAX)) as u32);
    }
}

/// The timer interrupted: whether this CPU's deadline has passed. If it has not - the timer counts
/// no further, or is not exact - it is set again.
pub fn fired() -> bool {
    let cpu = cpu::this();
    let deadline = cpu.deadline.get();
    if deadline == u64::MAX {
        return false;
    }
    if now() < deadline {
        arm(deadline);
        return false;
    }
    cpu.deadline.set(u64::MAX);
    true
}
