//! Copying from one open file to another without the program's memory between.

use crate::abi::errno::{Answer, EBADF, EINVAL, EISDIR, ESPIPE, Errno};
use crate::abi::file_flags::{O_APPEND, S_IFMT};
use crate::abi::registers::Frame;
use crate::calls::files::read_write;
use crate::operations::files::file_signals;
use crate::process::Process;
use crate::services::OWN_POSITION;
use crate::services::find::PIECE;
use crate::state::files::open_file::OpenFile;
use crate::state::files::socket_kind::Socket;
use crate::state::memory::Memory;
use alloc::rc::Rc;
use nacre_rt::fallible;

/// A position that a call names by its address: the file's own if there is none.
pub fn start(memory: &Memory, address: u64) -> Result<u64, Errno> {
    if address == 0 {
        return Ok(OWN_POSITION);
    }
    let [offset] = memory.read_words(address)?;
    if (offset as i64) < 0 { Err(EINVAL) } else { Ok(offset) }
}

/// A position so much further on.
pub fn advance(offset: u64, by: u64) -> u64 {
    if offset == OWN_POSITION { offset } else { offset + by }
}

/// Copies until `size` bytes are done, the source ends, or a write falls short.
fn copy(process: &mut Process, from: (&OpenFile, u64), to: (&OpenFile, u64), size: u64) -> Answer {
    let mut buffer = fallible::zeros(PIECE.min(size as usize))?;
    let mut done = 0;
    while done < size {
        let wanted = buffer.len().min((size - done) as usize);
        let count = match process.read(from.0, advance(from.1, done), &mut buffer[..wanted]) {
            Ok(0) => break,
            Err(_) if done != 0 => break,
            result => result?,
        };
        let result = process.write(to.0, advance(to.1, done), &buffer[..count]);
        let left = count - result.unwrap_or(0).min(count);
        if left != 0 && from.1 == OWN_POSITION {
            // What was not taken is there for the next call.
            file_signals::step_back(from.0, left as u64);
        }
        let written = match result {
            Err(_) if done != 0 => break,
            result => result?,
        };
        done += written as u64;
        if written < count || (count < wanted && !from.0.is_regular()) {
            break;
        }
    }
    Ok(done)
}

/// Returns true if two ranges of `size` bytes overlap.
fn overlap(one: u64, other: u64, size: u64) -> bool {
    one.abs_diff(other) < size
}

/// Writes a position back to where it came from.
pub fn store(memory: &mut Memory, address: u64, offset: u64, by: u64) -> Result<(), Errno> {
    if address == 0 { Ok(()) } else { memory.write_words(address, &[offset + by]) }
}

/// `sendfile(to, from, offset, size)`.
pub fn sendfile(process: &mut Process, frame: &mut Frame) -> Answer {
    let [to, from, offset_address, size, ..] = frame.arguments();
    let (to, from) = (process.descriptors.get(to)?, process.descriptors.get(from)?);
    if !from.can_read() || !to.can_write() {
        return Err(EBADF);
    }
    // Linux asks for a source that can be mapped; programs fall back to reading.
    let has_position = !read_write::is_pipe(&from) && Socket::of(&from).is_none();
    if offset_address != 0 && !has_position {
        return Err(ESPIPE);
    }
    if !has_position || to.flags.get() & O_APPEND != 0 {
        return Err(EINVAL);
    }
    let offset = start(&process.memory, offset_address)?;
    let answer = copy(process, (&from, offset), (&to, OWN_POSITION), size.min(0x7fff_f000));
    if let Ok(done) = answer {
        store(&mut process.memory, offset_address, offset, done)?;
    }
    file_signals::written(process, &to, answer)
}

/// `copy_file_range(from, offset, to, offset, size, flags)`: regular files only.
pub fn copy_file_range(process: &mut Process, frame: &mut Frame) -> Answer {
    const S_IFDIR: u32 = 0o040000;
    let [from, from_address, to, to_address, size, flags] = frame.arguments();
    let (from, to) = (process.descriptors.get(from)?, process.descriptors.get(to)?);
    if !from.can_read() || !to.can_write() || to.flags.get() & O_APPEND != 0 {
        return Err(EBADF);
    }
    if [&from, &to].iter().any(|file| file.mode.get() & S_IFMT == S_IFDIR) {
        return Err(EISDIR);
    }
    if flags != 0 || !from.is_regular() || !to.is_regular() {
        return Err(EINVAL);
    }
    let (from_offset, to_offset) = (start(&process.memory, from_address)?, start(&process.memory, to_address)?);
    let size = size.min(0x7fff_f000);
    // What is open twice is not known to be one file.
    if Rc::ptr_eq(&from, &to) && overlap(from_offset, to_offset, size) {
        return Err(EINVAL);
    }
    let done = copy(process, (&from, from_offset), (&to, to_offset), size)?;
    store(&mut process.memory, from_address, from_offset, done)?;
    store(&mut process.memory, to_address, to_offset, done)?;
    Ok(done)
}
