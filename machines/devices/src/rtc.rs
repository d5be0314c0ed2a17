//! Real-time clock MC146818 with its memory: ports 0x70 and 0x71. It tells the time and takes it,
//! and interrupts: at each update of the time, at an alarm, and periodically.
//!
//! Events are counted when somebody looks, from the time `seen` on. Each sets its bit of register
//! C, whether or not register B lets it interrupt; the line is up until the guest reads register C.
//! Updates come at whole seconds of the machine's time.

use crate::calendar::{DAY, Fields, fields_of, time_of, until_alarm};
use crate::{BadState, check_version};

/// Version of [`RtcState`].
const VERSION: u32 = 2;
/// Registers of the time, in the order of [`Fields`].
const FIELDS: [u8; 8] = [0, 2, 4, 6, 7, 8, 9, 0x32];
/// Registers of the alarm: second, minute, hour.
const ALARM_FIELDS: [usize; 3] = [1, 3, 5];
/// Lowest value of such a register that stands for any number.
const ANY: u8 = 0xc0;
const STATUS_A: u8 = 0x0a;
const STATUS_B: u8 = 0x0b;
const STATUS_C: u8 = 0x0c;
const STATUS_D: u8 = 0x0d;
/// Status A: clock at 32,768 Hz and 1,024 periods a second, as after power-on.
const DIVIDER: u8 = 0x26;
/// Status A: an update is in progress, or about to be.
const UPDATING: u8 = 0x80;
const RATE: u8 = 0x0f;
/// Bits of the divider, and the largest value with which it runs.
const DIVIDER_BITS: u8 = 0x70;
const RUNNING: u8 = 0x20;
/// Status B: time is set and stands still; numbers are binary; hours count to 24.
const SET: u8 = 0x80;
const BINARY: u8 = 4;
const HOURS_24: u8 = 2;
/// Status B and C: interrupts, and events that have come.
const PERIOD: u8 = 0x40;
const ALARM: u8 = 0x20;
const UPDATE: u8 = 0x10;
const EVENTS: u8 = PERIOD | ALARM | UPDATE;
/// Status C: the line is up.
const INTERRUPTS: u8 = 0x80;
/// Status D: the battery is good.
const VALID: u8 = 0x80;
const SECOND: u64 = 1_000_000_000;
/// Nanoseconds before an update in which the guest is told not to read the time.
const UPDATE_TIME: u64 = 244_000;
/// Ticks of the divider a second.
const TICKS: u128 = 32_768;
/// Shortest period that is told, as a power of two of ticks (244 microseconds): a guest that asks
/// for less gets two periods as one, else it keeps its monitor busy.
const MIN_PERIOD: u32 = 3;

/// State of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtcState {
    /// Version of this struct.
    pub version: u32,
    /// Seconds from the year 1970 to time 0 of the machine.
    pub offset: i64,
    /// Time that stands still while the guest sets it.
    pub held: [u8; 8],
    /// Register that port 0x71 leads to.
    pub index: u8,
    /// Status register A, without its highest bit.
    pub status_a: u8,
    /// Status register B.
    pub status_b: u8,
    /// Events since the guest last read status register C, as bits of it.
    pub status_c: u8,
    /// Time in nanoseconds until which events were counted.
    pub seen: u64,
    /// Registers that are plain memory.
    pub memory: [u8; 128],
}

/// Real-time clock.
#[derive(Clone, Debug)]
pub struct Rtc {
    state: RtcState,
}

impl Rtc {
    /// Makes a clock that shows `unix_time`, in seconds, at time 0 of the machine.
    pub fn new(unix_time: u64) -> Self {
        let offset = i64::try_from(unix_time).unwrap_or(0).min(MAX_TIME);
        let state = RtcState {
            version: VERSION,
            offset,
            held: [0; 8],
            index: 0,
            status_a: DIVIDER,
            status_b: HOURS_24,
            status_c: 0,
            seen: 0,
            memory: [0; 128],
        };
        Rtc { state }
    }

    /// Returns the whole state.
    pub fn state(&self) -> RtcState {
        self.state
    }

