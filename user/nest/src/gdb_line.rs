//! The line to a gdb outside: the device `/dev/gdb` of the machine.

use crate::services::Services;
use alloc::vec;
use nacre_proto::flags::{O_RDWR, OWN_POSITION};
use nacre_proto::{Errno, directory, file};
use nacre_sys::{OwnedReference, Reference};

/// Path of the device.
const PATH: &[u8] = b"/dev/gdb";
/// Bytes that are read at a time.
const PART: usize = 4096;
/// Byte that says that somebody listens. To gdb it means nothing.
const HELLO: &[u8] = b"+";

/// Opens the line. `ENOENT`: the machine has none. `EBUSY`: somebody has it.
pub fn open(services: &Services) -> Result<OwnedReference, Errno> {
    let opened = directory::open(services.files(), O_RDWR, 0, PATH)?;
    file::write(opened.file.handle(), OWN_POSITION, HELLO)?;
    Ok(opened.file)
}

/// Says why there is no debugging, for a person.
pub fn refusal(errno: Errno) -> alloc::string::String {
    match errno {
        Errno::ENOENT => "this machine has no line for gdb: give nacre run the option --gdb PORT".into(),
        Errno::EBUSY => "another debugger has the line to gdb".into(),
        errno => alloc::format!("cannot use the line to gdb: {errno}"),
    }
}

/// Reads the line until it ends, and hands on what comes.
pub fn read(line: Reference, mut feed: impl FnMut(&[u8])) {
    let mut bytes = vec![0; PART];
    while let Ok(reply) = file::read(line, OWN_POSITION, PART as u64, &mut bytes[..]) {
        let count = (reply.data as usize).min(PART);
        feed(&bytes[..count]);
    }
}
