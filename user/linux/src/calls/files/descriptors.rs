//! Descriptors themselves: duplicated, closed, asked, and pipes made.

use crate::abi::errno::{Answer, EAGAIN, EBADF, EINVAL, Errno};
use crate::abi::file_flags::{self, CHANGEABLE, O_ASYNC, O_CLOEXEC, O_DIRECT, O_NONBLOCK};
use crate::abi::registers::Frame;
use crate::calls::files::file_locks::{self, Doing, lock_part};
use crate::calls::memory::shared_memory::seals;
use crate::operations::files::file_signals::{self, F_GETOWN, F_GETOWN_EX, F_GETSIG, F_SETOWN, F_SETOWN_EX, F_SETSIG};
use crate::process::Process;
use crate::state::files::open_file::{self, OpenFile};
use crate::state::files::pipe::CAPACITY;
use alloc::rc::Rc;
use nacre_proto::{channel, file};

const F_DUPFD: u32 = 0;
const F_GETFD: u32 = 1;
const F_SETFD: u32 = 2;
const F_GETFL: u32 = 3;
const F_SETFL: u32 = 4;
const F_GETLK: u32 = 5;
const F_SETLK: u32 = 6;
const F_SETLKW: u32 = 7;
const F_OFD_GETLK: u32 = 36;
const F_OFD_SETLK: u32 = 37;
const F_OFD_SETLKW: u32 = 38;
const F_SETLEASE: u32 = 1024;
const F_GETLEASE: u32 = 1025;
const F_DUPFD_CLOEXEC: u32 = 1030;
const F_ADD_SEALS: u32 = 1033;
const F_GET_SEALS: u32 = 1034;
const F_SETPIPE_SZ: u32 = 1031;
const F_GETPIPE_SZ: u32 = 1032;
/// Linux adds this to the flags of every file that a 64-bit program opens.
const LARGE_FILE: u32 = 0o100000;

/// `close(descriptor)`.
pub fn close(process: &mut Process, frame: &mut Frame) -> Answer {
    let file = process.descriptors.close(frame.arguments()[0])?;
    file_locks::closed(process, &file);
    Ok(0)
}

/// `close_range(first, last, flags)`.
pub fn close_range(process: &mut Process, frame: &mut Frame) -> Answer {
    const CLOSE_ON_EXEC: u64 = 4;
    let [first, last, flags, ..] = frame.arguments();
    let (first, last) = (first & 0xffff_ffff, last & 0xffff_ffff);
    if first > last || flags & !(CLOSE_ON_EXEC | 2) != 0 {
        return Err(EINVAL);
    }
    let mut next = first;
    while let Some(descriptor) = process.descriptors.open_from(next).filter(|descriptor| *descriptor <= last) {
        next = descriptor + 1;
        if flags & CLOSE_ON_EXEC != 0 {
            process.descriptors.set_close_on_exec(descriptor, true)?;
        } else {
            let file = process.descriptors.close(descriptor)?;
            file_locks::closed(process, &file);
        }
    }
    Ok(0)
}

/// A second descriptor of an open file, from `lowest` on.
fn duplicate(process: &mut Process, descriptor: u64, lowest: u64, close_on_exec: bool) -> Answer {
    let file = process.descriptors.get(descriptor)?;
    let limit = process.limits.descriptors();
    let lowest = lowest & 0xffff_ffff;
    if lowest >= limit as u64 {
        return Err(EINVAL);
    }
    process.descriptors.insert(file, lowest as usize, close_on_exec, limit)
}

/// `dup(descriptor)`.
pub fn dup(process: &mut Process, frame: &mut Frame) -> Answer {
    duplicate(process, frame.arguments()[0], 0, false)
}

fn duplicate_to(process: &mut Process, old: u64, new: u64, close_on_exec: bool) -> Answer {
    let file = process.descriptors.get(old)?;
    let limit = process.limits.descriptors();
    let before = process.descriptors.get(new).ok();
    process.descriptors.replace(new, file, close_on_exec, limit)?;
    if let Some(before) = before {
        file_locks::closed(process, &before);
    }
    Ok(new & 0xffff_ffff)
}

/// `dup2(old, new)`.
pub fn dup2(process: &mut Process, frame: &mut Frame) -> Answer {
    let [old, new, ..] = frame.arguments();
    if old as u32 == new as u32 {
        process.descriptors.get(old)?;
        return Ok(new & 0xffff_ffff);
    }
    duplicate_to(process, old, new, false)
}

/// `dup3(old, new, flags)`.
pub fn dup3(process: &mut Process, frame: &mut Frame) -> Answer {
    let [old, new, flags, ..] = frame.arguments();
    if old as u32 == new as u32 || flags as u32 & !O_CLOEXEC != 0 {
        return Err(EINVAL);
    }
    duplicate_to(process, old, new, flags as u32 & O_CLOEXEC != 0)
}

