//! Commands of whoever runs the system: we answer for our processes, and pass on what is meant for
//! a monitor that is one of them. Each process has at most one seat, which is its port for that.

use crate::commands::{COMMANDED, CONTROL, DONE};
use crate::manager::Manager;
use crate::world::{FIRST, Sent};
use alloc::format;
use nacre_control::attendance::Told;
use nacre_control::record::PLACE;
use nacre_control::{Attendance, Command, record};
use nacre_proto::control::{Server, answer, attend, done, next};
use nacre_proto::flags::{COMMAND_COPY, COMMAND_EXEC, COMMAND_KILL, COMMAND_LIST, COMMAND_TAKEN, COMMAND_TRACE};
use nacre_proto::server::Output;
use nacre_proto::{Errno, HandlerResult, Request};
use nacre_sys::Reference;

impl Manager {
    /// Takes all commands that have come.
    pub(crate) fn commanded(&mut self) {
        while let Some(command) = self.commands.outside.as_ref().and_then(Attendance::take) {
            let number = command.number;
            let over = match command.operation {
                // Whoever has made copies knows which one is meant.
                _ if command.flags & COMMAND_COPY != 0 => self.commands.seats.post(command),
                COMMAND_LIST => {
                    self.list_later(command);
                    None
                }
                COMMAND_KILL => Some(self.kill_first(&command)),
                COMMAND_EXEC..=COMMAND_TAKEN => match self.exec_command(&command) {
                    Some(Errno::ENOSYS) => self.commands.seats.post(command),
                    done => done,
                },
                COMMAND_TRACE => self.trace(command),
                _ => self.commands.seats.post(command),
            };
            if let Some(result) = over {
                self.commands.end(number, result);
            }
        }
    }

    /// Sends the signal whose number the command names to the first process.
    fn kill_first(&mut self, command: &Command) -> Errno {
        let signal = core::str::from_utf8(&command.text).ok().and_then(|text| text.parse().ok());
        let Some(signal) = signal.filter(|signal| (1..=64).contains(signal)) else { return Errno::EINVAL };
        let sent = Sent { target: FIRST as i64, thread: 0, number: signal, code: 0, value: 0 };
        self.world.kill(FIRST, &sent).err().unwrap_or(DONE)
    }
}

/// The process that a request comes from.
fn asker(request: &Request<'_>) -> Result<u64, Errno> {
    let word = request.word();
    if word & CONTROL != 0 && word != COMMANDED { Ok(word & !CONTROL) } else { Err(Errno::ENOSYS) }
}

impl Server for Manager {
    fn attend(&mut self, request: &mut Request<'_>, bits: u64, _: Reference) -> HandlerResult<attend::Output> {
        let pid = asker(request)?;
        let port = request.keep(0)?;
        for (number, result) in self.commands.seats.sit(pid, Told { port, bits })? {
            self.is_over(number, result);
        }
        self.tracer_attends(pid);
        attend::Output { seat: self.commands.service(pid, self.set())?.into() }.now()
    }

    fn next(&mut self, request: &mut Request<'_>) -> HandlerResult<next::Output> {
        let command = self.commands.seats.next(asker(request)?).ok_or(Errno::EAGAIN)?;
        let output = next::Output { command: command.number, operation: command.operation, flags: command.flags, ticket: command.ticket };
        request.put(&command.text);
        output.now()
    }

    fn answer(&mut self, request: &mut Request<'_>, command: u64, text: &[u8]) -> HandlerResult<answer::Output> {
        let pid = asker(request)?;
        let is_list = self.commands.seats.taken(pid, command)? == COMMAND_LIST;
        let outside = self.commands.outside()?;
        match is_list {
            true => outside.answer(command, &record::within(&format!("{PLACE}/{pid}"), text))?,
            false => outside.answer_whole(command, text)?,
        }
        answer::Output::default().now()
    }

    fn done(&mut self, request: &mut Request<'_>, command: u64, errno: u64) -> HandlerResult<done::Output> {
        let (pid, result) = (asker(request)?, Errno(u32::try_from(errno).map_err(|_| Errno::EINVAL)?));
        let is_list = self.commands.seats.taken(pid, command)? == COMMAND_LIST;
        if let Some(result) = self.commands.seats.done(pid, command, result)? {
            // We have told our part.
            self.is_over(command, if is_list && result == Errno::ENOSYS { DONE } else { result });
        }
        done::Output::default().now()
    }
}
