//! Commands of whoever runs the system: we freeze, and pass everything else on to those who attend
//! in the environment. Their seats are frozen with it.

use crate::outside::{Outside, Parts, What};
use alloc::vec::Vec;
use nacre_control::attendance::Told;
use nacre_control::{Attendance, Command, Record, Seats, record};
use nacre_proto::flags::COMMAND_LIST;
use nacre_proto::{Errno, Request, control};
use nacre_sys::{OwnedReference, PortSet, Reference};

/// Word of the port at which we are told of commands. It is no entry.
pub const COMMANDED: u64 = crate::outside::WAKE - 1;
/// Place of the environment in our part of a list.
const PLACE: &str = "0";
/// Result of what was done as asked.
const DONE: Errno = Errno(0);

/// Our seat, if anybody gives commands, and those within.
#[derive(Default)]
pub struct Commands {
    outside: Option<Attendance>,
    seats: Seats<Told>,
}

impl Commands {
    /// Attends outside.
    pub fn start(&mut self, set: PortSet) {
        self.outside = Attendance::start(set, COMMANDED);
    }

    /// Takes the next command.
    pub fn take(&self) -> Option<Command> {
        self.outside.as_ref()?.take()
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
        if let Some(outside) = &self.outside {
            outside.done(number, result);
        }
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
    pub fn send_list(&mut self, command: Command) {
        let memory = Some(self.arena.size());
        let line = Record { path: PLACE, kind: "monitor", name: b"checkpoint", memory, ..Record::default() }.line();
        let number = command.number;
        let sent = self.commands.outside.as_ref().map_or(Err(Errno::ESRCH), |outside| outside.answer(number, &line));
        match sent {
            Err(errno) => self.commands.end(number, errno),
            Ok(()) => match self.commands.seats.post(command) {
                Some(_) => self.commands.end(number, DONE),
                None => {}
            },
        }
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
                let lines = if operation == COMMAND_LIST { record::within(PLACE, request.bytes()) } else { request.bytes().to_vec() };
                commands.outside.as_ref().ok_or(Errno::ESRCH)?.answer(number, &lines)?;
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
