//! Answers commands for a monitor that does nothing with them itself: it tells the monitor's line
//! of a list, and passes all other commands on to those who attend within.

use crate::attendance::{Attendance, Told};
use crate::follower::Follower;
use crate::record::{Facts, within_seat};
use crate::seats::{Command, Seats};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use nacre_abi::message::NO_REFERENCES;
use nacre_abi::rights::{REFERENCE_NOTIFY, REFERENCE_USE};
use nacre_abi::{Code, fault};
use nacre_proto::control::{self, Server, answer, attend, done, next};
use nacre_proto::flags::COMMAND_LIST;
use nacre_proto::server::Output;
use nacre_proto::{Errno, Event, HandlerResult, Request, ServerEndpoint};
use nacre_sys::{OwnedPort, OwnedPortSet, OwnedReference, Reference, Status};

/// Word of the port at which we are told of commands.
const COMMANDED: u64 = u64::MAX;
/// Word of the service's port.
const SERVICE: u64 = u64::MAX - 1;
/// Word of the port at which a follower tells that it has news. All smaller words are seats.
const NEWS: u64 = u64::MAX - 2;
/// Nanoseconds after which news are told again that nobody could take.
const AGAIN: u64 = 5_000_000;
/// Maximum number of bytes of a request: a part of an answer.
const CAPACITY: usize = crate::attendance::PART;
/// Result of what was done as asked.
const DONE: Errno = Errno(0);

/// A monitor's seat outside, and the seats within it.
pub struct Attendant {
    outside: Attendance,
    seats: Seats<Told>,
    service: OwnedPort,
    /// Ports of the seats within, by their numbers.
    ports: BTreeMap<u64, OwnedPort>,
    set: OwnedPortSet,
    facts: fn() -> Facts,
    follower: Option<(&'static dyn Follower, OwnedPort)>,
    /// News that nobody could take yet.
    kept: Option<(u64, Vec<u8>)>,
}

impl Attendant {
    /// Attends outside for a monitor that tells these facts, and may follow some commands. `None`:
    /// nobody gives commands, or there is no memory to hear them.
    pub fn start(facts: fn() -> Facts, follower: Option<&'static dyn Follower>) -> Option<Attendant> {
        let set = OwnedPortSet::new().ok()?;
        let outside = Attendance::start(set.handle(), COMMANDED)?;
        let service = OwnedPort::new(SERVICE, set.handle()).ok()?;
        let follower = match follower {
            Some(follower) => Some((follower, OwnedPort::new(NEWS, set.handle()).ok()?)),
            None => None,
        };
        Some(Attendant { outside, seats: Seats::default(), service, ports: BTreeMap::new(), set, facts, follower, kept: None })
    }

    /// The service for those within.
    pub fn service(&self) -> Result<OwnedReference, Status> {
        self.service.new_reference(REFERENCE_USE)
    }

    /// Serves until that is impossible.
    pub fn serve(mut self) -> Status {
        let Ok(mut endpoint) = ServerEndpoint::new(CAPACITY) else { return Status::new(Code::NoMemory) };
        // What came before there was anybody to hear it.
        self.take_commands();
        loop {
            let timeout = if self.kept.is_some() { AGAIN } else { nacre_sys::FOREVER };
            match endpoint.next(self.set.handle().address(), timeout) {
                Ok(event) => self.handle(event),
                Err(status) if status.code() == Some(Code::TimedOut) => {}
                Err(status) => return status,
            }
            self.tell_news();
        }
    }

    fn handle(&mut self, event: Event<'_>) {
        match event {
            Event::Notification { word: COMMANDED, .. } => self.take_commands(),
            Event::Notification { word, bits } if bits & NO_REFERENCES != 0 => self.leave(word),
            Event::Notification { .. } => {}
            Event::Request(mut request) if request.protocol() == control::NUMBER => control::dispatch(self, &mut request),
            Event::Request(mut request) => request.refuse(Errno::ENOSYS),
            Event::Exception(mut request) | Event::Fault(mut request) => request.answer(fault::REFUSE, [0; 6]),
        }
    }

    fn take_commands(&mut self) {
        while let Some(command) = self.outside.take() {
            let number = command.number;
            if let Some(result) = self.obey(command) {
                self.outside.done(number, result);
            }
        }
    }

