//! Memory that processes share: files for it, seals on them, and waiting for each other at its
//! words. The server of the memory keeps the queues.

use crate::abi::errno::{Answer, EBUSY, EINVAL, ENAMETOOLONG, ENOMEM};
use crate::abi::file_flags::{O_RDWR, S_IFREG};
use crate::abi::registers::Frame;
use crate::process::Process;
use crate::state::files::open_file::{Kind, OpenFile};
use nacre_abi::PAGE_SIZE;
use nacre_proto::file;

/// `memfd_create(name, flags)`: a file without a name; what it is called is seen by people alone.
pub fn memfd_create(process: &mut Process, frame: &mut Frame) -> Answer {
    const CLOSE_ON_EXEC: u64 = 1;
    const ALLOW_SEALING: u64 = 2;
    const NO_EXECUTION: u64 = 8;
    const EXECUTION: u64 = 0x10;
    const LONGEST: u64 = 250;
    let [name, flags, ..] = frame.arguments();
    let flags = flags & 0xffff_ffff;
    if flags & !(CLOSE_ON_EXEC | ALLOW_SEALING | NO_EXECUTION | EXECUTION) != 0 || flags & NO_EXECUTION != 0 && flags & EXECUTION != 0 {
        return Err(EINVAL);
    }
    process.memory.string(name, LONGEST).map_err(|error| if error == ENAMETOOLONG { EINVAL } else { error })?;
    let reference = process.services.memory_file(flags & (ALLOW_SEALING | NO_EXECUTION) != 0)?;
    process.open(OpenFile::new(Kind::Remote(reference), S_IFREG | 0o777, O_RDWR), flags & CLOSE_ON_EXEC != 0)
}

/// `fcntl` with `F_ADD_SEALS` and (`add` 0) `F_GET_SEALS`.
pub fn seals(file: &OpenFile, add: u64) -> Answer {
    const KNOWN: u64 = 0x1f;
    if add & 0xffff_ffff & !KNOWN != 0 || !file.is_regular() {
        return Err(EINVAL);
    }
    let seals = file::seals(file.reference()?, add & KNOWN)?.seals;
    Ok(if add == 0 { seals } else { 0 })
}

/// `msync(address, size, flags)`: what was written is where others see it.
pub fn msync(process: &mut Process, frame: &mut Frame) -> Answer {
    const ASYNCHRONOUS: u64 = 1;
    const SYNCHRONOUS: u64 = 4;
    const INVALIDATE: u64 = 2;
    const KNOWN: u64 = 7;
    let [address, size, flags, ..] = frame.arguments();
    let flags = flags & 0xffff_ffff;
    if flags & !KNOWN != 0 || flags & ASYNCHRONOUS != 0 && flags & SYNCHRONOUS != 0 || address % PAGE_SIZE != 0 {
        return Err(EINVAL);
    }
    let end = size.checked_next_multiple_of(PAGE_SIZE).and_then(|size| address.checked_add(size)).ok_or(ENOMEM)?;
    if flags & INVALIDATE != 0 && process.memory.locked.touches(address, end) {
        return Err(EBUSY);
    }
    if !process.memory.map.is_covered(address, end) {
        return Err(ENOMEM);
    }
    if flags & SYNCHRONOUS != 0 {
        process.memory.sync(address, end)?;
    }
    Ok(0)
}
