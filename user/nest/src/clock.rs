//! The parent's clock, as monitors read it: without a message where that is possible.

use core::sync::atomic::{AtomicU64, Ordering};
use nacre_proto::flags::{CLOCK_MONOTONIC, CLOCK_REALTIME, SERVICE_CLOCK};
use nacre_proto::{Errno, clock, parent};
use nacre_sys::Reference;
use nacre_sys::clock::{Scale, ticks};

/// Nanoseconds a second.
const SECOND: u64 = 1_000_000_000;

/// Time that the clock told last when it was asked.
static LAST: AtomicU64 = AtomicU64::new(0);

/// The parent's clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    source: Source,
    since_1970: u64,
}

#[derive(Clone, Copy, Debug)]
enum Source {
    /// Read from the processor's counter, by the parent's formula.
    Counted(Scale),
    /// Asked of the parent each time: it keeps another time than the processor's counter. Ticks are
    /// nanoseconds then.
    Asked(Reference),
}

/// Asks a clock; nanoseconds.
fn ask(service: Reference, which: u64) -> Result<u64, Errno> {
    let time = clock::read(service, which)?;
    Ok(time.seconds.wrapping_mul(SECOND).wrapping_add(time.nanoseconds))
}

impl Clock {
    /// Asks the parent for its clock's formula, or how late it is.
    pub fn find() -> Result<Clock, Errno> {
        let service = parent::find(Reference::PARENT, SERVICE_CLOCK)?.found.leak();
        match clock::scale(service) {
            Ok(reply) => Ok(Clock { source: Source::Counted(Scale { start: reply.start, factor: reply.factor }), since_1970: reply.since_1970 }),
            Err(Errno::ENOSYS) => {
                let since_1970 = ask(service, CLOCK_REALTIME)?.wrapping_sub(ask(service, CLOCK_MONOTONIC)?);
                Ok(Clock { source: Source::Asked(service), since_1970 })
            }
            Err(errno) => Err(errno),
        }
    }

    /// Returns true if the processor's counter has nothing to do with this clock.
    pub fn is_asked(&self) -> bool {
        matches!(self.source, Source::Asked(_))
    }

    /// Returns the formula of the processor's counter, if the clock goes by that.
    pub fn scale(&self) -> Option<Scale> {
        match self.source {
            Source::Counted(scale) => Some(scale),
            Source::Asked(_) => None,
        }
    }

    /// Returns nanoseconds since 1970. A clock that is asked may have been frozen meanwhile, and
    /// tells the time of the machine that it is in now.
    pub fn real_time(&self) -> Result<u64, Errno> {
        match self.source {
            Source::Counted(_) => Ok(self.now().wrapping_add(self.since_1970)),
            Source::Asked(service) => ask(service, CLOCK_REALTIME),
        }
    }

    /// Asks the parent to keep a counter of ours going where we are frozen, whose words lie at
    /// these offsets of a segment: its formula. The port is told with these bits when we go on.
    /// `ENOSYS`: nobody freezes us, or only by asking is the time to be had.
    pub fn follow(&self, segment: Reference, words: (u64, u64), told: (Reference, u64)) -> Result<Scale, Errno> {
        let Source::Asked(service) = self.source else { return Err(Errno::ENOSYS) };
        let reply = clock::follow(service, words.0, words.1, told.1, segment, told.0)?;
        Ok(Scale { start: reply.start, factor: reply.factor })
    }

    /// The counter that the clock goes by. It stands still while nobody answers.
    pub fn ticks(&self) -> u64 {
        match self.source {
            Source::Counted(_) => ticks(),
            Source::Asked(service) => match ask(service, CLOCK_MONOTONIC) {
                Ok(now) => LAST.fetch_max(now, Ordering::Relaxed).max(now),
                Err(_) => LAST.load(Ordering::Relaxed),
            },
        }
    }

    /// Nanoseconds that have passed, since the machine started as a rule.
    pub fn now(&self) -> u64 {
        self.nanoseconds(self.ticks())
    }

    /// The time as far as it is known without a message. Nanoseconds.
    pub fn last(&self) -> u64 {
        match self.source {
            Source::Counted(scale) => scale.nanoseconds(ticks()),
            Source::Asked(_) => LAST.load(Ordering::Relaxed),
        }
    }

    /// Nanoseconds when the counter says so.
    pub fn nanoseconds(&self, ticks: u64) -> u64 {
        match self.source {
            Source::Counted(scale) => scale.nanoseconds(ticks),
            Source::Asked(_) => ticks,
        }
    }

    /// Ticks of the counter a second.
    pub fn frequency(&self) -> u64 {
        const PART: u32 = 32;
        match self.source {
            Source::Counted(scale) => (u128::from(SECOND) << PART).checked_div(u128::from(scale.factor)).map_or(0, |ticks| ticks as u64),
            Source::Asked(_) => SECOND,
        }
    }

    /// Nanoseconds since 1970 when this clock said 0.
    pub fn start_of_machine(&self) -> u64 {
        self.since_1970
    }
}
