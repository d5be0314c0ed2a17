//! Commands of whoever runs the system: we answer for our processes, and pass on what is meant for
//! a monitor that is one of them. Each process has at most one seat, which is its port for that.

use crate::commands::{COMMANDED, CONTROL, DONE};
use crate::manager::Manager;
use crate::world::{FIRST, Sent};
use alloc::format;
use alloc::vec::Vec;
use nacre_control::attendance::Told;
use nacre_control::record::figures;
use nacre_control::{Attendance, Command, Record, record};
use nacre_nest::attending;
use nacre_proto::control::{Server, answer, attend, done, next};
use nacre_proto::flags::{COMMAND_EXEC, COMMAND_KILL, COMMAND_LIST, COMMAND_TAKEN};
use nacre_proto::server::Output;
use nacre_proto::{Errno, HandlerResult, Request, memory};
use nacre_sys::Reference;

/// Place of all processes in our part of a list.
const PLACE: &str = "0";

impl Manager {
    /// Takes all commands that have come.
    pub(crate) fn commanded(&mut self) {
        while let Some(command) = self.commands.outside.as_ref().and_then(Attendance::take) {
            let number = command.number;
            let over = match command.operation {
                COMMAND_LIST => match self.send_list(number) {
                    Ok(()) => self.commands.seats.post(command).map(|_| DONE),
                    Err(errno) => Some(errno),
                },
                COMMAND_KILL => Some(self.kill_first(&command)),
                COMMAND_EXEC..=COMMAND_TAKEN => match self.exec_command(&command) {
                    Some(Errno::ENOSYS) => self.commands.seats.post(command),
                    done => done,
                },
                _ => self.commands.seats.post(command),
            };
            if let Some(result) = over {
                self.commands.end(number, result);
            }
        }
    }

    /// Our part of the list: we, and each process.
    fn send_list(&self, number: u64) -> Result<(), Errno> {
        let used = memory::status(self.pool.handle()).ok().map(|status| status.used);
        let own = Record { path: PLACE, kind: "monitor", name: b"process", memory: used, time: attending::time(), figures: &figures([("processes", self.bodies.len() as u64)]), ..Record::default() };
        let mut lines = own.line();
        for (pid, body) in &self.bodies {
            let Ok(process) = self.world.process(*pid) else { continue };
            let (path, state) = (format!("{PLACE}/{pid}"), [process.letter()]);
            let running = body.life.thread().and_then(|thread| thread.time().ok()).unwrap_or(0);
            let name = shown(&process.command).unwrap_or(process.name.clone());
            let state = core::str::from_utf8(&state).unwrap_or("?");
            lines.extend(Record { path: &path, kind: "process", name: &name, state, memory: None, time: Some(body.used.saturating_add(running)), figures: &[] }.line());
        }
        self.commands.outside()?.answer(number, &lines)
    }

    /// Sends the signal whose number the command names to the first process.
    fn kill_first(&mut self, command: &Command) -> Errno {
        let signal = core::str::from_utf8(&command.text).ok().and_then(|text| text.parse().ok());
        let Some(signal) = signal.filter(|signal| (1..=64).contains(signal)) else { return Errno::EINVAL };
        let sent = Sent { target: FIRST as i64, thread: 0, number: signal, code: 0, value: 0 };
        self.world.kill(FIRST, &sent).err().unwrap_or(DONE)
    }
}

/// The words of a command with spaces between them, cut to what people read.
fn shown(command: &[u8]) -> Option<Vec<u8>> {
    let words: Vec<&[u8]> = command.split(|byte| *byte == 0).filter(|word| !word.is_empty()).collect();
    let mut line = words.join(&b' ');
    line.truncate(200);
    (!line.is_empty()).then_some(line)
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
            self.commands.end(number, result);
        }
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
            self.commands.end(command, if is_list && result == Errno::ENOSYS { DONE } else { result });
        }
        done::Output::default().now()
    }
}