    /// Makes a clock from a saved state.
    pub fn restore(state: &RtcState) -> Result<Self, BadState> {
        check_version(state.version, VERSION, "version of the clock")?;
        if state.offset.checked_abs().is_none_or(|offset| offset > MAX_TIME) || state.index > 127 {
            return Err(BadState("time or register of the clock"));
        }
        if state.status_a & UPDATING != 0 || state.status_c & !EVENTS != 0 {
            return Err(BadState("status of the clock"));
        }
        Ok(Rtc { state: *state })
    }

    /// Reads port 0x71; 0x70 reads all ones.
    pub fn read(&mut self, port: u16, now: u64) -> u8 {
        self.settle(now);
        let index = self.state.index;
        match (port, index) {
            (0x71, STATUS_A) => self.state.status_a | if self.is_updating(now) { UPDATING } else { 0 },
            (0x71, STATUS_B) => self.state.status_b,
            (0x71, STATUS_C) => {
                let line = if self.interrupt() { INTERRUPTS } else { 0 };
                core::mem::take(&mut self.state.status_c) | line
            }
            (0x71, STATUS_D) => VALID,
            (0x71, _) => match field_of(index) {
                Some(field) => self.encode(field, self.fields(now)[field]),
                None => self.state.memory[usize::from(index)],
            },
            _ => 0xff,
        }
    }

    /// Writes port 0x70, the register, or 0x71, its value.
    pub fn write(&mut self, port: u16, value: u8, now: u64) {
        self.settle(now);
        let index = self.state.index;
        match (port, index) {
            (0x70, _) => self.state.index = value & 0x7f,
            (0x71, STATUS_A) => self.state.status_a = value & !UPDATING,
            (0x71, STATUS_C | STATUS_D) => {}
            (0x71, STATUS_B) => self.write_status(value, now),
            (0x71, _) => match field_of(index) {
                Some(field) => self.set_field(field, value, now),
                None => self.state.memory[usize::from(index)] = value,
            },
            _ => {}
        }
    }

    /// Lets the clock show so many seconds more, as if it had gone on while the machine stood
    /// still.
    pub fn move_calendar(&mut self, seconds: i64) {
        self.state.offset = self.state.offset.saturating_add(seconds).clamp(-MAX_TIME, MAX_TIME);
    }

    /// Returns true if the interrupt line is up.
    pub fn interrupt(&self) -> bool {
        self.state.status_b & self.state.status_c & EVENTS != 0
    }

    /// Lets events happen that interrupt. Returns true if the line is up.
    pub fn advance(&mut self, now: u64) -> bool {
        if self.state.status_b & EVENTS != 0 {
            self.settle(now);
        }
        self.interrupt()
    }

    /// Returns the time at which the line goes up by itself.
    pub fn next_deadline(&self, now: u64) -> Option<u64> {
        let (enabled, seen) = (self.state.status_b & EVENTS, self.state.seen);
        if enabled == 0 || self.interrupt() {
            return None;
        }
        let wanted = |event: u8, at: Option<u64>| at.filter(|_| enabled & event != 0);
        let period = if enabled & PERIOD != 0 { self.next_period(seen) } else { None };
        let alarm = if enabled & ALARM != 0 { self.next_alarm(seen) } else { None };
        let times = [period, alarm, wanted(UPDATE, self.next_update(seen))];
        times.into_iter().flatten().min().map(|at| at.max(now))
    }

    /// Counts what has happened until now.
    fn settle(&mut self, now: u64) {
        let seen = self.state.seen;
        if now <= seen {
            return;
        }
        let has_come = |at: Option<u64>| at.is_some_and(|at| at <= now);
        if has_come(self.next_period(seen)) {
            self.state.status_c |= PERIOD;
        }
        if has_come(self.next_update(seen)) {
            self.state.status_c |= UPDATE;
            if has_come(self.next_alarm(seen)) {
                self.state.status_c |= ALARM;
            }
        }
        self.state.seen = now;
    }

    fn has_divider(&self) -> bool {
        self.state.status_a & DIVIDER_BITS <= RUNNING
    }

    fn is_updating(&self, now: u64) -> bool {
        self.next_update(now).is_some_and(|at| at - now <= UPDATE_TIME)
    }

