//! Real-time clock MC146818 with its memory: ports 0x70 and 0x71. It tells the time and takes it;
//! it has no interrupts, and an update of its registers is never in progress.

use crate::{BadState, check_version};

/// Version of [`RtcState`].
const VERSION: u32 = 1;
/// Registers of the time, in the order of [`Fields`].
const FIELDS: [u8; 8] = [0, 2, 4, 6, 7, 8, 9, 0x32];
const STATUS_A: u8 = 0x0a;
const STATUS_B: u8 = 0x0b;
const STATUS_C: u8 = 0x0c;
const STATUS_D: u8 = 0x0d;
/// Clock at 32,768 Hz, as after power-on.
const DIVIDER: u8 = 0x26;
/// Status B: time is set and stands still; numbers are binary; hours count to 24.
const SET: u8 = 0x80;
const BINARY: u8 = 4;
const HOURS_24: u8 = 2;
/// Status D: the battery is good.
const VALID: u8 = 0x80;
const SECOND: u64 = 1_000_000_000;
const DAY: i64 = 86_400;

/// Second, minute, hour, day of the week, day, month, year of the century, century.
type Fields = [u8; 8];

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
    /// Status register B.
    pub status_b: u8,
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
            status_b: HOURS_24,
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
        if state.offset.abs() > MAX_TIME || state.index > 127 {
            return Err(BadState("time or register of the clock"));
        }
        Ok(Rtc { state: *state })
    }

    /// Reads port 0x71; 0x70 reads all ones.
    pub fn read(&mut self, port: u16, now: u64) -> u8 {
        let index = self.state.index;
        match (port, index) {
            (0x71, STATUS_A) => DIVIDER,
            (0x71, STATUS_B) => self.state.status_b,
            (0x71, STATUS_C) => 0,
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
        let index = self.state.index;
        match (port, index) {
            (0x70, _) => self.state.index = value & 0x7f,
            (0x71, STATUS_A | STATUS_C | STATUS_D) => {}
            (0x71, STATUS_B) => self.write_status(value, now),
            (0x71, _) => match field_of(index) {
                Some(field) => self.set_field(field, value, now),
                None => self.state.memory[usize::from(index)] = value,
            },
            _ => {}
        }
    }

    fn is_set(&self) -> bool {
        self.state.status_b & SET != 0
    }

    fn write_status(&mut self, value: u8, now: u64) {
        let (fields, was_set) = (self.fields(now), self.is_set());
        self.state.status_b = value;
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

/// Returns the fields of a time in seconds since 1970.
fn fields_of(time: i64) -> Fields {
    let (days, second) = (time.div_euclid(DAY), time.rem_euclid(DAY));
    let weekday = (days + 4).rem_euclid(7) + 1;
    let (year, month, day) = date_of(days);
    let numbers = [second % 60, second / 60 % 60, second / 3600, weekday, day, month];
    let mut fields = [0; 8];
    fields.iter_mut().zip(numbers).for_each(|(field, number)| *field = number as u8);
    fields[6] = year.rem_euclid(100) as u8;
    fields[7] = year.div_euclid(100).clamp(0, 99) as u8;
    fields
}

/// Returns the time of fields, each of which may be anything: what is too much counts on.
fn time_of(fields: &Fields) -> i64 {
    let [second, minute, hour, _, day, month, year, century] = fields.map(i64::from);
    let days = days_of(century * 100 + year, (month - 1).clamp(0, 11) + 1, day);
    days * DAY + hour * 3600 + minute * 60 + second
}

/// Returns year, month and day of a number of days since 1970, in eras of 400 years that begin with
/// March.
fn date_of(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted.div_euclid(146_097), shifted.rem_euclid(146_097));
    let leap_days = day_of_era / 1460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leap_days) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// Returns the number of days from 1970 to a date. The month is 1 to 12.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let shifted_month = (month + 9) % 12;
    let day_of_year = (153 * shifted_month + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-25 17:19:30, a Wednesday.
    const TIME: u64 = 1_795_627_170;

    fn register(rtc: &mut Rtc, index: u8, now: u64) -> u8 {
        rtc.write(0x70, 0x80 | index, now);
        rtc.read(0x71, now)
    }

    fn set(rtc: &mut Rtc, index: u8, value: u8, now: u64) {
        rtc.write(0x70, index, now);
        rtc.write(0x71, value, now);
    }

    #[test]
    fn the_time_is_told_in_both_forms() {
        let mut rtc = Rtc::new(TIME);
        let time = FIELDS.map(|index| register(&mut rtc, index, 31 * SECOND));
        assert_eq!(time, [0x01, 0x20, 0x17, 4, 0x25, 0x11, 0x26, 0x20]);
        set(&mut rtc, STATUS_B, BINARY, 0);
        let time = FIELDS.map(|index| register(&mut rtc, index, 0));
        assert_eq!(time, [30, 19, 0x85, 4, 25, 11, 26, 20]);
    }

    #[test]
    fn an_update_is_never_in_progress() {
        let mut rtc = Rtc::new(TIME);
        let registers = [STATUS_A, STATUS_B, STATUS_C, STATUS_D];
        let status = registers.map(|index| register(&mut rtc, index, 0));
        assert_eq!(status, [0x26, 2, 0, 0x80]);
    }

    #[test]
    fn the_guest_sets_the_time() {
        let mut rtc = Rtc::new(TIME);
        set(&mut rtc, STATUS_B, SET | HOURS_24, 0);
        let time = [0x59, 0x59, 0x23, 0, 0x31, 0x12, 0x99, 0x19];
        FIELDS.iter().zip(time).for_each(|(index, value)| set(&mut rtc, *index, value, 5 * SECOND));
        assert_eq!(register(&mut rtc, 0, 9 * SECOND), 0x59, "time stands still");
        set(&mut rtc, STATUS_B, HOURS_24, 10 * SECOND);
        let time = FIELDS.map(|index| register(&mut rtc, index, 11 * SECOND));
        assert_eq!(time, [0, 0, 0, 7, 1, 1, 0, 0x20]);
        set(&mut rtc, 4, 0x12, 11 * SECOND);
        assert_eq!(register(&mut rtc, 4, 11 * SECOND), 0x12);
    }

    #[test]
    fn dates_go_there_and_back() {
        for days in (-200_000..200_000).step_by(37) {
            let (year, month, day) = date_of(days);
            assert_eq!(days_of(year, month, day), days);
        }
        assert_eq!((date_of(0), date_of(11_016)), ((1970, 1, 1), (2000, 2, 29)));
    }

    #[test]
    fn nonsense_is_a_time_too() {
        let mut rtc = Rtc::new(u64::MAX);
        for value in [0xff, 0x80, 0x7f, 0] {
            for status in [SET, SET | BINARY, 0, BINARY | HOURS_24] {
                set(&mut rtc, STATUS_B, status, u64::MAX);
                FIELDS.iter().for_each(|index| set(&mut rtc, *index, value, u64::MAX));
                let _ = FIELDS.map(|index| register(&mut rtc, index, 0));
            }
        }
    }

    #[test]
    fn memory_is_kept_with_the_state() {
        let mut rtc = Rtc::new(TIME);
        set(&mut rtc, 0x0f, 0x0a, 0);
        let mut copy = Rtc::restore(&rtc.state()).unwrap();
        assert_eq!(register(&mut copy, 0x0f, 0), 0x0a);
        assert!(Rtc::restore(&RtcState { index: 128, ..copy.state() }).is_err());
        assert!(Rtc::restore(&RtcState { offset: i64::MAX, ..copy.state() }).is_err());
    }
}
