//! Commands of whoever runs the system: we freeze and fork, and pass everything else on to those
//! who attend in the environment that is meant. Their seats are frozen with it.

use crate::outside::{Outside, Parts, What};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::rc::Rc;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::RefCell;
use nacre_control::attendance::Told;
use nacre_control::record::{self, HELD};
use nacre_control::{Attendance, Command, Record, Seats};
use nacre_nest::attending;
use nacre_proto::flags::COMMAND_LIST;
use nacre_proto::{Errno, Request, control};
use nacre_sys::{OwnedReference, PortSet, Reference};

/// Word of the port at which we are told of commands. It is no entry of any environment.
pub const COMMANDED: u64 = crate::outside::WAKE - 1;
/// Result of what was done as asked.
const DONE: Errno = Errno(0);

/// Our seat outside, if anybody gives commands.
pub struct Desk {
    attendance: Option<Attendance>,
    /// Commands that several environments carry out: how many have not done so yet.
    shared: RefCell<BTreeMap<u64, usize>>,
}

impl Desk {
    /// Attends outside.
    pub fn start(set: PortSet) -> Desk {
        Desk { attendance: Attendance::start(set, COMMANDED), shared: RefCell::default() }
    }

    /// Takes the next command.
    pub fn take(&self) -> Option<Command> {
        self.attendance.as_ref()?.take()
    }

    /// A command is done when so many have done it.
    pub fn share(&self, number: u64, count: usize) {
        self.shared.borrow_mut().insert(number, count);
    }

    /// Somebody has done a command.
    pub fn end(&self, number: u64, result: Errno) {
        let mut shared = self.shared.borrow_mut();
        if let Some(left) = shared.get_mut(&number) {
            *left -= 1;
            if *left > 0 {
                return;
            }
            shared.remove(&number);
        }
        if let Some(outside) = &self.attendance {
            outside.done(number, result);
        }
    }

    /// Sends lines as a part of an answer.
    pub fn answer(&self, number: u64, lines: &[u8]) -> Result<(), Errno> {
        self.attendance.as_ref().ok_or(Errno::ESRCH)?.answer(number, lines)
    }

    /// Sends bytes as a part of an answer, all or none.
    pub fn answer_whole(&self, number: u64, bytes: &[u8]) -> Result<(), Errno> {
        self.attendance.as_ref().ok_or(Errno::ESRCH)?.answer_whole(number, bytes)
    }
}

/// Seats within an environment.
pub struct Commands {
    desk: Rc<Desk>,
    seats: Seats<Told>,
}

impl Commands {
    /// Makes an environment without seats, whose commands come from this desk.
    pub fn new(desk: Rc<Desk>) -> Commands {
        Commands { desk, seats: Seats::default() }
    }

    /// Passes a command on to those within.
    pub fn pass(&mut self, command: Command) {
        let number = command.number;
        if let Some(result) = self.seats.post(command) {
            self.end(number, result);
        }
    }

    /// A command is done.
    pub fn end(&self, number: u64, result: Errno) {
        self.desk.end(number, result);
    }

    /// Everybody has left.
    pub fn close(&mut self) {
        let all: Vec<u64> = self.seats.bells().map(|(seat, _)| seat).collect();
        all.into_iter().for_each(|seat| self.leave(seat));
    }

    /// The port that a seat tells of commands, and the bits.
    pub fn told(&self, seat: u64) -> Option<(Reference, u64)> {
        self.seats.bells().find(|(number, _)| *number == seat).map(|(_, told)| (told.port.handle(), told.bits))
    }

    /// Takes a seat.
    pub fn sit(&mut self, seat: u64, port: OwnedReference, bits: u64) -> Result<(), Errno> {
        for (number, result) in self.seats.sit(seat, Told { port, bits })? {
            self.end(number, result);
        }
        Ok(())
    }

    /// Leaves a seat.
    pub fn leave(&mut self, seat: u64) {
        for (number, result) in self.seats.leave(seat) {
            self.end(number, result);
        }
    }
}

impl Outside {
    /// Lists the environment, and asks those within for the rest.
    pub fn send_list(&mut self, command: Command, figures: &[(String, u64)]) {
        let memory = Some(self.arena.present());
        let (path, number) = (self.path(), command.number);
        let kind = if self.place == 0 { "monitor" } else { "copy" };
        let state = if self.is_held { HELD } else { "" };
        let line = Record { path: &path, kind, name: b"checkpoint", state, memory, time: if self.place == 0 { attending::time() } else { None }, figures, waits: &[] }.line();
        match self.commands.desk.answer(number, &line) {
            Err(errno) => self.commands.end(number, errno),
            // Nobody within can answer now.
            Ok(()) if self.is_held => self.commands.end(number, DONE),
            Ok(()) => match self.commands.seats.post(command) {
                Some(_) => self.commands.end(number, DONE),
                None => {}
            },
        }
    }

    /// Place of the environment in our part of a list.
    fn path(&self) -> String {
        if self.place == 0 { String::from("0") } else { format!("0.{}", self.place) }
    }

    /// Answers a request at the service.
    pub fn service_of_commands(&mut self, request: &mut Request<'_>) -> Result<Parts, Errno> {
        if request.label() != control::attend::LABEL {
            return Err(Errno::ENOSYS);
        }
        let [bits, ..] = request.words();
        let port = request.keep(0)?;
        let (word, seat) = self.add_numbered(What::Seat)?;
        self.commands.sit(word, port, bits)?;
        Ok(([0; 6], Vec::from([seat])))
    }

    /// Answers a request at a seat.
    pub fn seat(&mut self, request: &mut Request<'_>, seat: u64) -> Result<Parts, Errno> {
        let none = Ok(([0; 6], Vec::new()));
        let path = self.path();
        let [number, result, ..] = request.words();
        let commands = &mut self.commands;
        if request.label() == control::next::LABEL {
            let command = commands.seats.next(seat).ok_or(Errno::EAGAIN)?;
            let words = [command.number, command.operation, command.flags, command.ticket, 0, 0];
            request.put(&command.text);
            return Ok((words, Vec::new()));
        }
        let operation = commands.seats.taken(seat, number)?;
        match request.label() {
            control::answer::LABEL => {
                match operation {
                    COMMAND_LIST => commands.desk.answer(number, &record::within(&path, request.bytes()))?,
                    _ => commands.desk.answer_whole(number, request.bytes())?,
                }
                none
            }
            control::done::LABEL => {
                let result = Errno(u32::try_from(result).map_err(|_| Errno::EINVAL)?);
                if let Some(result) = commands.seats.done(seat, number, result)? {
                    commands.end(number, if operation == COMMAND_LIST && result == Errno::ENOSYS { DONE } else { result });
                }
                none
            }
            _ => Err(Errno::ENOSYS),
        }
    }
}
