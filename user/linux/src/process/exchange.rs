//! Messages whose answer may be long in coming: the library's lock is given up meanwhile, and a
//! signal ends the wait.
//!
//! A thread that looks at `attention` and then waits could miss a signal that comes between.
//! Whoever sends one stops the thread first, and sees from its instruction ([`window`]) that it is
//! about to wait, or waits; then the thread goes on as if the kernel had interrupted it.

use crate::abi::errno::{EINTR, EIO, ENOMEM, Errno};
use crate::process::Process;
use crate::raw::wait_window::call_in_window;
use nacre_abi::{Code, Rights, Status};
use nacre_abi::rights::REFERENCE_USE;
use nacre_proto::{Errno as ServerErrno, landing};
use nacre_sys::{OwnedReference, Reference};
use nacre_sys::ipc::{self, Buffers, Message, Received};

impl Process {
    /// Sends a message and waits for its answer without the lock. `EINTR`: a signal came first; the
    /// answer, if there is one, is lost.
    pub fn exchange(&mut self, target: Reference, message: &Message<'_>, buffers: Buffers<'_>) -> Result<Received, Errno> {
        self.exchange_if(true, target, message, buffers)
    }

    /// Calls a server. A signal ends the wait only if it is `interruptible`.
    pub fn exchange_if(&mut self, interruptible: bool, target: Reference, message: &Message<'_>, buffers: Buffers<'_>) -> Result<Received, Errno> {
        let waiting = buffers.slots;
        let received = self.exchange_any(interruptible, target, message, buffers)?;
        if received.references() != waiting.len() {
            drop_all(waiting, received);
            return Err(EIO);
        }
        Ok(received)
    }

    /// [`exchange`](Process::exchange) that may bring fewer references than there are slots.
    pub fn exchange_some(&mut self, target: Reference, message: &Message<'_>, buffers: Buffers<'_>) -> Result<Received, Errno> {
        self.exchange_any(true, target, message, buffers)
    }

    /// Calls a server that answers at once. No signal interrupts the call.
    pub fn exchange_some_at_once(&mut self, target: Reference, message: &Message<'_>, buffers: Buffers<'_>) -> Result<Received, Errno> {
        self.exchange_any(false, target, message, buffers)
    }

    fn exchange_any(&mut self, interruptible: bool, target: Reference, message: &Message<'_>, buffers: Buffers<'_>) -> Result<Received, Errno> {
        let waiting = buffers.slots;
        let result = match self.lock {
            Some(_) if interruptible => self.landed(buffers, |process, buffers| process.call_unlocked(target, message, &buffers, nacre_sys::FOREVER)),
            Some(_) => self.landed(buffers, |process, buffers| {
                process.set_answer(range(&buffers));
                let result = process.unlocked(|| ipc::call_in_place(target, message, buffers, nacre_sys::FOREVER));
                process.set_answer((0, 0));
                result
            }),
            None => self.landed(buffers, |_, buffers| ipc::call_in_place(target, message, buffers, nacre_sys::FOREVER)),
        };
        self.received(result, waiting)
    }

    /// Calls a server, and waits at most `timeout` nanoseconds (0: for ever) before it returns
    /// `ETIMEDOUT`.
    pub fn exchange_until(&mut self, timeout: u64, target: Reference, message: &Message<'_>, buffers: Buffers<'_>) -> Result<Received, Errno> {
        let waiting = buffers.slots;
        let result = match self.lock {
            Some(_) => self.landed(buffers, |process, buffers| process.call_unlocked(target, message, &buffers, timeout)),
            None => self.landed(buffers, |_, buffers| ipc::call_in_place(target, message, buffers, timeout)),
        };
        self.received(result, waiting)
    }

