//! Linux by its 64-bit or its 32-bit boot protocol: bzImage, initial file system, command line,
//! zero page.
//!
//! | address | content |
//! | --- | --- |
//! | 0x500 | descriptors |
//! | 0x7000 | zero page |
//! | 0x8000 | stack, downwards from 0x9000 |
//! | 0x9000 | page tables, 24 KiB, if the kernel has a 64-bit entry |
//! | 0x20000 | command line, at most 64 KiB |
//! | 1 MiB and above | kernel, and the initial file system as high as it may lie |

use crate::header::{Entry, HEADER, Header};
use crate::start::{prepare, prepare_protected};
use crate::{ByteSource, GuestMemory, LoadError, OutOfRange, Start};
use alloc::{vec, vec::Vec};

const ZERO_PAGE: u64 = 0x7000;
const STACK: u64 = 0x9000;
pub(crate) const COMMAND_LINE: u64 = 0x2_0000;
/// Size of the longest command line, with the zero behind it.
const COMMAND_LINE_SIZE: usize = 0x1_0000;
/// End of conventional memory, where old firmware keeps its data.
pub(crate) const LOW_END: u64 = 0x9_fc00;
pub(crate) const HIGH_START: u64 = 0x10_0000;
/// Largest memory: the addresses above belong to devices. A second part above 4 GiB is not made.
pub const MAX_MEMORY: u64 = 3 << 30;
/// Smallest memory: the low part, and something above it.
pub const MIN_MEMORY: u64 = 2 << 20;
pub(crate) const PAGE: u64 = 0x1000;
/// Bytes that are copied at once.
const CHUNK: usize = 0x1_0000;
/// Parts of an initial file system begin at multiples of this.
pub(crate) const PART_ALIGNMENT: u64 = 4;
/// Loader of no known kind, as the protocol numbers it.
const LOADER: u8 = 0xff;
/// Kind of memory that the kernel may use.
pub(crate) const USABLE: u32 = 1;
/// Offsets in the zero page.
const MAP_COUNT: usize = 0x1e8;
const VIDEO_MODE: usize = 0x1fa;
const LOADER_KIND: usize = 0x210;
const LOAD_FLAGS: usize = 0x211;
const INITRD_ADDRESS: usize = 0x218;
const INITRD_SIZE: usize = 0x21c;
const COMMAND_LINE_ADDRESS: usize = 0x228;
const MAP: usize = 0x2d0;
/// Video mode "normal".
const NORMAL_MODE: u16 = 0xffff;
/// Flags of the loader: it has a heap, and the kernel should be quiet; both are about 16-bit code.
const LOADER_FLAGS: u8 = 0xe0;

/// Returns the bytes of memory, if a kernel can be loaded into so many.
pub(crate) fn checked_size(memory: &dyn GuestMemory) -> Result<u64, LoadError> {
    match memory.size() {
        size if size > MAX_MEMORY => Err(LoadError::MemoryTooLarge),
        size if size < MIN_MEMORY => Err(LoadError::MemoryTooSmall),
        size => Ok(size),
    }
}

/// Loads a kernel and what goes with it. The parts of the initial file system follow each other,
/// each padded to 4 bytes, so a later part's files replace an earlier one's.
///
/// An error leaves guest memory with a part of it all.
pub fn load(
    memory: &mut dyn GuestMemory, kernel: &dyn ByteSource, initrd: &[&dyn ByteSource],
    command_line: &str,
) -> Result<Start, LoadError> {
    let size = checked_size(memory)?;
    let header = Header::decode(kernel)?;
    if header.end > size {
        return Err(LoadError::KernelTooLarge);
    }
    let place = initrd_place(&header, initrd, size)?;
    write_command_line(memory, &header, command_line)?;
    copy(memory, kernel, header.offset, header.size, header.address, LoadError::KernelUnreadable)?;
    copy_initrd(memory, initrd, place.0)?;
    memory.write(ZERO_PAGE, &zero_page(&header, place, size))?;
    match header.entry {
        Entry::Long => Ok(prepare(memory, header.start(), ZERO_PAGE, STACK)?),
        Entry::Protected => {
            let start = prepare_protected(memory, header.start(), 0, 0)?;
            Ok(Start { rsi: ZERO_PAGE, rsp: STACK, ..start })
        }
    }
}

/// Returns the size of a part with its padding.
fn padded(length: u64) -> Option<u64> {
    length.checked_next_multiple_of(PART_ALIGNMENT)
}

