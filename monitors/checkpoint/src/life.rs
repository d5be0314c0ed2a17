//! An environment that runs: what it is, how it starts and how it ends.

use crate::freeze::go_on;
use crate::outside::{Outside, PARENT, What};
use crate::waiting::ALL;
use alloc::string::String;
use alloc::vec::Vec;
use nacre_abi::fault;
use nacre_abi::rights::REFERENCE_USE;
use nacre_nest::host::Exception;
use nacre_nest::interpose::report_exception;
use nacre_nest::interpose::stage::name;
use nacre_nest::{Ports, SpawnError, search};
use nacre_proto::{Errno, Request};
use nacre_rt::Arguments;

/// An environment.
pub struct Life {
    /// Things outside that it knows.
    pub outside: Outside,
    /// The command that it runs.
    pub command: Vec<Vec<u8>>,
    /// The command for which it stands still.
    pub held: Option<Held>,
}

/// The command for which an environment stands still.
pub struct Held {
    /// Number of the command; 0 if it stands still since it was thawed.
    pub command: u64,
    /// The threads that ran before.
    running: Vec<u64>,
}

impl Life {
    /// Starts the command as the first program.
    pub fn start(&mut self, command: &[&[u8]], arguments: &Arguments) -> Result<(), SpawnError> {
        let failed = |errno: Errno| SpawnError::Service("a port", errno);
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

    /// Makes an environment in which nothing runs yet.
    pub fn new(outside: Outside, command: Vec<Vec<u8>>) -> Life {
        Life { outside, command, held: None }
    }

    /// Lets the environment, whose threads are stopped, stand still for a command. Nothing outside
    /// is read for it meanwhile: what an image says that it waits for has to be there when that
    /// goes on elsewhere.
    pub fn hold(&mut self, command: u64, running: Vec<u64>) {
        self.outside.is_held = true;
        self.held = Some(Held { command, running });
    }

    /// Lets the environment go on that stands still, if it does.
    pub fn release(&mut self) -> Result<(), String> {
        let Some(held) = self.held.take() else { return Ok(()) };
        self.outside.is_held = false;
        go_on(self, &held.running)?;
        self.outside.go_on(ALL);
        Ok(())
    }

    /// Ends with an exception of its first program.
    pub fn end_by(&mut self, request: &mut Request<'_>) {
        let exception = Exception::from_words(request.words());
        request.answer(fault::STOP, [0; 6]);
        let words: Vec<&[u8]> = self.command.iter().map(|word| &word[..]).collect();
        report_exception(&name(&words), &exception);
        self.outside.ended.get_or_insert(exception.exit_status());
    }

    /// Takes everything back that it had. Commands on their way through it are done.
    pub fn destroy(mut self) {
        if let Some(held) = self.held.take().filter(|held| held.command != 0) {
            self.outside.commands.end(held.command, Errno::ESRCH);
        }
        self.outside.commands.close();
        // Nothing runs any more before what it uses goes.
        self.outside.arena.reclaim();
    }
}
