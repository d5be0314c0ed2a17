//! Locks of files that other processes meet: of parts (`fcntl`) for the process or for an open
//! file, and of the whole (`flock`). The file's server keeps them.

use crate::abi::errno::{Answer, EINTR, EINVAL, ENOLCK, ENOSYS, EOVERFLOW, ERESTART, Errno};
use crate::abi::registers::Frame;
use crate::operations::files::queue_events;
use crate::operations::paths::file_status;
use crate::operations::user_faults;
use crate::process::Process;
use crate::state::files::open_file::OpenFile;
use alloc::rc::Rc;
use nacre_proto::{file, sender};
use nacre_proto::flags::{LOCK_NONE, LOCK_READ, LOCK_TEST, LOCK_WAIT, LOCK_WHOLE, LOCK_WRITE, SEEK_CUR};
use nacre_sys::{OwnedReference, Reference};
use nacre_sys::ipc::{Buffers, Message};

/// All bytes that a file could have.
const ALL: u64 = u64::MAX;

/// Command of `fcntl` for a lock.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// `F_GETLK`.
    Look,
    /// `F_SETLK`.
    Try,
    /// `F_SETLKW`.
    Wait,
}

/// A `struct flock`.
#[derive(Clone, Copy)]
struct Range {
    kind: u64,
    whence: u64,
    start: u64,
    size: u64,
    pid: u64,
}

impl Range {
    fn read(process: &Process, address: u64) -> Result<Range, Errno> {
        let [kinds, start, size, pid] = process.memory.read_words(address)?;
        Ok(Range { kind: kinds & 0xffff, whence: kinds >> 16 & 0xffff, start, size, pid: pid & 0xffff_ffff })
    }

    fn write(&self, process: &mut Process, address: u64) -> Result<(), Errno> {
        let kinds = (self.kind | self.whence << 16) as u32;
        process.memory.write_half(address, kinds)?;
        process.memory.write_words(address + 8, &[self.start, self.size])?;
        process.memory.write_half(address + 24, self.pid as u32)
    }

    /// First and last byte, counted from `base`.
    fn bytes(&self, base: u64) -> Result<(u64, u64), Errno> {
        let start = (base as i64).checked_add(self.start as i64).ok_or(EOVERFLOW)?;
        let size = self.size as i64;
        let (first, behind) = match size {
            0 => (start, i64::MAX),
            size if size > 0 => (start, start.checked_add(size - 1).ok_or(EOVERFLOW)?),
            size => (start.checked_add(size).ok_or(EINVAL)?, start - 1),
        };
        if first < 0 || behind < 0 {
            return Err(EINVAL);
        }
        Ok((first as u64, if behind == i64::MAX { ALL } else { behind as u64 }))
    }
}

/// Returns the origin of a range.
fn base(process: &mut Process, file: &OpenFile, whence: u64) -> Result<u64, Errno> {
    match whence {
        0 => Ok(0),
        1 => Ok(file::seek(file.reference()?, 0, SEEK_CUR)?.position),
        2 => Ok(file_status::of_file(process, file)?.size),
        _ => Err(EINVAL),
    }
}

/// Returns the reference that stands for the process where it locks files.
fn lock_owner(process: &mut Process, target: Reference) -> Result<Reference, Errno> {
    if process.lock_owner.is_none() {
        let pid = process.pid();
        process.lock_owner = Some(file::lock_owner(target, pid)?.owner);
    }
    process.lock_owner.as_ref().map(OwnedReference::handle).ok_or(ENOLCK)
}

/// A descriptor of the file was closed: as POSIX has it, all the process's locks of it go, whatever
/// descriptor they were taken through.
pub fn closed(process: &mut Process, file: &Rc<OpenFile>) {
    user_faults::closed(process, file);
    if file.is_mailbox() {
        queue_events::leave_mailbox(process, file);
    }
    if !file.is_regular() {
        return;
    }
    if let (Some(owner), Ok(target)) = (process.lock_owner.as_ref().map(OwnedReference::handle), file.reference()) {
        // What has gone has no locks.
        let _ = file::lock_owned(target, LOCK_NONE, 0, 0, ALL, owner);
    }
}