/// Returns address and size of the initial file system: the highest place behind the kernel.
fn initrd_place(
    header: &Header, parts: &[&dyn ByteSource], memory_size: u64,
) -> Result<(u64, u64), LoadError> {
    let sizes = parts.iter().map(|part| padded(part.len()));
    let total = sizes.into_iter().try_fold(0u64, |sum, size| sum.checked_add(size?));
    let total = total.ok_or(LoadError::InitrdTooLarge)?;
    if total == 0 {
        return Ok((0, 0));
    }
    let limit = memory_size.min(header.max_initrd.saturating_add(1));
    let address = limit.checked_sub(total).ok_or(LoadError::InitrdTooLarge)? / PAGE * PAGE;
    if address < header.end {
        return Err(LoadError::InitrdTooLarge);
    }
    Ok((address, total))
}

fn copy_initrd(
    memory: &mut dyn GuestMemory, parts: &[&dyn ByteSource], address: u64,
) -> Result<(), LoadError> {
    let mut at = address;
    for part in parts {
        let length = part.len();
        let end = padded(length).and_then(|size| at.checked_add(size));
        copy(memory, *part, 0, length, at, LoadError::InitrdUnreadable)?;
        at = end.ok_or(LoadError::InitrdUnreadable)?;
    }
    Ok(())
}

/// Copies bytes of a file into guest memory.
pub(crate) fn copy(
    memory: &mut dyn GuestMemory, source: &dyn ByteSource, from: u64, length: u64, to: u64,
    error: LoadError,
) -> Result<(), LoadError> {
    let mut chunk = vec![0; CHUNK];
    let mut done = 0;
    while done < length {
        let size = (length - done).min(CHUNK as u64) as usize;
        source.read_at(from + done, &mut chunk[..size]).map_err(|_| error)?;
        memory.write(to.checked_add(done).ok_or(OutOfRange)?, &chunk[..size])?;
        done += size as u64;
    }
    Ok(())
}

fn write_command_line(
    memory: &mut dyn GuestMemory, header: &Header, text: &str,
) -> Result<(), LoadError> {
    if text.len() as u64 > header.max_command_line {
        return Err(LoadError::CommandLineTooLong);
    }
    write_text(memory, text)
}

/// Returns a text that is short enough, and ends where it seems to.
pub(crate) fn checked_text(text: &str) -> Result<&str, LoadError> {
    if text.len() >= COMMAND_LINE_SIZE {
        return Err(LoadError::CommandLineTooLong);
    }
    if text.contains('\0') {
        return Err(LoadError::CommandLineWithZero);
    }
    Ok(text)
}

/// Writes the command line and a zero behind it.
pub(crate) fn write_text(memory: &mut dyn GuestMemory, text: &str) -> Result<(), LoadError> {
    memory.write(COMMAND_LINE, checked_text(text)?.as_bytes())?;
    memory.write(COMMAND_LINE + text.len() as u64, &[0])?;
    Ok(())
}

/// Returns the zero page: the kernel's own header with the loader's answers, and the memory map.
fn zero_page(header: &Header, initrd: (u64, u64), memory_size: u64) -> Vec<u8> {
    let mut page = vec![0; PAGE as usize];
    let mut put = |at: usize, bytes: &[u8]| page[at..at + bytes.len()].copy_from_slice(bytes);
    put(HEADER, &header.bytes[..header.length]);
    put(VIDEO_MODE, &NORMAL_MODE.to_le_bytes());
    put(LOADER_KIND, &[LOADER]);
    put(LOAD_FLAGS, &[header.bytes[LOAD_FLAGS - HEADER] & !LOADER_FLAGS]);
    put(INITRD_ADDRESS, &(initrd.0 as u32).to_le_bytes());
    put(INITRD_SIZE, &(initrd.1 as u32).to_le_bytes());
    put(COMMAND_LINE_ADDRESS, &(COMMAND_LINE as u32).to_le_bytes());
    let map = [(0, LOW_END), (HIGH_START, memory_size - HIGH_START)];
    put(MAP_COUNT, &[map.len() as u8]);
    for (index, (start, size)) in map.into_iter().enumerate() {
        let at = MAP + index * 20;
        put(at, &u64::to_le_bytes(start));
        put(at + 8, &u64::to_le_bytes(size));
        put(at + 16, &USABLE.to_le_bytes());
    }
    page
}

#[cfg(test)]
#[path = "linux_tests.rs"]
mod tests;