    /// Tells what the monitor has to tell to those who follow. They may have no room for it yet.
    fn tell_news(&mut self) {
        let Some((follower, _)) = &self.follower else { return };
        while let Some((number, text)) = self.kept.take().or_else(|| follower.take()) {
            match self.outside.answer_whole(number, &text) {
                Ok(()) => {}
                Err(Errno::EAGAIN) => {
                    self.kept = Some((number, text));
                    return;
                }
                Err(_) => follower.end(number),
            }
        }
    }

    /// Gives a command to the monitor, if it follows such commands.
    fn follow(&self, command: &Command) -> Option<Result<(), Errno>> {
        let (follower, port) = self.follower.as_ref()?;
        // One who has gone makes room for the next.
        if let Some(number) = follower.current().filter(|number| self.outside.answer_whole(*number, b"") == Err(Errno::ESRCH)) {
            follower.end(number);
        }
        match port.new_reference(REFERENCE_USE | REFERENCE_NOTIFY) {
            Ok(news) => follower.begin(command, news),
            Err(_) => None,
        }
    }

    /// Tells our part of a list, and asks those within. The result, if there is nobody.
    fn obey(&mut self, command: Command) -> Option<Errno> {
        if let Some(begun) = self.follow(&command) {
            return begun.err();
        }
        let is_list = command.operation == COMMAND_LIST;
        if is_list && let Err(errno) = self.outside.answer(command.number, &(self.facts)().line()) {
            return Some(errno);
        }
        self.seats.post(command).map(|result| told(is_list, result))
    }

    /// A seat is left: nobody can call it any more.
    fn leave(&mut self, seat: u64) {
        if self.ports.remove(&seat).is_some() {
            for (number, result) in self.seats.leave(seat) {
                self.outside.done(number, result);
            }
        }
    }

    /// Lowest number that no seat has.
    fn free_seat(&self) -> u64 {
        (0..).zip(self.ports.keys()).find(|(number, taken)| number != *taken).map_or(self.ports.len() as u64, |(number, _)| number)
    }
}

/// Result of a command that those within have ended: a list is never one that nobody knows.
fn told(is_list: bool, result: Errno) -> Errno {
    if is_list && result == Errno::ENOSYS { DONE } else { result }
}

/// The seat that a request came to.
fn seat(request: &Request<'_>) -> Result<u64, Errno> {
    if request.word() < NEWS { Ok(request.word()) } else { Err(Errno::ENOSYS) }
}

impl Server for Attendant {
    fn attend(&mut self, request: &mut Request<'_>, bits: u64, _: Reference) -> HandlerResult<attend::Output> {
        if request.word() != SERVICE {
            return Err(Errno::ENOSYS);
        }
        let (seat, told) = (self.free_seat(), request.keep(0)?);
        let port = OwnedPort::new(seat, self.set.handle())?;
        let reference = port.new_reference(REFERENCE_USE)?;
        self.seats.sit(seat, Told { port: told, bits })?;
        self.ports.insert(seat, port);
        attend::Output { seat: reference.into() }.now()
    }

    fn next(&mut self, request: &mut Request<'_>) -> HandlerResult<next::Output> {
        let command = self.seats.next(seat(request)?).ok_or(Errno::EAGAIN)?;
        let output = next::Output { command: command.number, operation: command.operation, flags: command.flags, ticket: command.ticket };
        request.put(&command.text);
        output.now()
    }

    fn answer(&mut self, request: &mut Request<'_>, command: u64, text: &[u8]) -> HandlerResult<answer::Output> {
        let seat = seat(request)?;
        match self.seats.taken(seat, command)? {
            COMMAND_LIST => self.outside.answer(command, &within_seat(seat, text))?,
            _ => self.outside.answer_whole(command, text)?,
        }
        answer::Output::default().now()
    }

    fn done(&mut self, request: &mut Request<'_>, command: u64, errno: u64) -> HandlerResult<done::Output> {
        let (seat, result) = (seat(request)?, Errno(u32::try_from(errno).map_err(|_| Errno::EINVAL)?));
        let is_list = self.seats.taken(seat, command)? == COMMAND_LIST;
        if let Some(result) = self.seats.done(seat, command, result)? {
            self.outside.done(command, told(is_list, result));
        }
        done::Output::default().now()
    }
}
