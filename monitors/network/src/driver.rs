//! The way to the network card's driver, whichever that is now. One that ends, gives no answer, or
//! one that makes no sense, is left, and the service that knows drivers is asked for the next.

use nacre_abi::message::MAX_BYTES;
use nacre_abi::rights::REFERENCE_NOTIFY;
use nacre_proto::client::{call_within, words};
use nacre_proto::{Errno, nic};
use nacre_sys::{OwnedReference, Port, Span, SpanMut};

/// Nanoseconds after which a driver will not answer any more.
const LIMIT: u64 = 10_000_000_000;
/// Nanoseconds between two questions for a driver: at first, and at most.
const MIN_PAUSE: u64 = 5_000_000;
const MAX_PAUSE: u64 = 1_000_000_000;

/// The service that knows drivers, and calls of a driver. Errors stand for anything but an answer
/// that makes sense.
pub trait Drivers {
    /// A driver.
    type Driver;
    /// Asks for the present driver and its number, as `nic.driver` does, and has it call when
    /// frames come, and when it ends.
    fn find(&mut self, failed: u64) -> Result<(u64, Result<Self::Driver, Errno>), Errno>;
    /// Takes frames that have come. Returns how many bytes they have.
    fn receive(&mut self, driver: &Self::Driver, into: &mut [u8]) -> Result<usize, Errno>;
    /// Sends frames. Returns how many the card has taken.
    fn send(&mut self, driver: &Self::Driver, frames: &[u8]) -> Result<u64, Errno>;
}

/// The way to the driver. The head of this module describes it.
pub struct Way<D: Drivers> {
    drivers: D,
    driver: Option<D::Driver>,
    /// Number of the last driver.
    number: u64,
    /// Number of a driver that failed and was not replaced since; 0: none.
    failed: u64,
    /// Time at which the service is asked next; `None`: there is a driver, or there will be none.
    due: Option<u64>,
    pause: u64,
}

impl<D: Drivers> Way<D> {
    /// A way without a driver yet.
    pub fn new(drivers: D) -> Way<D> {
        Way { drivers, driver: None, number: 0, failed: 0, due: Some(0), pause: MIN_PAUSE }
    }

    /// The driver.
    pub fn driver(&self) -> Option<&D::Driver> {
        self.driver.as_ref()
    }

    /// Returns the time at which [`Way::look`] is due, if it is needed.
    pub fn due(&self) -> Option<u64> {
        self.due
    }

    /// Asks for a driver, if there is none and it is time. Returns true if there is a new one. The
    /// error is for good: there will be none.
    pub fn look(&mut self, now: u64) -> Result<bool, Errno> {
        if self.due.is_none_or(|due| now < due) {
            return Ok(false);
        }
        match self.drivers.find(self.failed) {
            // It gets a moment to end by itself, and is complained of then.
            Ok((number, _)) if number == self.number => self.failed = number,
            Ok((number, driver)) => (self.number, self.failed, self.driver) = (number, 0, driver.ok()),
            Err(Errno::EAGAIN) => {}
            Err(errno) => {
                self.due = None;
                return Err(errno);
            }
        }
        let is_found = self.driver.is_some();
        self.due = (!is_found).then(|| now.saturating_add(self.pause));
        self.pause = if is_found { MIN_PAUSE } else { (2 * self.pause).min(MAX_PAUSE) };
        Ok(is_found)
    }

    /// Leaves a driver that has failed.
    fn leave<T>(&mut self, now: u64) -> Option<T> {
        (self.driver, self.due) = (None, Some(now));
        None
    }

    /// Takes frames that have come. Returns how many bytes they have; `None`: there is no driver.
    pub fn receive(&mut self, into: &mut [u8], now: u64) -> Option<usize> {
        match self.drivers.receive(self.driver.as_ref()?, into) {
            Ok(count) if count <= into.len() => Some(count),
            _ => self.leave(now),
        }
    }

    /// Sends so many frames. Returns how many the card has taken; `None`: there is no driver.
    pub fn send(&mut self, frames: &[u8], count: usize, now: u64) -> Option<usize> {
        match self.drivers.send(self.driver.as_ref()?, frames) {
            Ok(taken) if taken <= count as u64 => Some(taken as usize),
            _ => self.leave(now),
        }
    }
}

/// The parent's service of the card.
pub struct Service {
    service: OwnedReference,
    /// Port that is called.
    called: Port,
}

impl Service {
    /// The service that the parent found. Drivers call at the port.
    pub fn new(service: OwnedReference, called: Port) -> Service {
        Service { service, called }
    }

    /// Has a driver call. The reference to the port is its alone, so the kernel tells of its end.
    fn watch(&self, driver: &OwnedReference) -> Result<(), Errno> {
        let port = OwnedReference::made_by(|slot| self.called.reference(slot, REFERENCE_NOTIFY))?;
        let message = (nic::watch::LABEL, words([1]));
        call_within(LIMIT, driver.handle(), message, (Span::EMPTY, &[port.handle()]), (SpanMut::EMPTY, &[])).map(drop)
    }
}

impl Drivers for Service {
    type Driver = OwnedReference;

    fn find(&mut self, failed: u64) -> Result<(u64, Result<OwnedReference, Errno>), Errno> {
        let reply = nic::driver(self.service.handle(), failed)?;
        let watched = self.watch(&reply.card);
        Ok((reply.number, watched.map(|()| reply.card)))
    }

    fn receive(&mut self, driver: &OwnedReference, into: &mut [u8]) -> Result<usize, Errno> {
        let message = (nic::receive::LABEL, words([MAX_BYTES]));
        call_within(LIMIT, driver.handle(), message, (Span::EMPTY, &[]), (into.into(), &[])).map(|received| received.bytes())
    }

