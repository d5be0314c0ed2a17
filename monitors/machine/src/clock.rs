//! The machine's clock. It is the parent's; or, below a parent that may freeze this machine and has
//! another time than the processor's counter for that reason, it is that counter and a word, which
//! the parent changes when the machine goes on elsewhere (`clock.follow`). So the guest reads the
//! counter itself in either case: the offset in its frame is such a word, too.
//!
//! Only where the parent wants to be asked for the time, or the counter has another speed than it
//! had when the machine was started, is the guest left to read it.

use crate::guest::Guest;
use nacre_abi::frame::word;
use nacre_nest::clock;
use nacre_proto::Errno;
use nacre_sys::clock::Scale;
use nacre_sys::{Frame, Reference, Window};

/// Offsets of the words in the page of the clock: what is added to the counter, and whether the
/// parent is asked instead of the counter.
const ADDED: u64 = 0;
const ASKED: u64 = 8;
/// Nanoseconds a second.
const SECOND: u128 = 1_000_000_000;

/// The machine's clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    parent: clock::Clock,
    followed: Option<Followed>,
}

/// The counter that the parent keeps going.
#[derive(Clone, Copy, Debug)]
struct Followed {
    words: Window,
    scale: Scale,
    frequency: u64,
}

impl Followed {
    /// Returns what is added now, and true if the parent is asked.
    fn words(&self) -> (u64, bool) {
        let word = |offset| self.words.read_word(offset).unwrap_or(0);
        (word(ADDED), word(ASKED) != 0)
    }

    /// Returns a time of the parent's in ticks.
    fn ticks_of(&self, nanoseconds: u64) -> u64 {
        ticks_of(nanoseconds, self.frequency)
    }
}

/// Returns a time in ticks of a counter with this frequency.
fn ticks_of(nanoseconds: u64, frequency: u64) -> u64 {
    (u128::from(nanoseconds) * u128::from(frequency) / SECOND) as u64
}

/// Does something with words that somebody else may change. It is done again if they did change.
fn undisturbed<W: PartialEq, T>(words: impl Fn() -> W, act: impl Fn() -> T) -> T {
    loop {
        let before = words();
        let result = act();
        if words() == before {
            return result;
        }
    }
}

/// Ticks a second of a formula.
fn frequency(scale: &Scale) -> u64 {
    const PART: u32 = 32;
    (SECOND << PART).checked_div(u128::from(scale.factor)).map_or(0, |ticks| ticks as u64)
}

impl Clock {
    /// Finds the parent's clock, and lets all counters of a guest begin at 0. The port that `told`
    /// leads to is notified with these bits when the machine goes on elsewhere.
    pub fn find(guest: &Guest, frames: &[Frame], told: (Reference, u64)) -> Result<Clock, Errno> {
        let parent = clock::Clock::find()?;
        let (segment, words) = guest.clock_page();
        let followed = match parent.follow(segment, (ADDED, ASKED), told) {
            Ok(scale) => Some(Followed { words, scale, frequency: frequency(&scale) }),
            Err(_) => None,
        };
        if followed.is_some() {
            const WORDS: (u64, u64) = (8 * word::TIME_OFFSET as u64, 8 * word::TIME_READS as u64);
            guest.frame_segments().try_for_each(|segment| parent.follow(segment, WORDS, told).map(drop))?;
        }
        let clock = Clock { parent, followed };
        clock.begin_counters(frames);
        Ok(clock)
    }

    /// Lets the counters of a machine start, as at its reset all together.
    pub fn begin_counters(&self, frames: &[Frame]) {
        self.undisturbed(|| {
            let offset = self.source(&clock::Clock::ticks).wrapping_neg();
            frames.iter().for_each(|frame| {
                frame.set(word::TIME_OFFSET, offset);
                frame.set(word::TIME_READS, self.is_asked().into());
            });
        });
    }

    /// Returns true if the machine is told when it goes on elsewhere.
    pub fn is_followed(&self) -> bool {
        self.followed.is_some()
    }

