//! The line to gdb: the device `/dev/gdb` of the machine.

use crate::debugger;
use alloc::vec;
use nacre_nest::Services;
use nacre_proto::flags::{O_RDWR, OWN_POSITION};
use nacre_proto::{Errno, directory, file};
use nacre_sys::{OwnedReference, Reference};

/// Path of the device.
const PATH: &[u8] = b"/dev/gdb";
/// Bytes that are read at a time.
const PART: usize = 4096;
/// Byte that says that somebody listens. To gdb it means nothing.
const HELLO: &[u8] = b"+";

/// The open line.
pub struct Line(pub OwnedReference);

/// Opens the line. `ENOENT`: the machine has none.
pub fn open(services: &Services) -> Result<Line, Errno> {
    let opened = directory::open(services.files(), O_RDWR, 0, PATH)?;
    file::write(opened.file.handle(), OWN_POSITION, HELLO)?;
    Ok(Line(opened.file))
}

/// Reads the line for as long as this program runs; `line` is the address of a reference to it.
pub fn read(line: usize) {
    let mut bytes = vec![0; PART];
    while let Ok(reply) = file::read(Reference(line as u64), OWN_POSITION, PART as u64, &mut bytes[..]) {
        let count = (reply.data as usize).min(PART);
        debugger::with(|state| state.feed(&bytes[..count]));
    }
}
