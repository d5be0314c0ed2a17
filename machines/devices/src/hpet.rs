//! High-precision event timers (IA-PC HPET specification 1.0a): a counter of 100 MHz, and three
//! timers that compare with it, once or periodically.
//!
//! The counter is a function of the time. Matches are counted when somebody looks, from the
//! counter's value at `seen` on. A match of an edge-triggered timer is one edge; of a
//! level-triggered one it sets a bit of the status, until the guest clears it. Messages to the
//! processors' bus are not there.

use crate::{BadState, check_version};

/// Address of the registers.
pub const HPET_ADDRESS: u64 = 0xfed0_0000;
/// Bytes of the registers.
const SIZE: u64 = 0x400;
/// Number of timers.
pub const TIMERS: usize = 3;
/// First input of the I/O APIC that timers can be routed to, and the number of such inputs.
pub const FIRST_INPUT: usize = 20;
pub const INPUTS: usize = 4;

/// Version of [`HpetState`].
const VERSION: u32 = 1;
/// Nanoseconds of one tick.
const TICK: u64 = 10;
/// Shortest period that is told, in ticks (200 microseconds): a guest that asks for less gets
/// several periods as one, else it keeps its monitor busy.
const MIN_PERIOD: u64 = 20_000;

/// Registers, each of 64 bits.
const CAPABILITIES: u64 = 0;
const CONFIGURATION: u64 = 0x10;
const STATUS: u64 = 0x20;
const COUNTER: u64 = 0xf0;
const FIRST_TIMER: u64 = 0x100;
const TIMER_SIZE: u64 = 0x20;
/// Registers of a timer.
const TIMER_CONFIGURATION: u64 = 0;
const COMPARATOR: u64 = 8;

/// Lower half of the capabilities: Intel's, lines of the old timers, 64 bits, revision 1.
pub const IDENTITY: u32 = 0x8086 << 16 | 1 << 15 | 1 << 13 | (TIMERS as u32 - 1) << 8 | 1;
/// Femtoseconds of a tick, in the upper half.
const PERIOD: u64 = (TICK * 1_000_000) << 32;

/// Configuration: the counter runs; timers 0 and 1 have the lines of the old timer and the clock.
const RUNS: u64 = 1;
const LEGACY: u64 = 2;

/// A timer's configuration.
const LEVEL: u64 = 1 << 1;
const INTERRUPTS: u64 = 1 << 2;
const PERIODIC: u64 = 1 << 3;
const SETS_VALUE: u64 = 1 << 6;
const NARROW: u64 = 1 << 8;
const ROUTE: u64 = 0x1f << 9;
const WRITABLE: u64 = LEVEL | INTERRUPTS | PERIODIC | NARROW;
/// Fixed bits: periodic, 64 bits, and the inputs.
const ABILITIES: u64 = 1 << 4 | 1 << 5 | ((1 << INPUTS) - 1) << FIRST_INPUT << 32;

/// State of one timer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HpetTimerState {
    /// Bits of the configuration that the guest sets.
    pub configuration: u64,
    /// Value of the counter at the next match.
    pub comparator: u64,
    /// Ticks between matches of a periodic timer.
    pub period: u64,
    /// The next value for the comparator is one for itself, not for the period alone.
    pub sets_value: bool,
}

/// State of the timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HpetState {
    /// Version of this struct.
    pub version: u32,
    /// Configuration: bits 0 and 1.
    pub configuration: u64,
    /// Bits of level-triggered timers that have matched.
    pub status: u64,
    /// Value of the counter when it was started, or since it was stopped.
    pub base: u64,
    /// Time in nanoseconds at which it was started.
    pub start: u64,
    /// Time until which matches were counted.
    pub seen: u64,
    /// Bits of edge-triggered timers whose edges nobody has taken.
    pub edges: u64,
    /// Timers.
    pub timers: [HpetTimerState; TIMERS],
}

/// Timers with their counter.
#[derive(Clone, Debug)]
pub struct Hpet {
    state: HpetState,
}

impl Default for Hpet {
    fn default() -> Self {
        let timer = HpetTimerState { configuration: (FIRST_INPUT as u64) << 9, ..HpetTimerState::default() };
        Hpet { state: HpetState { version: VERSION, configuration: 0, status: 0, base: 0, start: 0, seen: 0, edges: 0, timers: [timer; TIMERS] } }
    }
}

