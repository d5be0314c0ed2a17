//! The life of an environment: it is served until it ends, and frozen on the way.

use crate::commands::COMMANDED;
use crate::outside::{Outside, PARENT, What};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use nacre_abi::message::MAX_BYTES;
use nacre_abi::rights::REFERENCE_USE;
use nacre_abi::{Code, fault};
use nacre_nest::host::Exception;
use nacre_nest::interpose::report_exception;
use nacre_nest::interpose::stage::name;
use nacre_nest::{Ports, search};
use nacre_proto::{Errno, Event, ServerEndpoint};
use nacre_rt::Arguments;
use nacre_sys::{OwnedPortSet, Status};

/// An environment and who serves it.
pub struct Life {
    /// Things outside that it knows.
    pub outside: Outside,
    /// Set if commands may wait to be taken.
    pub is_commanded: bool,
    /// The command that it runs.
    pub command: Vec<Vec<u8>>,
    endpoint: ServerEndpoint,
    set: OwnedPortSet,
}

impl Life {
    /// Serves what is in `outside`.
    pub fn new(set: OwnedPortSet, mut outside: Outside, command: Vec<Vec<u8>>) -> Result<Life, Errno> {
        outside.commands.start(set.handle());
        Ok(Life { outside, is_commanded: false, command, endpoint: ServerEndpoint::new(MAX_BYTES as usize)?, set })
    }

    /// Starts the command as the first program.
    pub fn start(&mut self, command: &[&[u8]], arguments: &Arguments) -> Result<(), nacre_nest::SpawnError> {
        let failed = |errno: Errno| nacre_nest::SpawnError::Service("a port", errno);
        self.outside.add(What::Parent).map_err(failed)?.leak();
        let Some(entry) = self.outside.entry(PARENT as u64) else { return Err(failed(Errno::EIO)) };
        let keeper = entry.port.handle().as_keeper();
        let parent = entry.port.new_reference(REFERENCE_USE).map_err(|status| failed(status.into()))?;
        let child = search::spawn(&mut self.outside, command, 0, arguments, Ports { parent: parent.handle(), keeper })?;
        let started = child.start();
        // Its objects are the environment's: they stay until all of it goes.
        core::mem::forget(child);
        started
    }

    /// Serves until that time on the machine's clock, a command, or the end. Without a time, until
    /// a command or the end.
    pub fn serve_until(&mut self, end: Option<u64>) -> Result<(), String> {
        while self.outside.ended.is_none() && !self.is_commanded {
            let left = end.map(|end| end.saturating_sub(nacre_sys::clock::ticks()));
            if left == Some(0) {
                return Ok(());
            }
            let patience = self.outside.waiters.patience();
            let wait = left.into_iter().chain(patience).min().unwrap_or(nacre_sys::FOREVER);
            if !self.serve(wait)? {
                self.outside.go_on();
            }
        }
        Ok(())
    }

    /// Serves all that are here now: until nobody has sent anything.
    pub fn serve_all(&mut self) -> Result<(), String> {
        while self.serve(1)? {}
        Ok(())
    }

    /// Serves one event, if there is one within so many nanoseconds.
    fn serve(&mut self, nanoseconds: u64) -> Result<bool, String> {
        let event = match self.endpoint.next(self.set.handle().address(), nanoseconds) {
            Ok(event) => event,
            Err(status) if status.code() == Some(Code::TimedOut) => return Ok(false),
            Err(status) => return Err(cannot_receive(status)),
        };
        match event {
            Event::Request(mut request) => self.outside.handle(&mut request),
            Event::Notification { word: COMMANDED, .. } => self.is_commanded = true,
            Event::Notification { word, bits } => self.outside.notified(word, bits),
            // Only the parent's port was made a keeper.
            Event::Exception(mut request) if request.word() != PARENT as u64 => request.answer(fault::REFUSE, [0; 6]),
            Event::Exception(mut request) => {
                let exception = Exception::from_words(request.words());
                request.answer(fault::STOP, [0; 6]);
                let words: Vec<&[u8]> = self.command.iter().map(|word| &word[..]).collect();
                report_exception(&name(&words), &exception);
                self.outside.ended.get_or_insert(exception.exit_status());
            }
            Event::Fault(mut request) => request.answer(fault::REFUSE, [0; 6]),
        }
        Ok(true)
    }
}

fn cannot_receive(status: Status) -> String {
    format!("cannot receive: {status:?}")
}
