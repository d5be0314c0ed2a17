//! Time of messages: ticks of the processor's counter as nanoseconds of the system's clocks.

use alloc::format;
use alloc::string::String;
use nacre_proto::flags::{CLOCK_MONOTONIC, CLOCK_REALTIME, SERVICE_CLOCK};
use nacre_proto::{clock, parent};
use nacre_sys::clock::{Scale, ticks};
use nacre_sys::{OwnedReference, Reference};

const SECOND: u64 = 1_000_000_000;

/// Turns ticks into nanoseconds of `CLOCK_MONOTONIC`. Tracers that know the clock's formula agree
/// to the tick. Without it the length of a tick is measured between the start and the first use.
pub struct Clock {
    service: Option<OwnedReference>,
    /// Formula of the clock; 0 as factor: not known yet.
    scale: Scale,
    /// Ticks and time of the start, for measuring.
    started: (u64, u64),
    /// Added to the time, `CLOCK_REALTIME` results.
    since_1970: u64,
}

impl Clock {
    /// Asks the clock for its formula, or begins to measure.
    pub fn start() -> Clock {
        let service = parent::find(Reference::PARENT, SERVICE_CLOCK).ok().map(|reply| reply.found);
        let mut made = Clock { service, scale: Scale { start: 0, factor: 0 }, started: (0, 0), since_1970: 0 };
        if let Some(Ok(known)) = made.service.as_ref().map(|service| clock::scale(service.handle())) {
            (made.scale, made.since_1970) = (Scale { start: known.start, factor: known.factor }, known.since_1970);
        } else {
            made.started = (ticks(), made.read(CLOCK_MONOTONIC).unwrap_or(0));
            made.since_1970 = made.read(CLOCK_REALTIME).unwrap_or(0).wrapping_sub(made.started.1);
        }
        made
    }

    fn read(&self, which: u64) -> Option<u64> {
        let time = clock::read(self.service.as_ref()?.handle(), which).ok()?;
        time.seconds.checked_mul(SECOND)?.checked_add(time.nanoseconds)
    }

    /// Measures the length of a tick. Without a clock, or without time between, it counts as a
    /// nanosecond.
    fn measure(&self) -> Scale {
        let passed = ticks().wrapping_sub(self.started.0);
        let nanoseconds = self.read(CLOCK_MONOTONIC).unwrap_or(0).saturating_sub(self.started.1);
        let factor = match (u128::from(nanoseconds) << 32) / u128::from(passed.max(1)) {
            0 => 1 << 32,
            rate => rate.min(u128::from(u64::MAX)) as u64,
        };
        Scale { start: self.started.0, factor }
    }

    /// Returns the formula, by which a reader tells clocks apart: start, factor, and what is added
    /// for the time since 1970. Start and factor are 0 if the length of a tick is measured.
    pub fn formula(&self) -> [u64; 3] {
        let Scale { start, factor } = if self.started == (0, 0) { self.scale } else { Scale { start: 0, factor: 0 } };
        [start, factor, self.since_1970]
    }

    /// Returns nanoseconds of `CLOCK_MONOTONIC`.
    pub fn nanoseconds(&mut self, ticks: u64) -> u64 {
        if self.scale.factor == 0 {
            self.scale = self.measure();
        }
        self.scale.nanoseconds(ticks).saturating_add(self.started.1)
    }

    /// Returns nanoseconds of `CLOCK_REALTIME`.
    pub fn since_1970(&mut self, ticks: u64) -> u64 {
        self.nanoseconds(ticks).wrapping_add(self.since_1970)
    }
}

/// Time before a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stamp {
    /// Hours, minutes and seconds of the day, UTC (`-t`).
    Seconds,
    /// Time of the day with microseconds (`-tt`).
    Microseconds,
    /// Seconds since 1970, with microseconds (`-ttt`).
    Since1970,
    /// Time since the line before (`-r`).
    Relative,
}

impl Stamp {
    /// Returns the text before a line at `now` nanoseconds since 1970, whose line before was at
    /// `last`, or 0 if it is the first.
    pub fn text(self, now: u64, last: u64) -> String {
        let (seconds, micros) = (now / SECOND, now % SECOND / 1000);
        let day = seconds % 86_400;
        let time = format!("{:02}:{:02}:{:02}", day / 3600, day / 60 % 60, day % 60);
        match self {
            Stamp::Seconds => format!("{time} "),
            Stamp::Microseconds => format!("{time}.{micros:06} "),
            Stamp::Since1970 => format!("{seconds}.{micros:06} "),
            Stamp::Relative => {
                let passed = if last == 0 { 0 } else { now.saturating_sub(last) };
                format!("{:>6}.{:06} ", passed / SECOND, passed % SECOND / 1000)
            }
        }
    }
}

/// Returns the text behind a line of a message that took so many nanoseconds (`-T`).
pub fn took(nanoseconds: u64) -> String {
    format!(" <{}.{:06}>", nanoseconds / SECOND, nanoseconds % SECOND / 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_times_as_strace_writes_them() {
        let now = 1_700_000_000 * SECOND + 12_345_678;
        let texts = [Stamp::Seconds, Stamp::Microseconds, Stamp::Since1970, Stamp::Relative].map(|stamp| stamp.text(now, now - 3_000_000));
        assert_eq!(texts, ["22:13:20 ", "22:13:20.012345 ", "1700000000.012345 ", "     0.003000 "]);
        assert_eq!((Stamp::Relative.text(now, 0), took(1_234_567_890)), ("     0.000000 ".into(), " <1.234567>".into()));
    }
}