    /// Calls so that no byte of the answer is lost, though pages of the program go meanwhile: a
    /// pager puts them away, or another thread empties them or maps others. The answer is received
    /// in memory that stays. Of memory that another thread has unmapped nothing is written.
    fn landed(&mut self, buffers: Buffers<'_>, call: impl FnOnce(&mut Process, Buffers<'_>) -> Result<Received, Status>) -> Result<Received, Status> {
        let others_run = self.lock.is_some() && !self.threads.is_first_alone();
        if buffers.bytes.is_empty() || !(others_run || landing::is_needed()) {
            return call(self, buffers);
        }
        let process = core::cell::RefCell::new(self);
        let may_copy = |start: u64, size: u64| process.borrow_mut().memory.confirm_at(start, size, Rights::WRITE).is_ok();
        landing::call(buffers, |buffers| call(&mut process.borrow_mut(), buffers), may_copy)
    }

    /// Without the lock another thread may have had a piece of memory copied, of which the kernel
    /// found nothing just then: nobody has got the message, and it is sent again.
    fn call_unlocked(&mut self, target: Reference, message: &Message<'_>, buffers: &Buffers<'_>, timeout: u64) -> Result<Received, Status> {
        self.set_answer(range(buffers));
        let result = loop {
            let before = self.memory.pieces_replaced();
            let result = self.unlocked(|| call_in_window(target, message, buffers, timeout));
            let is_late = result.as_ref().is_err_and(|status| status.code() == Some(Code::BadAddress)) && self.memory.pieces_replaced() != before;
            if !is_late {
                break result;
            }
        };
        self.set_answer((0, 0));
        result
    }

    /// Notes where the kernel may write for the caller while it has not the lock: no fork leaves
    /// that to a child.
    fn set_answer(&mut self, answer: (u64, u64)) {
        if let Some(thread) = self.threads.get_mut(self.caller) {
            thread.answer = answer;
        }
    }

    fn received(&self, result: Result<Received, Status>, waiting: &[Reference]) -> Result<Received, Errno> {
        let received = result.map_err(|status| if status.code() == Some(Code::Interrupted) { EINTR } else { Errno::from(status) })?;
        let failed = ServerErrno::result(received.label());
        if failed.is_err() {
            drop_all(waiting, received);
        }
        failed?;
        Ok(received)
    }
}

impl Process {
    /// Asks servers through these references. Where there are several threads, the others go on
    /// meanwhile; the references are copied for that, because another thread may close what they
    /// belong to, and `ask` may name nothing of the program's memory.
    #[inline]
    pub fn while_asking<T, const N: usize>(&mut self, asked: [Reference; N], ask: impl FnOnce([Reference; N]) -> Result<T, Errno>) -> Result<T, Errno> {
        if self.threads.is_first_alone() { ask(asked) } else { self.ask_unlocked(asked, ask) }
    }

    #[inline(never)]
    fn ask_unlocked<T, const N: usize>(&mut self, asked: [Reference; N], ask: impl FnOnce([Reference; N]) -> Result<T, Errno>) -> Result<T, Errno> {
        let mut kept = [const { None }; N];
        for (place, reference) in kept.iter_mut().zip(asked) {
            *place = Some(OwnedReference::copy_of(reference, REFERENCE_USE).map_err(|_| ENOMEM)?);
        }
        let handles = kept.each_ref().map(|kept| kept.as_ref().map_or(Reference::NONE, OwnedReference::handle));
        self.unlocked(|| ask(handles))
    }

    /// Asks the server of a place about it, as [`Process::while_asking`] does.
    #[inline]
    pub fn ask_at<T>(&mut self, place: Place<'_>, ask: impl FnOnce(Reference, &[u8]) -> Result<T, Errno>) -> Result<T, Errno> {
        if self.threads.is_first_alone() {
            return ask(place.directory, place.path);
        }
        let path = place.path.to_vec();
        self.ask_unlocked([place.directory], |[directory]| ask(directory, &path))
    }
}

/// Returns the place of an answer's bytes: first address and end.
fn range(buffers: &Buffers<'_>) -> (u64, u64) {
    let start = buffers.bytes.address();
    (start, start + buffers.bytes.size() as u64)
}

/// References that came and are not wanted.
fn drop_all(slots: &[Reference], received: Received) {
    for slot in slots.iter().take(received.references()) {
        let _ = slot.destroy();
    }
}

/// A path and the directory that it starts at.
#[derive(Clone, Copy)]
pub struct Place<'a> {
    /// The directory.
    pub directory: Reference,
    /// The path; not empty.
    pub path: &'a [u8],
}
