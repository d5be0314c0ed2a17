//! A monitor's seat outside.

use crate::seats::{Bell, Command};
use alloc::vec;
use nacre_abi::message::MAX_BYTES;
use nacre_abi::rights::{REFERENCE_NOTIFY, REFERENCE_USE};
use nacre_proto::flags::SERVICE_CONTROL;
use nacre_proto::{Errno, control, file, parent};
use nacre_sys::{OwnedPort, OwnedReference, PortSet, Reference, ipc};

/// Bytes of a part of an answer, at most.
pub const PART: usize = 4096;

/// A seat, and the port that is told of commands.
pub struct Attendance {
    seat: OwnedReference,
    _port: OwnedPort,
}

impl Attendance {
    /// Attends at the parent's service: the set's port with this word is notified of commands.
    /// `None`: nobody gives commands.
    pub fn start(set: PortSet, word: u64) -> Option<Attendance> {
        let service = parent::find(Reference::PARENT, SERVICE_CONTROL).ok()?.found;
        let port = OwnedPort::new(word, set).ok()?;
        let told = port.new_reference(REFERENCE_USE | REFERENCE_NOTIFY).ok()?;
        let seat = control::attend(service.handle(), 1, told.handle()).ok()?.seat;
        Some(Attendance { seat, _port: port })
    }

    /// Takes the next command.
    pub fn take(&self) -> Option<Command> {
        let mut text = vec![0; MAX_BYTES as usize];
        let reply = control::next(self.seat.handle(), &mut text[..]).ok()?;
        text.truncate(reply.text as usize);
        Some(Command { number: reply.command, operation: reply.operation, flags: reply.flags, ticket: reply.ticket, text })
    }

    /// Sends lines as a part of an answer.
    pub fn answer(&self, number: u64, lines: &[u8]) -> Result<(), Errno> {
        for part in parts(lines) {
            control::answer(self.seat.handle(), number, part)?;
        }
        Ok(())
    }

    /// Sends bytes as a part of an answer, all of them or none. They are not more than [`PART`].
    pub fn answer_whole(&self, number: u64, bytes: &[u8]) -> Result<(), Errno> {
        control::answer(self.seat.handle(), number, bytes).map(|_| ())
    }

    /// A command is done.
    pub fn done(&self, number: u64, result: Errno) {
        // Who does not wait for it any more need not hear of it.
        let _ = control::done(self.seat.handle(), number, result.0.into());
    }
}

/// Somebody within, whose port is notified.
pub struct Told {
    /// The port.
    pub port: OwnedReference,
    /// The bits.
    pub bits: u64,
}

impl Bell for Told {
    fn ring(&self) {
        // One who has gone leaves his seat by that.
        let _ = ipc::notify(self.port.handle(), self.bits);
    }
}

/// Sends a file as a part of the answer to a command.
pub fn answer_file(command: &Command, file: Reference) -> Result<(), Errno> {
    let name = alloc::format!("answer={}", command.ticket);
    file::hand_out(file, name.as_bytes()).map(|_| ())
}

/// Lines in pieces of whole lines; one that is too long is cut.
fn parts(mut lines: &[u8]) -> impl Iterator<Item = &[u8]> {
    core::iter::from_fn(move || {
        let limit = lines.len().min(PART);
        let end = lines[..limit].iter().rposition(|byte| *byte == b'\n').map_or(limit, |last| last + 1);
        let (part, rest) = lines.split_at(end);
        lines = rest;
        (!part.is_empty()).then_some(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_whole_lines() {
        let lines = [&[b'x'; 3000][..], b"\n", &[b'y'; 3000], b"\n", &[b'z'; 5000]].concat();
        let sizes: alloc::vec::Vec<usize> = parts(&lines).map(<[u8]>::len).collect();
        assert_eq!(sizes, [3001, 3001, 4096, 904]);
    }
}