/// Asks the file's server; the words of its answer.
fn ask_for_lock(process: &mut Process, file: &OpenFile, words: [u64; 4], for_process: bool) -> Result<[u64; 4], Errno> {
    let target = match file.reference() {
        Ok(target) => target,
        // What is inside the process, nobody else locks.
        Err(_) => return Ok([LOCK_NONE, 0, 0, 0]),
    };
    let [kind, flags, start, end] = words;
    let owner = if for_process { [lock_owner(process, target)?] } else { [Reference::NONE] };
    let label = if for_process { file::lock_owned::LABEL } else { file::lock::LABEL };
    let references = if for_process { &owner[..] } else { &[] };
    let message = Message { references, ..Message::new(label, sender::words([kind, flags, start, end])) };
    match process.exchange_if(flags & LOCK_WAIT != 0, target, &message, Buffers::NONE) {
        Err(EINTR) => Err(ERESTART),
        Err(ENOSYS) => Ok([LOCK_NONE, 0, 0, 0]),
        received => received.map(|received| [received.words[0], received.words[1], received.words[2], received.words[3]]),
    }
}

/// `fcntl` with a lock at `address`, for the process or for the open file.
pub fn lock_part(process: &mut Process, file: &OpenFile, address: u64, doing: Doing, for_process: bool) -> Answer {
    let range = Range::read(process, address)?;
    if !for_process && range.pid != 0 || range.kind > LOCK_NONE || range.whence > 2 || doing == Doing::Look && range.kind == LOCK_NONE {
        return Err(EINVAL);
    }
    let base = base(process, file, range.whence)?;
    let (start, end) = range.bytes(base)?;
    let flags = match doing {
        Doing::Look => LOCK_TEST,
        Doing::Try => 0,
        Doing::Wait => LOCK_WAIT,
    };
    let [kind, start, end, pid] = ask_for_lock(process, file, [range.kind, flags, start, end], for_process)?;
    if doing == Doing::Look {
        let found = match kind {
            LOCK_READ | LOCK_WRITE => Range { kind, whence: 0, start, size: if end == ALL { 0 } else { end - start + 1 }, pid },
            _ => Range { kind: LOCK_NONE, ..range },
        };
        found.write(process, address)?;
    }
    Ok(0)
}

/// `flock(descriptor, operation)`.
pub fn flock(process: &mut Process, frame: &mut Frame) -> Answer {
    const SHARED: u64 = 1;
    const EXCLUSIVE: u64 = 2;
    const NONBLOCKING: u64 = 4;
    const UNLOCK: u64 = 8;
    /// Mandatory locks are no more; Linux takes the request and does nothing.
    const MANDATORY: u64 = 32;
    let [descriptor, operation, ..] = frame.arguments();
    if operation & MANDATORY != 0 {
        return Ok(0);
    }
    let kind = match operation & 0xffff_ffff & !NONBLOCKING {
        SHARED => LOCK_READ,
        EXCLUSIVE => LOCK_WRITE,
        UNLOCK => LOCK_NONE,
        _ => return Err(EINVAL),
    };
    let file = process.descriptors.get(descriptor)?;
    let wait = if operation & NONBLOCKING == 0 { LOCK_WAIT } else { 0 };
    ask_for_lock(process, &file, [kind, LOCK_WHOLE | wait, 0, ALL], false)?;
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(start: i64, size: i64) -> Range {
        Range { kind: 0, whence: 0, start: start as u64, size: size as u64, pid: 0 }
    }

    #[test]
    fn ranges_are_as_posix_counts_them() {
        assert_eq!(range(10, 5).bytes(0), Ok((10, 14)));
        assert_eq!(range(10, 0).bytes(5), Ok((15, ALL)));
        assert_eq!(range(10, -4).bytes(0), Ok((6, 9)));
        assert_eq!(range(-5, 1).bytes(0), Err(EINVAL));
        assert_eq!(range(2, -3).bytes(0), Err(EINVAL));
        assert_eq!(range(i64::MAX, 2).bytes(0), Err(EOVERFLOW));
        assert_eq!(range(0, i64::MIN).bytes(0), Err(EINVAL));
    }
}
