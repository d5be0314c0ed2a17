//! `splice`, `tee` and `vmsplice`: bytes that go into pipes and out of them without the program's
//! memory between. What a pipe gives is looked at first, and taken when it has arrived.

use crate::abi::errno::{Answer, EAGAIN, EBADF, EINVAL, ERESTART, ERESTART_UNHANDLED, ESPIPE, Errno};
use crate::abi::file_flags::O_APPEND;
use crate::abi::poll_events::{POLLIN, POLLOUT};
use crate::abi::registers::Frame;
use crate::calls::files::copy_file::{advance, start, store};
use crate::calls::files::read_write;
use crate::operations::files::file_signals::{self, written};
use crate::operations::files::readiness::{self, FOR_EVER};
use crate::operations::paths::file_status;
use crate::process::Process;
use crate::services::OWN_POSITION;
use crate::services::find::PIECE;
use crate::state::files::open_file::OpenFile;
use alloc::rc::Rc;
use nacre_proto::channel;
use nacre_proto::flags::{MSG_BARE, MSG_DONTWAIT, MSG_PEEK};
use nacre_rt::fallible;

/// Do not wait for pipes.
const NONBLOCK: u64 = 2;
/// All flags there are.
const KNOWN: u64 = 0xf;
/// Bytes that are moved at once.
const STEP: usize = PIECE - 4096;
/// Maximum number of bytes of a call.
const MOST: u64 = 0x7fff_f000;

/// Returns true for a pipe that other processes can have too. Pipes inside the process do not let
/// `tee` look into them.
fn is_pipe(file: &OpenFile) -> bool {
    read_write::is_pipe(file) && file.is_channel()
}

fn check_flags(flags: u64) -> Result<bool, Errno> {
    if flags & 0xffff_ffff & !KNOWN == 0 { Ok(flags & NONBLOCK != 0) } else { Err(EINVAL) }
}

/// Returns true if two ends belong to one pipe.
fn is_same(process: &mut Process, one: &OpenFile, other: &OpenFile) -> Result<bool, Errno> {
    let (one, other) = (file_status::of_file(process, one)?, file_status::of_file(process, other)?);
    Ok((one.device, one.inode) == (other.device, other.inode))
}

/// Waits until a pipe has an event; `EAGAIN` if nothing is to be waited for.
fn wait(process: &mut Process, pipe: &Rc<OpenFile>, event: u64, dont_wait: bool) -> Result<(), Errno> {
    if readiness::ready(process, pipe, event) != 0 {
        return Ok(());
    }
    if dont_wait {
        return Err(EAGAIN);
    }
    let waited = readiness::wait_for_one(process, pipe, event, FOR_EVER);
    waited.map(drop).map_err(|error| if error == ERESTART_UNHANDLED { ERESTART } else { error })
}

/// The first bytes of a pipe, which stay there; none at its end.
fn look(pipe: &OpenFile, into: &mut [u8]) -> Result<usize, Errno> {
    let (target, most) = (pipe.reference()?, into.len());
    Ok((channel::receive(target, MSG_PEEK | MSG_DONTWAIT | MSG_BARE, most as u64, 0, 0, into)?.count as usize).min(most))
}

/// Takes bytes that have been looked at.
fn take(pipe: &OpenFile, size: usize) -> Result<(), Errno> {
    let mut buffer = fallible::zeros(size)?;
    channel::receive(pipe.reference()?, MSG_DONTWAIT | MSG_BARE, size as u64, 0, 0, &mut buffer[..])?;
    Ok(())
}

/// Puts bytes into a pipe, as many as there is room for.
fn put(pipe: &OpenFile, bytes: &[u8]) -> Result<usize, Errno> {
    let outgoing = channel::Outgoing { flags: MSG_DONTWAIT, ..channel::Outgoing::default() };
    Ok((channel::send_with(pipe.reference()?, outgoing, bytes, &[])? as usize).min(bytes.len()))
}

/// Calls `step` with what is left until it moves nothing more, or fails after something was moved.
fn repeat(size: u64, mut step: impl FnMut(u64, usize) -> Result<usize, Errno>) -> Answer {
    let mut done = 0;
    while done < size {
        match step(done, STEP.min((size - done) as usize)) {
            Ok(0) => break,
            Ok(count) => done += count as u64,
            Err(error) if done == 0 => return Err(error),
            Err(_) => break,
        }
    }
    Ok(done)
}

/// Moves bytes out of a pipe, to another or to a file.
fn out_of_pipe(process: &mut Process, from: &Rc<OpenFile>, to: &Rc<OpenFile>, offset: u64, (size, dont_wait): (u64, bool)) -> Answer {
    let mut buffer = fallible::zeros(STEP.min(size as usize))?;
    repeat(size, |done, most| {
        wait(process, from, POLLIN, dont_wait || from.is_nonblocking() || done != 0)?;
        let count = look(from, &mut buffer[..most])?;
        let bytes = &buffer[..count];
        let moved = match () {
            () if count == 0 => return Ok(0),
            () if is_pipe(to) => {
                wait(process, to, POLLOUT, dont_wait || to.is_nonblocking() || done != 0)?;
                put(to, bytes)?
            }
            () => process.write(to, advance(offset, done), bytes)?,
        };
        take(from, moved)?;
        Ok(moved)
    })
}

