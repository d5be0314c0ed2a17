//! Packets by which gdb reads files of the guest, such as programs with their symbols.

use crate::packet::MAX_PACKET;
use crate::query::put_result;
use crate::session::Reply;
use crate::target::{FileError, Target};
use crate::text::{self, bytes_of, put_number, split};
use alloc::vec::Vec;

/// Numbers of errors in gdb's protocol where they differ from Linux's.
const NO_SUCH_CALL: u32 = 88;
const TOO_LONG: u32 = 91;
/// Linux's numbers of errors.
const ENOENT: u32 = 2;
const EINVAL: u32 = 22;
const ENAMETOOLONG: u32 = 36;
const ENOSYS: u32 = 38;
/// Maximum length of a path.
const MAX_PATH: usize = 4096;
/// Mask of the flags of `open` that ask for writing.
const WRITES: u64 = 3;
/// Bytes of gdb's `struct stat`, and the places of mode, size and block size in it: all numbers are
/// big-endian.
const STAT_SIZE: usize = 64;
const MODE: usize = 8;
const SIZE: usize = 28;
/// Mode of a regular file that all may read.
const REGULAR: u32 = 0o100_444;

fn failure(error: FileError) -> Reply {
    let number = match error {
        ENOSYS => NO_SUCH_CALL,
        ENAMETOOLONG => TOO_LONG,
        error => error,
    };
    let mut text = b"F-1,".to_vec();
    put_number(number.into(), &mut text);
    Reply::Body(text)
}

fn success(result: u64) -> Reply {
    let mut text = Vec::new();
    put_result(result, &mut text);
    Reply::Body(text)
}

fn with_data(data: &[u8]) -> Reply {
    let mut text = Vec::new();
    put_result(data.len() as u64, &mut text);
    text.push(b';');
    text.extend(data);
    Reply::Body(text)
}

/// Carries out `OPERATION:ARGUMENTS`.
pub(crate) fn file(text: &[u8], target: &mut impl Target) -> Reply {
    let (operation, arguments) = split(text, b':');
    let done = match operation {
        // All processes see the same files.
        b"setfs" => Ok(success(0)),
        b"open" => open(arguments, target),
        b"pread" => read(arguments, target),
        b"fstat" => status(arguments, target),
        b"close" => descriptor(arguments).and_then(|file| target.close(file)).map(|()| success(0)),
        b"readlink" => link(arguments, target),
        b"pwrite" | b"unlink" => Err(ENOSYS),
        _ => return Reply::unknown(),
    };
    done.unwrap_or_else(failure)
}

fn descriptor(text: &[u8]) -> Result<u32, FileError> {
    text::number(text).and_then(|number| u32::try_from(number).ok()).ok_or(EINVAL)
}

/// Decodes a path.
fn path(text: &[u8]) -> Result<Vec<u8>, FileError> {
    let path = bytes_of(text).ok_or(EINVAL)?;
    match path.len() {
        0 => Err(ENOENT),
        MAX_PATH.. => Err(ENAMETOOLONG),
        _ if path.contains(&0) => Err(EINVAL),
        _ => Ok(path),
    }
}

fn link(arguments: &[u8], target: &mut impl Target) -> Result<Reply, FileError> {
    let mut found = target.link(&path(arguments)?)?;
    found.truncate(MAX_PATH);
    Ok(with_data(&found))
}

fn open(arguments: &[u8], target: &mut impl Target) -> Result<Reply, FileError> {
    let (text, rest) = split(arguments, b',');
    let path = path(text)?;
    let flags = text::number(split(rest, b',').0).ok_or(EINVAL)?;
    if flags & WRITES != 0 { Err(EINVAL) } else { target.open(&path).map(|file| success(file.into())) }
}

fn read(arguments: &[u8], target: &mut impl Target) -> Result<Reply, FileError> {
    let (file, range) = split(arguments, b',');
    let (count, offset) = text::pair(range, b',').ok_or(EINVAL)?;
    // Escapes make some bytes two.
    let count = count.min(MAX_PACKET as u64 / 2) as usize;
    let mut data = target.read_file(descriptor(file)?, offset, count)?;
    data.truncate(count);
    Ok(with_data(&data))
}

fn status(arguments: &[u8], target: &mut impl Target) -> Result<Reply, FileError> {
    let size = target.file_size(descriptor(arguments)?)?;
    let mut bytes = [0; STAT_SIZE];
    bytes[MODE..MODE + 4].copy_from_slice(&REGULAR.to_be_bytes());
    bytes[SIZE..SIZE + 8].copy_from_slice(&size.to_be_bytes());
    Ok(with_data(&bytes))
}