/// `pipe(descriptors)`, without flags.
pub fn pipe(process: &mut Process, frame: &mut Frame) -> Answer {
    make_pipe(process, frame.arguments()[0], 0)
}

/// `pipe2(descriptors, flags)`.
pub fn pipe2(process: &mut Process, frame: &mut Frame) -> Answer {
    let [address, flags, ..] = frame.arguments();
    make_pipe(process, address, flags as u32)
}

fn make_pipe(process: &mut Process, address: u64, flags: u32) -> Answer {
    if flags & !(O_CLOEXEC | O_NONBLOCK | O_DIRECT) != 0 {
        return Err(EINVAL);
    }
    process.memory.writable(address, 8)?;
    let (reader, writer) = match process.services.pipe(u64::from(flags & (O_NONBLOCK | O_DIRECT)))? {
        Some(ends) => open_file::channel(ends, flags),
        None => open_file::pipe(flags),
    };
    let close_on_exec = flags & O_CLOEXEC != 0;
    let read = process.open(reader, close_on_exec)?;
    let write = process.open(writer, close_on_exec).inspect_err(|_| drop(process.descriptors.close(read)))?;
    process.memory.write_half(address, read as u32)?;
    process.memory.write_half(address + 4, write as u32)?;
    Ok(0)
}

/// Changes the flags of an open file that can be changed, here and at the server.
pub fn set_flags(file: &OpenFile, flags: u32) -> Result<(), Errno> {
    let changeable = CHANGEABLE | if file.is_channel() { O_DIRECT } else { 0 };
    let wanted = flags & changeable;
    if file.is_remote() {
        file::flags(file.reference()?, u64::from(wanted))?;
    }
    file.flags.set(file.flags.get() & !(changeable | O_ASYNC) | wanted | flags & O_ASYNC);
    Ok(())
}

/// `fcntl(descriptor, command, argument)`.
pub fn fcntl(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, command, argument, ..] = frame.arguments();
    let file = process.descriptors.get(descriptor)?;
    match command as u32 {
        F_DUPFD => duplicate(process, descriptor, argument, false),
        F_DUPFD_CLOEXEC => duplicate(process, descriptor, argument, true),
        F_GETFD => process.descriptors.close_on_exec(descriptor).map(u64::from),
        F_SETFD => process.descriptors.set_close_on_exec(descriptor, argument & 1 != 0).map(|()| 0),
        F_GETFL => Ok(u64::from(file.flags.get() | LARGE_FILE)),
        F_SETFL => {
            set_flags(&file, argument as u32)?;
            if argument as u32 & O_ASYNC != 0 { file_signals::tell_owner(process, &file) } else { Ok(0) }
        }
        F_GETLK => lock_part(process, &file, argument, Doing::Look, true),
        F_SETLK => lock_part(process, &file, argument, Doing::Try, true),
        F_SETLKW => lock_part(process, &file, argument, Doing::Wait, true),
        F_OFD_GETLK => lock_part(process, &file, argument, Doing::Look, false),
        F_OFD_SETLK => lock_part(process, &file, argument, Doing::Try, false),
        F_OFD_SETLKW => lock_part(process, &file, argument, Doing::Wait, false),
        F_ADD_SEALS if argument & 0xffff_ffff == 0 => seals(&file, 0).map(|_| 0),
        F_ADD_SEALS => seals(&file, argument),
        F_GET_SEALS => seals(&file, 0),
        F_SETOWN | F_GETOWN | F_SETSIG | F_GETSIG | F_SETOWN_EX | F_GETOWN_EX => file_signals::fcntl(process, &file, command as u32, argument),
        F_SETPIPE_SZ => pipe_size(&file, argument),
        F_GETPIPE_SZ => pipe_size(&file, 0),
        F_SETLEASE => set_lease(&file, argument),
        F_GETLEASE => Ok(UNLOCK),
        _ => Err(EINVAL),
    }
}

/// Kind of a lease that gives the lease up, and the last of all kinds.
const UNLOCK: u64 = 2;

/// Refuses a lease as Linux does of a file that others have open: there are none here. `EAGAIN`
/// also tells who gives up a lease that it has none.
fn set_lease(file: &OpenFile, kind: u64) -> Answer {
    if file.is_regular() && kind & 0xffff_ffff <= UNLOCK { Err(EAGAIN) } else { Err(EINVAL) }
}

/// Returns the capacity of a pipe, after setting it to `size` bytes if that is not 0.
fn pipe_size(file: &Rc<OpenFile>, size: u64) -> Answer {
    if file.pipe().is_some() {
        return Ok(CAPACITY as u64);
    }
    if file.mode.get() & file_flags::S_IFMT != file_flags::S_IFIFO {
        return Err(EBADF);
    }
    if size > i32::MAX as u64 {
        return Err(EINVAL);
    }
    Ok(channel::capacity(file.reference()?, size)?.size)
}
