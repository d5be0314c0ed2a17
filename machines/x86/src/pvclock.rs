//! Clock of KVM: a page in which the guest finds how to turn its time stamp counter into
//! nanoseconds, so that it reads the time without an exit.
//!
//! Both structures have a version, which is even while the rest is valid. Fields are those of
//! Linux's `pvclock_vcpu_time_info` and `pvclock_wall_clock`.

/// Size of what [`time_info`] returns.
pub const TIME_INFO_SIZE: usize = 32;
/// Size of what [`wall_clock`] returns.
pub const WALL_CLOCK_SIZE: usize = 12;
const SECOND: u64 = 1_000_000_000;
/// Flag: the counters of all processors agree, and time never goes backwards.
const STABLE: u8 = 1;

/// Speed of a time stamp counter: nanoseconds are `(ticks << shift) * multiplier >> 32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// Factor, in parts of 2 to the power of 32.
    pub multiplier: u32,
    /// Bits by which ticks are shifted to the left before; to the right if negative.
    pub shift: i8,
}

impl Clock {
    /// Returns the factor of a frequency in hertz. A frequency of 0 counts as 1.
    pub fn new(frequency: u64) -> Self {
        let frequency = u128::from(frequency.max(1));
        // The factor lies between a half and one, so all bits of the multiplier are used.
        let (mut shift, mut scale) = (0i8, u128::from(SECOND) << 32);
        while scale / frequency > u128::from(u32::MAX) {
            scale >>= 1;
            shift += 1;
        }
        while scale / frequency <= u128::from(u32::MAX / 2) {
            scale <<= 1;
            shift -= 1;
        }
        Clock { multiplier: (scale / frequency) as u32, shift }
    }

    /// Returns the time of ticks in nanoseconds, as the guest computes it. What is too long is cut
    /// off.
    pub fn nanoseconds(&self, ticks: u64) -> u64 {
        let ticks = u128::from(ticks);
        let shift = u32::from(self.shift.unsigned_abs()).min(63);
        let shifted = if self.shift < 0 { ticks >> shift } else { ticks << shift };
        let whole = (shifted >> 32) * u128::from(self.multiplier);
        let part = ((shifted & u128::from(u32::MAX)) * u128::from(self.multiplier)) >> 32;
        u64::try_from(whole + part).unwrap_or(u64::MAX)
    }
}

/// Returns the page's structure: at the counter's value `tsc`, the time was `system_time`. The
/// version is made even.
pub fn time_info(version: u32, tsc: u64, system_time: u64, clock: &Clock) -> [u8; TIME_INFO_SIZE] {
    let mut bytes = [0; TIME_INFO_SIZE];
    bytes[0..4].copy_from_slice(&(version & !1).to_le_bytes());
    bytes[8..16].copy_from_slice(&tsc.to_le_bytes());
    bytes[16..24].copy_from_slice(&system_time.to_le_bytes());
    bytes[24..28].copy_from_slice(&clock.multiplier.to_le_bytes());
    bytes[28] = clock.shift as u8;
    bytes[29] = STABLE;
    bytes
}

/// Returns the structure of the date: nanoseconds since 1970 when the system time was 0.
pub fn wall_clock(version: u32, unix_nanoseconds: u64) -> [u8; WALL_CLOCK_SIZE] {
    let mut bytes = [0; WALL_CLOCK_SIZE];
    let (seconds, rest) = (unix_nanoseconds / SECOND, unix_nanoseconds % SECOND);
    bytes[0..4].copy_from_slice(&(version & !1).to_le_bytes());
    bytes[4..8].copy_from_slice(&(seconds as u32).to_le_bytes());
    bytes[8..12].copy_from_slice(&(rest as u32).to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_become_nanoseconds() {
        let some = [1, 1_000, 32_768, SECOND - 1, SECOND, SECOND + 1, 2_594_123_456, 1 << 40];
        for frequency in some {
            let clock = Clock::new(frequency);
            assert!(clock.multiplier > u32::MAX / 2);
            let expected = u128::from(SECOND) * 100;
            let time = u128::from(clock.nanoseconds(frequency * 100));
            assert!(expected.abs_diff(time) <= expected >> 28, "{frequency}: {time}");
        }
        assert_eq!(Clock::new(SECOND), Clock { multiplier: 0x8000_0000, shift: 1 });
        assert_eq!(Clock::new(SECOND).nanoseconds(12_345), 12_345);
    }

    #[test]
    fn any_frequency_and_time_is_taken() {
        for frequency in [0, 1, u64::MAX] {
            let clock = Clock::new(frequency);
            assert!(clock.nanoseconds(u64::MAX) > 0);
        }
        assert_eq!(Clock { multiplier: u32::MAX, shift: i8::MIN }.nanoseconds(u64::MAX), 0);
        assert_eq!(Clock { multiplier: u32::MAX, shift: i8::MAX }.nanoseconds(u64::MAX), u64::MAX);
    }

    #[test]
    fn the_structures_have_linuxs_layout() {
        let clock = Clock { multiplier: 0x8000_0000, shift: -1 };
        let bytes = time_info(7, 0x1122_3344_5566_7788, 5, &clock);
        assert_eq!(bytes[0..9], [6, 0, 0, 0, 0, 0, 0, 0, 0x88]);
        assert_eq!(bytes[15..17], [0x11, 5]);
        assert_eq!(bytes[24..], [0, 0, 0, 0x80, 0xff, 1, 0, 0]);
        assert_eq!(wall_clock(2, 3_000_000_004), [2, 0, 0, 0, 3, 0, 0, 0, 4, 0, 0, 0]);
    }
}
