//! A guard took each stream for a terminal or a file. With a directory as standard input its child
//! had the whole file system. With a pipe it had the memory of the pipe's server. On a terminal it
//! typed keys for the shell outside.

use crate::outcome::{Outcome, Verdict};
use alloc::format;
use alloc::string::String;
use nacre_proto::{channel, directory, file, parent, terminal};
use nacre_sys::{OwnedPort, PortSet, Reference};

/// Ways of a pipe whose memory is asked for.
const WAYS: [u64; 2] = [0, 1];

fn refuses(number: u64, stream: Reference) -> Result<(), String> {
    let own = OwnedPort::new(1, PortSet::NONE).map_err(|status| format!("a port: {status:?}"))?;
    let port = own.new_reference(nacre_abi::rights::REFERENCE_NOTIFY).map_err(|status| format!("a reference: {status:?}"))?;
    let through = [
        ("a directory", directory::status_at(stream, 0, b"/", &mut [0; 256][..]).is_ok()),
        ("a directory's entries", directory::list(stream, 0, 1024, &mut [0; 1024][..]).is_ok()),
        ("a directory that opens", directory::open(stream, 0, 0, b"/").is_ok()),
        ("a mode that can be set", file::set_mode(stream, 0o777).is_ok()),
        ("keys that can be typed", terminal::type_byte(stream, u64::from(b'\n')).is_ok()),
        ("keys of others", terminal::attend(stream, 0, port.handle()).is_ok()),
        ("a pipe's memory", WAYS.iter().any(|way| channel::share(stream, *way).is_ok())),
        ("a socket's place in the queue", channel::listen(stream, 1, 0, 0, 0).is_ok()),
    ];
    match through.iter().find(|(_, is_through)| *is_through) {
        Some((what, _)) => Err(format!("stream {number} is {what}")),
        None => Ok(()),
    }
}

/// Asks each stream for more than a stream is. Each call must be refused below a guard that allows
/// `console`.
pub fn attack(_: &[u8]) -> Outcome {
    for number in 0..3 {
        if let Ok(reply) = parent::stream(Reference::PARENT, number) {
            refuses(number, reply.file.handle())?;
        }
    }
    Ok(Verdict::Refused)
}
