//! Amounts on the command line: a machine's memory, and times.

use std::time::Duration;

use crate::store;

/// Reads how much memory a machine has.
pub fn memory(text: &str) -> Result<u64, String> {
    let size = store::parse_bytes(text)?;
    if size < 16 << 20 {
        return Err("the machine needs at least 64M beside its files".to_string());
    }
    Ok(size)
}

/// Reads a time.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let wrong = || "a time is a positive number of seconds, such as 10 or 0.5".to_string();
    let seconds: f64 = text.parse().map_err(|_| wrong())?;
    if seconds > 0.0 { Duration::try_from_secs_f64(seconds).map_err(|_| wrong()) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        assert_eq!(memory("512M"), Ok(512 << 20));
        assert_eq!(memory("2g"), Ok(2 << 30));
        for wrong in ["", "M", "-1M", "1M", "99999999999G", "1T"] {
            assert!(memory(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn times_are_read() {
        assert_eq!(seconds("0.5"), Ok(Duration::from_millis(500)));
        for wrong in ["", "0", "-1", "nan", "inf", "1e300"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
