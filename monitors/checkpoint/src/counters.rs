//! Counters of programs inside (`clock.follow`): each is the processor's counter, and a word of the
//! program's that is added to it. When an environment goes on elsewhere the word is changed before
//! anything runs (`follow`), so that no program sees its counter jump.

use nacre_nest::clock::Clock;
use nacre_snapshot::image;
use nacre_sys::OwnedReference;

/// Part of a speed by which another one may differ and still be taken for the same: what a machine
/// measures when it starts is not exact.
const TOLERANCE: u64 = 128;
/// Nanoseconds a second.
const SECOND: u128 = 1_000_000_000;

/// A counter of a program inside.
pub struct Counter {
    /// Number of the port of the segment that has its words.
    pub segment: u64,
    /// Offset of the word that is added.
    pub offset: u64,
    /// Offset of the word that says whether the monotonic clock counts.
    pub flag: u64,
    /// The port that is told when the environment goes on, and the bits.
    pub told: (OwnedReference, u64),
    /// Ticks a second.
    pub speed: u64,
    /// The monotonic clock counts.
    pub is_asked: bool,
}

/// A moment, by both clocks that a counter can go by.
#[derive(Clone, Copy)]
pub struct Moment {
    /// The processor's counter.
    pub ticks: u64,
    /// Nanoseconds of the environment's monotonic clock.
    pub monotonic: u64,
}

impl Moment {
    /// Returns the source of a counter with this speed.
    fn source(self, speed: u64, is_asked: bool) -> u64 {
        if is_asked { (u128::from(self.monotonic) * u128::from(speed) / SECOND) as u64 } else { self.ticks }
    }
}

/// Returns true if a counter with one speed can go by the processor's with another.
fn is_like(speed: u64, other: u64) -> bool {
    speed.abs_diff(other) <= speed / TOLERANCE
}

/// Returns what is added to the word of a counter that goes on elsewhere, and whether it goes by
/// the monotonic clock there. `own`: the speed of the processor's counter, if it can be read.
pub fn change(counter: &image::Counter, frozen: Moment, now: Moment, own: Option<u64>) -> (u64, bool) {
    let is_asked = !own.is_some_and(|own| is_like(counter.speed, own));
    (frozen.source(counter.speed, counter.is_asked).wrapping_sub(now.source(counter.speed, is_asked)), is_asked)
}

/// Returns the speed of the processor's counter; `None` if it cannot be read.
pub fn own_speed(clock: &Clock) -> Option<u64> {
    Some(clock.frequency()).filter(|speed| *speed > 0 && !clock.is_asked())
}

#[cfg(test)]
mod tests {
    use super::*;
    use nacre_snapshot::Place;

    fn counter(is_asked: bool) -> image::Counter {
        image::Counter { segment: 1, offset: 0, flag: 8, told: (Place::Nothing, 1), speed: 2_000_000_000, is_asked }
    }

    #[test]
    fn a_counter_goes_on_where_it_stood_whatever_it_goes_by() {
        let (frozen, now) = (Moment { ticks: 70_000, monotonic: 5_000 }, Moment { ticks: 300, monotonic: 5_007 });
        for (was_asked, own, is_asked) in [(false, Some(2_000_000_000), false), (false, None, true), (true, Some(1_999_000_000), false), (true, Some(3_000_000_000), true)] {
            let counter = counter(was_asked);
            let (added, asks) = change(&counter, frozen, now, own);
            assert_eq!(asks, is_asked);
            let word = 0u64.wrapping_sub(40_000);
            let before = frozen.source(counter.speed, was_asked).wrapping_add(word);
            let after = now.source(counter.speed, is_asked).wrapping_add(word.wrapping_add(added));
            assert_eq!(before, after);
        }
        assert_eq!(change(&counter(false), frozen, now, Some(2_000_000_000)).0, 69_700);
    }

    #[test]
    fn speeds_are_measured_and_differ() {
        assert!(is_like(2_000_000_000, 2_015_000_000) && is_like(2_000_000_000, 1_985_000_000));
        assert!(!is_like(2_000_000_000, 2_016_000_000) && !is_like(2_000_000_000, 0) && !is_like(1_000, 2_000_000_000));
    }
}
