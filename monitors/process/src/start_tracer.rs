//! The tracer that we start ourselves, when somebody wants to see messages and no monitor within
//! shows them. It alone may reach into our processes, and stays until the world ends.

use crate::manager::Manager;
use crate::start;
use nacre_abi::rights::REFERENCE_ALL;
use nacre_control::Command;
use nacre_proto::flags::COMMAND_WITHIN;
use nacre_proto::process::reach;
use nacre_proto::server::Output;
use nacre_proto::{Errno, HandlerResult, Request};
use nacre_sys::OwnedReference;

/// Command that starts the tracer.
const TRACER: [&[u8]; 2] = [b"trace", b"--attach"];

impl Manager {
    /// Asks those within to show messages. The result, if it is over.
    pub(crate) fn trace(&mut self, command: Command) -> Option<Errno> {
        if command.flags & COMMAND_WITHIN != 0 {
            return self.commands.seats.post(command);
        }
        let asked = Command { flags: command.flags | COMMAND_WITHIN, ..command };
        match self.commands.seats.post(asked.clone()) {
            Some(Errno::ENOSYS) => self.tracer_start(asked).err(),
            None => {
                self.tracing.asked = Some(asked);
                None
            }
            over => over,
        }
    }

    /// Ends a command that those within have ended. If none of them shows messages, our tracer
    /// does.
    pub(crate) fn is_over(&mut self, number: u64, result: Errno) {
        let asked = self.tracing.asked.take_if(|asked| asked.number == number);
        let over = match asked.filter(|_| result == Errno::ENOSYS) {
            Some(command) => self.tracer_start(command).err(),
            None => Some(result),
        };
        if let Some(result) = over {
            self.commands.end(number, result);
        }
    }

    /// A process has left its seat.
    pub(crate) fn leaves_seat(&mut self, pid: u64) {
        for (number, result) in self.commands.seats.leave(pid) {
            self.is_over(number, result);
        }
    }

    /// Starts the tracer, which gets the command when it attends. `EBUSY`: it is being started for
    /// somebody else, or does not answer.
    fn tracer_start(&mut self, command: Command) -> Result<(), Errno> {
        if self.tracing.pid != 0 {
            return Err(Errno::EBUSY);
        }
        let pid = self.world.create_from_outside()?;
        // Kept until the process has one: without any, it would count as lost.
        let begun = self.add_body(pid, 0).and_then(|_port| start::begin(self, pid, &TRACER).map_err(|_| Errno::ENOEXEC));
        if let Err(errno) = begun {
            self.world.lost(pid);
            self.world.forget_from_outside(pid);
            return Err(errno);
        }
        (self.tracing.pid, self.tracing.waiting) = (pid, Some(command));
        Ok(())
    }

    /// A process attends: if it is the tracer, it gets the command that waits.
    pub(crate) fn tracer_attends(&mut self, pid: u64) {
        let waiting = if pid == self.tracing.pid { self.tracing.waiting.take() } else { None };
        if let Some(command) = waiting {
            let number = command.number;
            if let Some(result) = self.commands.seats.post(command) {
                self.commands.end(number, result);
            }
        }
    }

    /// Notices that the tracer has ended.
    pub(crate) fn tracing_goes_on(&mut self) {
        let pid = self.tracing.pid;
        if pid == 0 || self.world.status_from_outside(pid).is_none() {
            return;
        }
        self.world.forget_from_outside(pid);
        self.tracing.pid = 0;
        if let Some(command) = self.tracing.waiting.take() {
            self.commands.end(command.number, Errno::EIO);
        }
    }

    /// Answers [`reach`].
    pub(crate) fn reach_process(&self, request: &Request<'_>, pid: u64) -> HandlerResult<reach::Output> {
        if request.word() != self.tracing.pid || pid == self.tracing.pid {
            return Err(Errno::EPERM);
        }
        let life = &self.bodies.get(&pid).ok_or(Errno::ESRCH)?.life;
        let (space, thread) = life.space().zip(life.thread()).ok_or(Errno::ESRCH)?;
        let space = OwnedReference::made_by(|slot| space.reference(slot, REFERENCE_ALL))?;
        let thread = OwnedReference::made_by(|slot| thread.reference(slot, REFERENCE_ALL))?;
        reach::Output { space: space.into(), thread: thread.into() }.now()
    }
}