/// Moves bytes of a file into a pipe. What the pipe does not take stays in the file, if that has a
/// position; else it is waited for.
fn into_pipe(process: &mut Process, from: &OpenFile, to: &Rc<OpenFile>, offset: u64, (size, dont_wait): (u64, bool)) -> Answer {
    let mut buffer = fallible::zeros(STEP.min(size as usize))?;
    let has_position = from.is_regular();
    repeat(size, |done, most| {
        wait(process, to, POLLOUT, dont_wait || to.is_nonblocking() || done != 0)?;
        if done != 0 && !has_position {
            return Ok(0);
        }
        let count = process.read(from, advance(offset, done), &mut buffer[..most])?;
        if !has_position {
            return process.write(to, OWN_POSITION, &buffer[..count]);
        }
        let result = if count == 0 { Ok(0) } else { put(to, &buffer[..count]) };
        let moved = result.unwrap_or(0);
        if moved < count && offset == OWN_POSITION {
            file_signals::step_back(from, (count - moved) as u64);
        }
        result
    })
}

/// `splice(from, offset, to, offset, size, flags)`.
pub fn splice(process: &mut Process, frame: &mut Frame) -> Answer {
    let [from, from_at, to, to_at, size, flags] = frame.arguments();
    if size == 0 {
        return Ok(0);
    }
    let dont_wait = check_flags(flags)?;
    let (from, to) = (process.descriptors.get(from)?, process.descriptors.get(to)?);
    let (from_is_pipe, to_is_pipe) = (is_pipe(&from), is_pipe(&to));
    if from_is_pipe && from_at != 0 || to_is_pipe && to_at != 0 {
        return Err(ESPIPE);
    }
    let (from_offset, to_offset) = (start(&process.memory, from_at)?, start(&process.memory, to_at)?);
    if !from.can_read() || !to.can_write() {
        return Err(EBADF);
    }
    let how = (size.min(MOST), dont_wait);
    let answer = match (from_is_pipe, to_is_pipe) {
        (false, false) => return Err(EINVAL),
        (true, true) if is_same(process, &from, &to)? => return Err(EINVAL),
        (true, false) if to.flags.get() & O_APPEND != 0 => return Err(EINVAL),
        (true, _) => out_of_pipe(process, &from, &to, to_offset, how),
        (false, true) => into_pipe(process, &from, &to, from_offset, how),
    };
    if let Ok(done) = answer {
        store(&mut process.memory, from_at, from_offset, done)?;
        store(&mut process.memory, to_at, to_offset, done)?;
    }
    written(process, &to, answer)
}

/// `tee(from, to, size, flags)`: the bytes stay in the first pipe.
pub fn tee(process: &mut Process, frame: &mut Frame) -> Answer {
    let [from, to, size, flags, ..] = frame.arguments();
    let dont_wait = check_flags(flags)?;
    if size == 0 {
        return Ok(0);
    }
    let (from, to) = (process.descriptors.get(from)?, process.descriptors.get(to)?);
    if !from.can_read() || !to.can_write() {
        return Err(EBADF);
    }
    if !is_pipe(&from) || !is_pipe(&to) || is_same(process, &from, &to)? {
        return Err(EINVAL);
    }
    wait(process, &from, POLLIN, dont_wait || from.is_nonblocking())?;
    let answer = wait(process, &to, POLLOUT, dont_wait || to.is_nonblocking()).and_then(|()| {
        let mut buffer = fallible::zeros(STEP.min(size as usize))?;
        let target = from.reference()?;
        repeat(size, |done, most| {
            let reply = channel::receive(target, MSG_PEEK | MSG_DONTWAIT | MSG_BARE, most as u64, 0, done, &mut buffer[..most])?;
            let count = (reply.count as usize).min(most);
            if count == 0 { Ok(0) } else { put(&to, &buffer[..count]) }
        })
    });
    written(process, &to, answer)
}

/// Copies pieces of the program's memory into a pipe until it is full.
fn give_pages(process: &mut Process, pipe: &Rc<OpenFile>, pieces: &[(u64, u64)], dont_wait: bool) -> Answer {
    let mut total = 0;
    for (address, size) in pieces.iter().filter(|(_, size)| *size != 0) {
        let answer = repeat((*size).min(MOST), |done, most| {
            // Only the first byte is waited for.
            wait(process, pipe, POLLOUT, dont_wait || pipe.is_nonblocking() || total + done != 0)?;
            let bytes = process.memory.readable(address + done, most as u64)?;
            put(pipe, bytes)
        });
        match answer {
            Err(error) if total == 0 => return Err(error),
            answer => total += answer.unwrap_or(0),
        }
        if answer != Ok(*size) {
            break;
        }
    }
    Ok(total)
}

/// `vmsplice(pipe, pieces, count, flags)`: the bytes are copied.
pub fn vmsplice(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, pieces, count, flags, ..] = frame.arguments();
    let dont_wait = check_flags(flags)?;
    let file = process.descriptors.get(descriptor)?;
    if !is_pipe(&file) {
        return Err(EBADF);
    }
    if file.can_write() {
        let pieces = read_write::vectors(process, pieces, count)?;
        let answer = give_pages(process, &file, &pieces, dont_wait);
        return written(process, &file, answer);
    }
    if dont_wait {
        wait(process, &file, POLLIN, true)?;
    }
    frame.set_arguments([descriptor, pieces, count, 0, 0, 0]);
    read_write::readv(process, frame)
}