    /// Returns the time of the first update after `from`.
    fn next_update(&self, from: u64) -> Option<u64> {
        let runs = self.has_divider() && !self.is_set();
        if runs { (from / SECOND + 1).checked_mul(SECOND) } else { None }
    }

    /// Returns the end of the first period after `from`.
    fn next_period(&self, from: u64) -> Option<u64> {
        let power = match u32::from(self.state.status_a & RATE) {
            0 => return None,
            // Two rates are those of others.
            rate @ (1 | 2) => rate + 6,
            rate => (rate - 1).max(MIN_PERIOD),
        };
        if !self.has_divider() {
            return None;
        }
        let ticks = u128::from(from) * TICKS / u128::from(SECOND);
        let next = ((ticks >> power) + 1) << power;
        u64::try_from((next * u128::from(SECOND)).div_ceil(TICKS)).ok()
    }

    /// Returns the time of the first update after `from` at which the alarm goes off.
    fn next_alarm(&self, from: u64) -> Option<u64> {
        let update = self.next_update(from)?;
        let alarm = core::array::from_fn(|field| {
            let value = self.state.memory[ALARM_FIELDS[field]];
            (value < ANY).then(|| i64::from(self.decode(field, value)))
        });
        let left = until_alarm(alarm, (self.state.offset + seconds(update)).rem_euclid(DAY))?;
        update.checked_add(left as u64 * SECOND)
    }

    fn is_set(&self) -> bool {
        self.state.status_b & SET != 0
    }

    fn write_status(&mut self, value: u8, now: u64) {
        let (fields, was_set) = (self.fields(now), self.is_set());
        // As the time stands still, there are no updates to be told of.
        self.state.status_b = if value & SET != 0 { value & !UPDATE } else { value };
        match (was_set, self.is_set()) {
            (false, true) => self.state.held = fields,
            (true, false) => self.set_time(&fields, now),
            _ => {}
        }
    }

    fn fields(&self, now: u64) -> Fields {
        if self.is_set() { self.state.held } else { fields_of(self.state.offset + seconds(now)) }
    }

    fn set_field(&mut self, field: usize, value: u8, now: u64) {
        let mut fields = self.fields(now);
        fields[field] = self.decode(field, value);
        if self.is_set() { self.state.held = fields } else { self.set_time(&fields, now) }
    }

    fn set_time(&mut self, fields: &Fields, now: u64) {
        let offset = time_of(fields) - seconds(now);
        self.state.offset = offset.clamp(-MAX_TIME, MAX_TIME);
    }

    /// Turns a number into the register's form.
    fn encode(&self, field: usize, value: u8) -> u8 {
        if field != 2 || self.state.status_b & HOURS_24 != 0 {
            return self.encode_number(value);
        }
        let hour = if value % 12 == 0 { 12 } else { value % 12 };
        self.encode_number(hour) | if value >= 12 { 0x80 } else { 0 }
    }

    fn encode_number(&self, value: u8) -> u8 {
        let is_binary = self.state.status_b & BINARY != 0;
        if is_binary { value } else { ((value / 10 % 16) << 4) | (value % 10) }
    }

    /// Turns a register's form into a number, which can be out of the field's range.
    fn decode(&self, field: usize, value: u8) -> u8 {
        if field != 2 || self.state.status_b & HOURS_24 != 0 {
            return self.decode_number(value);
        }
        self.decode_number(value & 0x7f) % 12 + if value & 0x80 != 0 { 12 } else { 0 }
    }

    fn decode_number(&self, value: u8) -> u8 {
        let is_binary = self.state.status_b & BINARY != 0;
        if is_binary { value } else { (value >> 4) * 10 + (value & 15) }
    }
}

/// Largest distance of a time from 1970 that the clock keeps, in seconds: some 30,000 years.
const MAX_TIME: i64 = 1_000_000_000_000;

fn field_of(index: u8) -> Option<usize> {
    FIELDS.iter().position(|field| *field == index)
}

fn seconds(now: u64) -> i64 {
    (now / SECOND) as i64
}

#[cfg(test)]
#[path = "rtc_tests.rs"]
mod tests;
