//! The way to a driver: a request is carried out while root waits, and looks whether the driver is
//! alive.

use crate::hardware::monotonic;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::RefCell;
use nacre_9p::{Error, MAX_MESSAGE, Wire};
use nacre_abi::waiting::{FAULTS, SENDS, STOPPED, kind};
use nacre_proto::{Errno, driver};
use nacre_sys::ipc::{Buffers, Message};
use nacre_sys::{Code, OwnedReference, Thread, Window, ipc};

/// Bytes of the part for a request, and of that for its answer.
pub const PART: u64 = (MAX_MESSAGE as u64).next_multiple_of(4096);
/// Nanoseconds after which a driver will not answer any more.
pub const LIMIT: u64 = 30_000_000_000;
/// Nanoseconds between two looks whether a driver is alive.
const LOOK: u64 = 50_000_000;
/// Nanoseconds in which a driver that has ended says how.
const WORDS: u64 = 1_000_000_000;

/// Way to a driver, once it is ready.
#[derive(Default)]
pub struct Line {
    /// Port at which it takes requests.
    pub wire: Option<OwnedReference>,
    /// The thread that carries them out.
    pub thread: Option<Thread>,
    /// Set once it did not answer: it is not asked any more. Until this moment it may say itself
    /// how it ended.
    pub silent: Option<u64>,
    /// Number of the last request, whichever driver got it.
    number: u64,
}

impl Line {
    /// Has the driver carry out a request of so many bytes. Returns the size of the answer. `EIO`:
    /// the driver has ended, or does not answer.
    pub fn carry_out(&mut self, size: u64) -> Result<u64, Errno> {
        self.number += 1;
        let message = Message::new(driver::carry_out::LABEL, [size, self.number, 0, 0, 0, 0]);
        // Time in which the whole machine stood still is not the driver's.
        for _ in 0..LIMIT / LOOK {
            let wire = self.wire.as_ref().ok_or(Errno::EIO)?;
            match ipc::call(wire.handle(), &message, Buffers::NONE, LOOK) {
                Ok(received) if received.label() == 0 => return Ok(received.words[0]),
                Ok(received) => return Err(Errno(received.label())),
                Err(status) if status.code() == Some(Code::TimedOut) && self.is_at_work() => {}
                Err(_) => return self.give_up(WORDS),
            }
        }
        self.give_up(0)
    }

    fn give_up(&mut self, patience: u64) -> Result<u64, Errno> {
        (self.wire, self.silent) = (None, Some(monotonic() + patience));
        Err(Errno::EIO)
    }

    /// Returns true for a driver that may answer. One with an exception will not; nor one that has
    /// something to say to root while root waits, which is how programs panic.
    fn is_at_work(&self) -> bool {
        let waiting = self.thread.and_then(|thread| thread.waiting().ok()).map(kind);
        waiting.is_some_and(|kind| ![FAULTS, STOPPED, SENDS].contains(&kind))
    }
}

/// The wire of 9P to a driver.
pub struct DriverWire {
    /// The way.
    pub line: Rc<RefCell<Line>>,
    /// Part of the memory for a request.
    pub request: Window,
    /// Part for its answer.
    pub answer: Window,
    /// The driver takes several messages at once.
    pub takes_chains: bool,
}

impl Wire for DriverWire {
    fn exchange(&mut self, request: &[u8], answer: &mut Vec<u8>) -> Result<(), Error> {
        self.request.write(0, request).ok_or(Error::BROKEN)?;
        let size = self.line.borrow_mut().carry_out(request.len() as u64).map_err(|_| Error::BROKEN)?;
        answer.resize(size.min(PART) as usize, 0);
        self.answer.read(0, answer).ok_or(Error::BROKEN)
    }

    fn takes_chains(&self) -> bool {
        self.takes_chains
    }
}
