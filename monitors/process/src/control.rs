//! Commands of whoever runs the system: we answer for our processes, and pass on what is meant for
//! a monitor that is one of them. Each process has at most one seat, which is its port for that.

use crate::manager::Manager;
use crate::world::{FIRST, Sent};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;
use nacre_abi::rights::REFERENCE_USE;
use nacre_control::attendance::Told;
use nacre_control::{Attendance, Command, Record, Seats, record};
use nacre_proto::control::{Server, answer, attend, done, next};
use nacre_proto::flags::{COMMAND_KILL, COMMAND_LIST};
use nacre_proto::server::Output;
use nacre_proto::{Errno, HandlerResult, Request, memory};
use nacre_sys::{OwnedPort, OwnedReference, PortSet, Reference};

/// Bit of the word of a process's port for commands.
pub const CONTROL: u64 = 1 << 62;
/// Word of the port at which we are told of commands.
pub const COMMANDED: u64 = CONTROL | (CONTROL - 1);
/// Place of all processes in our part of a list.
const PLACE: &str = "0";
/// Result of what was done as asked.
const DONE: Errno = Errno(0);

/// Our seat, if anybody gives commands, and those of our processes.
#[derive(Default)]
pub struct Commands {
    outside: Option<Attendance>,
    seats: Seats<Told>,
    ports: BTreeMap<u64, OwnedPort>,
}

impl Commands {
    /// Attends outside.
    pub fn start(set: PortSet) -> Commands {
        Commands { outside: Attendance::start(set, COMMANDED), ..Commands::default() }
    }

    fn outside(&self) -> Result<&Attendance, Errno> {
        self.outside.as_ref().ok_or(Errno::ENOENT)
    }

    /// The service for a process. `ENOENT`: nobody gives commands.
    pub fn service(&mut self, pid: u64, set: PortSet) -> Result<OwnedReference, Errno> {
        self.outside()?;
        if !self.ports.contains_key(&pid) {
            self.ports.insert(pid, OwnedPort::new(CONTROL | pid, set)?);
        }
        let port = self.ports.get(&pid).ok_or(Errno::EIO)?;
        Ok(port.new_reference(REFERENCE_USE)?)
    }

    /// The process has ended.
    pub fn forget(&mut self, pid: u64) {
        self.leave(pid);
        self.ports.remove(&pid);
    }

    /// The process has left its seat. Its port stays: it may just have asked for it again.
    pub fn leave(&mut self, pid: u64) {
        for (number, result) in self.seats.leave(pid) {
            self.end(number, result);
        }
    }

    /// A command has been passed to all within.
    fn end(&self, number: u64, result: Errno) {
        if let Some(outside) = &self.outside {
            outside.done(number, result);
        }
    }
}

impl Manager {
    /// Takes all commands that have come.
    pub(crate) fn commanded(&mut self) {
        while let Some(command) = self.commands.outside.as_ref().and_then(Attendance::take) {
            let number = command.number;
            let done = match command.operation {
                COMMAND_LIST => self.send_list(number).err(),
                COMMAND_KILL => Some(self.kill_first(&command)),
                _ => None,
            };
            let over = done.or_else(|| {
                let is_list = command.operation == COMMAND_LIST;
                let result = self.commands.seats.post(command)?;
                Some(if is_list { DONE } else { result })
            });
            if let Some(result) = over {
                self.commands.end(number, result);
            }
        }
    }

    /// Our part of the list: we, and each process.
    fn send_list(&self, number: u64) -> Result<(), Errno> {
        let used = memory::status(self.pool.handle()).ok().map(|status| status.used);
        let own = Record { path: PLACE, kind: "monitor", name: b"process", memory: used, ..Record::default() };
        let mut lines = own.line();
        for (pid, body) in &self.bodies {
            let Ok(process) = self.world.process(*pid) else { continue };
            let (path, state) = (format!("{PLACE}/{pid}"), [process.letter()]);
            let running = body.life.thread().and_then(|thread| thread.time().ok()).unwrap_or(0);
            let name = shown(&process.command).unwrap_or(process.name.clone());
            let state = core::str::from_utf8(&state).unwrap_or("?");
            lines.extend(Record { path: &path, kind: "process", name: &name, state, memory: None, time: Some(body.used.saturating_add(running)) }.line());
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
        let lines = if is_list { record::within(&format!("{PLACE}/{pid}"), text) } else { text.to_vec() };
        self.commands.outside()?.answer(command, &lines)?;
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