impl Hpet {
    /// Returns the whole state.
    pub fn state(&self) -> HpetState {
        self.state
    }

    /// Makes timers from a saved state.
    pub fn restore(state: &HpetState) -> Result<Self, BadState> {
        check_version(state.version, VERSION, "version of the event timers")?;
        let is_bad = |timer: &HpetTimerState| timer.configuration & !(WRITABLE | ROUTE) != 0 || !is_input(timer.configuration);
        let has_others = (state.status | state.edges) >> TIMERS != 0 || state.configuration & !(RUNS | LEGACY) != 0;
        if has_others || state.start > state.seen || state.timers.iter().any(is_bad) {
            return Err(BadState("event timers"));
        }
        Ok(Hpet { state: *state })
    }

    /// Reads memory, if it belongs to the timers: 4 or 8 bytes, aligned; all ones otherwise.
    pub fn read(&mut self, address: u64, width: u8, now: u64) -> Option<u64> {
        let offset = address.checked_sub(HPET_ADDRESS).filter(|offset| *offset < SIZE)?;
        self.settle(now);
        Some(match (width, offset % 8) {
            (8, 0) => self.register(offset, now),
            (4, shift @ (0 | 4)) => self.register(offset - shift, now) >> (8 * shift) & 0xffff_ffff,
            _ => u64::MAX,
        })
    }

    /// Writes memory: 4 or 8 bytes, aligned. Returns true if it belongs to the timers.
    pub fn write(&mut self, address: u64, width: u8, value: u64, now: u64) -> bool {
        let Some(offset) = address.checked_sub(HPET_ADDRESS).filter(|offset| *offset < SIZE) else { return false };
        self.settle(now);
        match (width, offset % 8) {
            (8, 0) => self.set_register(offset, value, u64::MAX, now),
            (4, 0) => self.set_register(offset, value, 0xffff_ffff, now),
            (4, 4) => self.set_register(offset - 4, value << 32, 0xffff_ffff << 32, now),
            _ => {}
        }
        true
    }

    /// Returns true if timers 0 and 1 have the lines of the old timer and of the clock.
    pub fn is_legacy(&self) -> bool {
        self.state.configuration & LEGACY != 0
    }

    /// Lets matches happen until now. Returns the timers whose line has an edge, a bit for each.
    pub fn take_edges(&mut self, now: u64) -> u64 {
        self.settle(now);
        core::mem::take(&mut self.state.edges)
    }

    /// Returns the input of the I/O APIC that a timer is routed to.
    pub fn input(&self, timer: usize) -> usize {
        self.state.timers.get(timer).map_or(FIRST_INPUT, |timer| (timer.configuration & ROUTE) as usize >> 9)
    }

    /// Returns the level of an input: that of the level-triggered timers which are routed to it.
    pub fn level(&self, input: usize) -> bool {
        let is_up = |(number, timer): (usize, &HpetTimerState)| {
            self.state.status >> number & 1 != 0 && timer.configuration & INTERRUPTS != 0 && self.input(number) == input
        };
        self.state.timers.iter().enumerate().any(is_up)
    }

    /// Returns the time of the next match that interrupts.
    pub fn next_deadline(&self, now: u64) -> Option<u64> {
        let is_down = |number: usize| self.state.status >> number & 1 == 0;
        let interrupts = |(number, timer): &(usize, &HpetTimerState)| timer.configuration & INTERRUPTS != 0 && is_down(*number);
        let matches = self.state.timers.iter().enumerate().filter(interrupts).filter_map(|(_, timer)| self.next_match(timer));
        let time = |ticks: u64| (ticks - self.state.base).checked_mul(TICK)?.checked_add(self.state.start);
        matches.filter_map(time).min().map(|at| at.max(now))
    }

    fn counter(&self, now: u64) -> u64 {
        let ticks = if self.state.configuration & RUNS != 0 { now.saturating_sub(self.state.start) / TICK } else { 0 };
        self.state.base.wrapping_add(ticks)
    }

    /// Returns the counter's first value behind that at `seen` at which a timer matches. `None`:
    /// the counter stands still, or starts over before.
    fn next_match(&self, timer: &HpetTimerState) -> Option<u64> {
        if self.state.configuration & RUNS == 0 {
            return None;
        }
        let next = self.counter(self.state.seen).checked_add(1)?;
        next.checked_add(timer.comparator.wrapping_sub(next) & mask(timer)).filter(|ticks| *ticks >= self.state.base)
    }