    fn send(&mut self, driver: &OwnedReference, frames: &[u8]) -> Result<u64, Errno> {
        call_within(LIMIT, driver.handle(), (nic::send::LABEL, words([])), (frames.into(), &[]), (SpanMut::EMPTY, &[])).map(|received| received.words[0])
    }
}

impl Way<Service> {
    /// Returns what `nic.facts` does: the address of the card, and the largest frame in bytes.
    pub fn facts(&self) -> Result<(u64, u64), Errno> {
        let driver = self.driver.as_ref().ok_or(Errno::EAGAIN)?;
        let received = call_within(LIMIT, driver.handle(), (nic::facts::LABEL, words([])), (Span::EMPTY, &[]), (SpanMut::EMPTY, &[]))?;
        Ok((received.words[0], received.words[1]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;

    /// A service whose drivers do what is asked for next.
    #[derive(Default)]
    struct Fake {
        /// Number of the present driver; 0: one is about to start.
        present: u64,
        /// There will be no driver any more.
        is_over: bool,
        /// Driver that was complained of last.
        failed: u64,
        /// Number of questions for a driver.
        asked: usize,
        /// Answer to the next call, in bytes or frames.
        answer: Option<u64>,
    }

    impl Drivers for Fake {
        type Driver = u64;

        fn find(&mut self, failed: u64) -> Result<(u64, Result<u64, Errno>), Errno> {
            self.asked += 1;
            self.failed = failed;
            match self.present {
                _ if self.is_over => Err(Errno::EIO),
                0 => Err(Errno::EAGAIN),
                present => Ok((present, Ok(present))),
            }
        }

        fn receive(&mut self, _: &u64, _: &mut [u8]) -> Result<usize, Errno> {
            self.answer.map(|count| count as usize).ok_or(Errno::ETIMEDOUT)
        }

        fn send(&mut self, _: &u64, _: &[u8]) -> Result<u64, Errno> {
            self.answer.ok_or(Errno::EIO)
        }
    }

    fn way() -> Way<Fake> {
        let mut way = Way::new(Fake { present: 1, answer: Some(0), ..Fake::default() });
        assert_eq!((way.look(0), way.driver(), way.due()), (Ok(true), Some(&1), None));
        way
    }

    #[test]
    fn a_driver_that_ended_is_followed_by_another_one() {
        let mut way = way();
        (way.drivers.answer, way.drivers.present) = (None, 0);
        assert_eq!((way.send(&[1], 1, 7), way.driver(), way.due()), (None, None, Some(7)));
        assert_eq!((way.look(7), way.receive(&mut [0; 9], 7)), (Ok(false), None));
        (way.drivers.answer, way.drivers.present) = (Some(5), 2);
        assert_eq!(way.look(8), Ok(false), "it is not asked again at once");
        assert_eq!((way.look(7 + MIN_PAUSE), way.drivers.failed), (Ok(true), 0));
        assert_eq!((way.receive(&mut [0; 9], 9), way.send(&[1], 5, 9)), (Some(5), Some(5)));
    }

    #[test]
    fn a_driver_that_stays_after_it_has_failed_is_complained_of() {
        let mut way = way();
        way.drivers.answer = None;
        assert_eq!(way.receive(&mut [0; 9], 0), None);
        assert_eq!((way.look(0), way.drivers.failed, way.driver()), (Ok(false), 0, None));
        assert_eq!((way.look(MIN_PAUSE), way.drivers.failed, way.driver()), (Ok(false), 1, None));
        way.drivers.present = 2;
        assert_eq!((way.look(4 * MIN_PAUSE), way.driver()), (Ok(true), Some(&2)));
        assert_eq!(way.failed, 0);
    }

    #[test]
    fn counts_that_make_no_sense_are_failures() {
        for answer in [10, u64::MAX] {
            let mut way = way();
            way.drivers.answer = Some(answer);
            assert_eq!((way.receive(&mut [0; 9], 3), way.driver(), way.due()), (None, None, Some(3)));
            let mut way = self::way();
            way.drivers.answer = Some(answer);
            assert_eq!((way.send(&[0; 20], 9, 3), way.driver(), way.due()), (None, None, Some(3)));
        }
    }

    #[test]
    fn a_driver_that_does_not_start_is_asked_for_ever_more_seldom() {
        let mut way = Way::new(Fake::default());
        let mut now = 0;
        for _ in 0..100 {
            assert_eq!(way.look(now), Ok(false));
            now = way.due().unwrap();
        }
        assert!((90 * MAX_PAUSE..100 * MAX_PAUSE).contains(&now) && way.drivers.asked == 100);
        way.drivers.is_over = true;
        assert_eq!((way.look(now), way.due(), way.look(now)), (Err(Errno::EIO), None, Ok(false)));
    }

    #[test]
    fn drivers_that_answer_at_random_do_no_harm() {
        for seed in 1..=10_000u64 {
            let (mut dice, mut way, mut bytes, mut now) = (seed, Way::new(Fake::default()), vec![0; 64], 0);
            for _ in 0..40 {
                dice = dice.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let [a, b, c, ..] = (dice >> 16).to_be_bytes();
                way.drivers.present = u64::from(a % 4);
                way.drivers.answer = (b % 5 > 0).then_some(u64::from(b) << (c % 40));
                now += u64::from(c) << 16;
                let _ = way.look(now);
                assert!(way.receive(&mut bytes, now).is_none_or(|count| count <= 64), "seed {seed}");
                assert!(way.send(&[0; 9], 3, now).is_none_or(|count| count <= 3), "seed {seed}");
                assert_eq!(way.driver().is_none(), way.due().is_some(), "seed {seed}");
            }
            assert!(way.drivers.asked <= 40, "seed {seed}");
        }
    }
}