    /// Returns true if the guest cannot read the time by the processor's counter.
    fn is_asked(&self) -> bool {
        self.followed.map_or_else(|| self.parent.is_asked(), |followed| followed.words().1)
    }

    fn undisturbed<T>(&self, act: impl Fn() -> T) -> T {
        match &self.followed {
            Some(followed) => undisturbed(|| followed.words(), act),
            None => act(),
        }
    }

    /// Returns what the clock goes by, which stands still while it is asked and nobody answers.
    fn source(&self, ask: &impl Fn(&clock::Clock) -> u64) -> u64 {
        match &self.followed {
            Some(followed) if followed.words().1 => followed.ticks_of(ask(&self.parent)),
            Some(_) => nacre_sys::clock::ticks(),
            None => ask(&self.parent),
        }
    }

    fn ticks_by(&self, ask: impl Fn(&clock::Clock) -> u64) -> u64 {
        self.undisturbed(|| self.source(&ask).wrapping_add(self.added()))
    }

    fn added(&self) -> u64 {
        self.followed.map_or(0, |followed| followed.words().0)
    }

    /// Returns the counter that the clock goes by.
    pub fn ticks(&self) -> u64 {
        self.ticks_by(clock::Clock::ticks)
    }

    /// Returns the difference of a guest's counter to this one, which is the same everywhere.
    pub fn difference(&self, frame: &Frame) -> u64 {
        self.undisturbed(|| frame.get(word::TIME_OFFSET).wrapping_sub(self.added()))
    }

    /// Sets the counter of a guest.
    pub fn set_counter(&self, frame: &Frame, value: u64) {
        self.undisturbed(|| frame.set(word::TIME_OFFSET, value.wrapping_sub(self.source(&clock::Clock::ticks))));
    }

    /// Nanoseconds that have passed, since this machine or the one below it started.
    pub fn now(&self) -> u64 {
        self.nanoseconds(self.ticks())
    }

    /// The time as far as it is known without a message. Nanoseconds.
    pub fn last(&self) -> u64 {
        match self.followed {
            Some(_) => self.nanoseconds(self.ticks_by(clock::Clock::last)),
            None => self.parent.last(),
        }
    }

    /// Nanoseconds when the counter says so.
    pub fn nanoseconds(&self, ticks: u64) -> u64 {
        self.followed.map_or_else(|| self.parent.nanoseconds(ticks), |followed| followed.scale.nanoseconds(ticks))
    }

    /// Ticks of the counter a second.
    pub fn frequency(&self) -> u64 {
        self.followed.map_or_else(|| self.parent.frequency(), |followed| followed.frequency)
    }

    /// Nanoseconds since 1970 when this clock said 0, by the calendar of the machine below.
    pub fn start_of_machine(&self) -> u64 {
        match self.parent.real_time() {
            Ok(time) => time.wrapping_sub(self.now()),
            Err(_) => self.parent.start_of_machine(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;

    #[test]
    fn a_formula_says_its_frequency() {
        let scale = Scale::new(0, 2_500_000_000).unwrap();
        assert!(frequency(&scale).abs_diff(2_500_000_000) <= 10);
        assert_eq!(frequency(&Scale { start: 0, factor: 0 }), 0);
        assert_eq!((ticks_of(2_000, 2_500_000_000), ticks_of(3_600_000_000_000, 2_500_000_000)), (5_000, 9_000_000_000_000));
        let _ = ticks_of(u64::MAX, u64::MAX);
    }

    #[test]
    fn what_is_read_while_the_words_change_is_read_again() {
        let (words, tries) = (Cell::new(0), Cell::new(0));
        let seen = undisturbed(
            || words.get(),
            || {
                let seen = words.get();
                tries.set(tries.get() + 1);
                // The first two times, the machine goes on elsewhere just then.
                words.set(tries.get().min(2) * 100);
                seen
            },
        );
        assert_eq!((seen, tries.get()), (200, 3));
    }
}