    /// Counts matches until now.
    fn settle(&mut self, now: u64) {
        if now <= self.state.seen {
            return;
        }
        let counter = self.counter(now);
        for number in 0..TIMERS {
            let timer = self.state.timers[number];
            let Some(first) = self.next_match(&timer).filter(|ticks| *ticks <= counter) else { continue };
            let is_level = timer.configuration & LEVEL != 0;
            if is_level {
                self.state.status |= 1 << number;
            } else if timer.configuration & INTERRUPTS != 0 {
                self.state.edges |= 1 << number;
            }
            if timer.configuration & PERIODIC != 0 && timer.period != 0 {
                // Matches that were missed are one, and so are those that come too soon.
                let least = (counter - first).saturating_add(1).max(MIN_PERIOD);
                let step = least.checked_next_multiple_of(timer.period).unwrap_or(timer.period);
                self.state.timers[number].comparator = first.wrapping_add(step) & mask(&timer);
            }
        }
        self.state.seen = now;
    }

    /// Returns the timer and the offset of its register.
    fn timer(offset: u64) -> Option<(usize, u64)> {
        let from_first = offset.checked_sub(FIRST_TIMER)?;
        let number = (from_first / TIMER_SIZE) as usize;
        (number < TIMERS).then_some((number, from_first % TIMER_SIZE))
    }

    fn register(&self, offset: u64, now: u64) -> u64 {
        match (offset, Self::timer(offset)) {
            (CAPABILITIES, _) => PERIOD | u64::from(IDENTITY),
            (CONFIGURATION, _) => self.state.configuration,
            (STATUS, _) => self.state.status,
            (COUNTER, _) => self.counter(now),
            (_, Some((number, TIMER_CONFIGURATION))) => self.state.timers[number].configuration | ABILITIES,
            (_, Some((number, COMPARATOR))) => self.state.timers[number].comparator,
            _ => 0,
        }
    }

    /// Sets the bits of a register that `bits` has.
    fn set_register(&mut self, offset: u64, value: u64, bits: u64, now: u64) {
        let merged = |old: u64| old & !bits | value & bits;
        match (offset, Self::timer(offset)) {
            (CONFIGURATION, _) => self.configure(merged(self.state.configuration) & (RUNS | LEGACY), now),
            (STATUS, _) => self.state.status &= !(value & bits),
            // While it runs it cannot be set.
            (COUNTER, _) if self.state.configuration & RUNS == 0 => self.state.base = merged(self.state.base),
            (_, Some((number, TIMER_CONFIGURATION))) => {
                let new = merged(self.state.timers[number].configuration);
                self.configure_timer(number, new, value & bits & SETS_VALUE != 0);
            }
            (_, Some((number, COMPARATOR))) => {
                let timer = &mut self.state.timers[number];
                let is_periodic = timer.configuration & PERIODIC != 0;
                if is_periodic {
                    timer.period = merged(timer.period) & mask(timer);
                }
                if !is_periodic || core::mem::take(&mut timer.sets_value) {
                    timer.comparator = merged(timer.comparator) & mask(timer);
                }
            }
            _ => {}
        }
    }

    fn configure(&mut self, configuration: u64, now: u64) {
        self.state.base = self.counter(now);
        self.state.start = self.state.seen.max(now);
        self.state.seen = self.state.start;
        self.state.configuration = configuration;
    }

    fn configure_timer(&mut self, number: usize, configuration: u64, sets_value: bool) {
        let timer = &mut self.state.timers[number];
        let route = if is_input(configuration) { configuration } else { timer.configuration } & ROUTE;
        timer.configuration = configuration & WRITABLE | route;
        timer.sets_value = sets_value;
        if configuration & NARROW != 0 {
            timer.comparator &= mask(timer);
            timer.period &= mask(timer);
        }
        if configuration & LEVEL == 0 {
            self.state.status &= !(1 << number);
        }
    }
}

/// Bits of the counter that a timer compares.
fn mask(timer: &HpetTimerState) -> u64 {
    if timer.configuration & NARROW != 0 { 0xffff_ffff } else { u64::MAX }
}

/// Returns true if a configuration routes a timer to an input that it can have.
fn is_input(configuration: u64) -> bool {
    (FIRST_INPUT..FIRST_INPUT + INPUTS).contains(&((configuration & ROUTE) as usize >> 9))
}

#[cfg(test)]
#[path = "hpet_tests.rs"]
mod tests;
