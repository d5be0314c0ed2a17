//! Whoever attends can answer commands, but none that it was not given. The seats that it had are
//! free when it has left them.

use crate::tools::{find, why};
use crate::outcome::{Outcome, Verdict};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use nacre_abi::rights::{REFERENCE_NOTIFY, REFERENCE_USE};
use nacre_proto::flags::{COMMAND_LIST, SERVICE_CONTROL, SERVICE_FILES};
use nacre_proto::{Errno, control, directory, file};
use nacre_sys::ipc::{self, Buffers};
use nacre_sys::{FOREVER, OwnedPort, OwnedReference, PortSet, Reference, Thread};

/// More seats than there are.
const SEATS: usize = 200;
/// Times that a seat is asked for, and nanoseconds between two of them.
const TRIES: usize = 10_000;
const PAUSE: u64 = 1_000_000;
/// Text of an answer: lines of other places, fields without end, and controls of a terminal.
const TEXT: &[u8] = b"0\tmonitor\tforged\t\t1\t1\n../..\t\t\t\t\t\t\t\n\x1b[2J\x07\x1b]nacre;exit=0\x07\n9999999999999999999999\tstarted\t-\n\xff\xfe\n";

fn sit(service: Reference, port: &OwnedPort) -> Result<OwnedReference, Errno> {
    let told = port.new_reference(REFERENCE_USE | REFERENCE_NOTIFY)?;
    // All bits, those of the kernel among them.
    control::attend(service, u64::MAX, told.handle()).map(|reply| reply.seat)
}

/// Answers commands that nobody gave.
fn answer_none(seat: Reference) -> Result<(), String> {
    for command in (0..64).chain([u64::MAX, 1 << 62]) {
        for (what, answered) in [("answered", control::answer(seat, command, TEXT).map(drop)), ("done", control::done(seat, command, 0).map(drop)), ("failed", control::done(seat, command, u64::MAX).map(drop))] {
            if answered.is_ok() {
                return Err(format!("command {command}, which nobody gave, was {what}"));
            }
        }
    }
    Ok(())
}

/// Lies in the answer to a command: in lines, by the file of another, and about its end.
fn lie(seat: Reference, command: &control::next::Reply, files: Reference) {
    for part in [TEXT, &[b'\t'; 4096], b"", b"no newline"] {
        let _ = control::answer(seat, command.command, part);
    }
    if let Ok(made) = directory::memory(files, 0) {
        let _ = file::write(made.file.handle(), 0, TEXT);
        let name = format!("answer={}", command.ticket);
        let _ = file::hand_out(made.file.handle(), name.as_bytes());
        let _ = file::hand_out(made.file.handle(), b"answer=1");
    }
    let errno = if command.operation == COMMAND_LIST { 0 } else { 0xffff_ffff };
    for errno in [u64::MAX, errno, 0] {
        let _ = control::done(seat, command.command, errno);
    }
    let _ = control::answer(seat, command.command, TEXT);
}

fn serve(service: Reference) -> Result<Verdict, String> {
    let files = find(SERVICE_FILES).map_err(why("files"))?;
    let port = OwnedPort::new(1, PortSet::NONE).map_err(why("a port"))?;
    let told = port.new_reference(REFERENCE_USE | REFERENCE_NOTIFY).map_err(why("a reference"))?;
    let seat = control::attend(service, 1, told.handle()).map_err(why("a seat"))?.seat;
    let mut text = alloc::vec![0; 4096];
    loop {
        while let Ok(command) = control::next(seat.handle(), &mut text[..]) {
            lie(seat.handle(), &command, files.handle());
        }
        ipc::receive(port.address(), Buffers::NONE, FOREVER).map_err(why("a command"))?;
    }
}

/// Takes all seats and answers what was never asked. With `serve`, takes one and lies to all
/// commands, for ever.
pub fn attack(argument: &[u8]) -> Outcome {
    let Ok(service) = find(SERVICE_CONTROL) else { return Ok(Verdict::Absent("commands")) };
    if argument == b"serve" {
        return serve(service.handle());
    }
    let port = OwnedPort::new(1, PortSet::NONE).map_err(why("a port"))?;
    let seats: Vec<OwnedReference> = (0..SEATS).map_while(|_| sit(service.handle(), &port).ok()).collect();
    if seats.is_empty() {
        return Err("there is no seat".into());
    }
    seats.iter().try_for_each(|seat| answer_none(seat.handle()))?;
    drop(seats);
    // On several processors the server may hear of that a moment later.
    let again = (0..TRIES).any(|_| sit(service.handle(), &port).is_ok() || Thread::sleep(PAUSE).is_err());
    if again { Ok(Verdict::Refused) } else { Err("there is no seat, though all have been left".into()) }
}
