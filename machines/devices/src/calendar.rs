//! Calendar of the real-time clock: seconds since 1970 as fields of a date, and back; and the next
//! second that an alarm names.

/// Seconds of a day.
pub const DAY: i64 = 86_400;

/// Second, minute, hour, day of the week, day, month, year of the century, century.
pub type Fields = [u8; 8];

/// Returns the fields of a time in seconds since 1970.
pub fn fields_of(time: i64) -> Fields {
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
pub fn time_of(fields: &Fields) -> i64 {
    let [second, minute, hour, _, day, month, year, century] = fields.map(i64::from);
    let days = days_of(century * 100 + year, (month - 1).clamp(0, 11) + 1, day);
    days * DAY + hour * 3600 + minute * 60 + second
}

/// Returns year, month and day of a number of days since 1970, in eras of 400 years that begin with
/// March.
pub fn date_of(days: i64) -> (i64, i64, i64) {
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
pub fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let shifted_month = (month + 9) % 12;
    let day_of_year = (153 * shifted_month + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Returns the seconds from a second of the day to the next one, or the same, that an alarm names
/// by second, minute and hour. `None` in the alarm is any number; `None` as the result: never.
pub fn until_alarm([second, minute, hour]: [Option<i64>; 3], from: i64) -> Option<i64> {
    let (first_hour, first_minute, first_second) = (from / 3600, from / 60 % 60, from % 60);
    // The hour that it begins in can be the one of the next day.
    (0..=24).find_map(|later| {
        if hour.is_some_and(|hour| hour != (first_hour + later) % 24) {
            return None;
        }
        let least_minute = if later == 0 { first_minute } else { 0 };
        let minutes = minute.map_or([least_minute, least_minute + 1], |minute| [minute, minute]);
        minutes.into_iter().filter(|minute| (least_minute..60).contains(minute)).find_map(|minute| {
            let least = if later == 0 && minute == first_minute { first_second } else { 0 };
            let second = second.unwrap_or(least);
            (least..60).contains(&second).then_some(later * 3600 + minute * 60 + second - first_minute * 60 - first_second)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_go_there_and_back() {
        for days in (-200_000..200_000).step_by(37) {
            let (year, month, day) = date_of(days);
            assert_eq!(days_of(year, month, day), days);
        }
        assert_eq!((date_of(0), date_of(11_016)), ((1970, 1, 1), (2000, 2, 29)));
    }

    #[test]
    fn alarms_come_when_each_second_is_looked_at() {
        let kinds = [None, Some(0), Some(7), Some(23), Some(59), Some(60)];
        for (index, from) in (0..DAY).step_by(3571).chain([DAY - 1]).enumerate() {
            let alarm = [kinds[index % 6], kinds[index / 2 % 6], kinds[index / 3 % 6]];
            let fits = |second: &i64| {
                let now = (from + second) % DAY;
                alarm.iter().zip([now % 60, now / 60 % 60, now / 3600]).all(|(field, now)| field.is_none_or(|field| field == now))
            };
            assert_eq!(until_alarm(alarm, from), (0..DAY).find(fits), "{alarm:?} {from}");
        }
        assert_eq!(until_alarm([Some(0), Some(0), Some(0)], 1), Some(DAY - 1));
    }
}
