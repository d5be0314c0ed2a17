//! From the fields of the battery-backed clock to seconds since 1970.

/// The clock's registers as they are read, and its register B.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockFields {
    /// Seconds.
    pub second: u8,
    /// Minutes.
    pub minute: u8,
    /// Hours; bit 7 is "afternoon" in 12-hour mode.
    pub hour: u8,
    /// Day of the month.
    pub day: u8,
    /// Month.
    pub month: u8,
    /// Year of the century.
    pub year: u8,
    /// Register B: bit 2 = binary numbers, bit 1 = 24 hours.
    pub mode: u8,
}

impl ClockFields {
    /// Seconds since 1970; the century is ours.
    pub fn to_seconds(&self) -> i64 {
        let binary = self.mode & 4 != 0;
        let read = |value: u8| i64::from(if binary { value } else { (value >> 4) * 10 + (value & 15) });
        let mut hour = read(self.hour & 0x7f);
        if self.mode & 2 == 0 {
            hour = hour % 12 + if self.hour & 0x80 != 0 { 12 } else { 0 };
        }
        let days = days_since_1970(2000 + read(self.year), read(self.month).clamp(1, 12), read(self.day));
        ((days * 24 + hour) * 60 + read(self.minute)) * 60 + read(self.second)
    }
}

/// Days from 1970 to a day of the Gregorian calendar, by counting years from March on.
fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_moments() {
        let fields = ClockFields { second: 0x30, minute: 0x20, hour: 0x13, day: 0x29, month: 0x02, year: 0x24, mode: 2 };
        assert_eq!(fields.to_seconds(), 1_709_212_830);
        let fields = ClockFields { second: 0, minute: 0, hour: 0x92, day: 1, month: 1, year: 0x24, mode: 0 };
        assert_eq!(fields.to_seconds(), 1_704_067_200 + 12 * 3600);
        assert_eq!(days_since_1970(1970, 1, 1), 0);
        assert_eq!(days_since_1970(2000, 3, 1), 11_017);
    }
}
