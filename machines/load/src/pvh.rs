//! ELF kernels by Xen's boot protocol for machines with hardware paging (PVH): 32-bit protected
//! mode without paging, and a start record with a module, a command line and a memory map. The
//! kernel of this tree and Linux's `vmlinux` start so.
//!
//! | address | content |
//! | --- | --- |
//! | 0x500 | descriptors |
//! | 0x7000 | start record, module, memory map |
//! | 0x20000 | command line, at most 64 KiB |
//! | 1 MiB and above | kernel where its file says, and the module as high as it may lie |

use crate::elf::{Image, Segment};
use crate::linux::{COMMAND_LINE, HIGH_START, LOW_END, PAGE, USABLE, checked_size, copy, write_text};
use crate::start::prepare_protected;
use crate::{ByteSource, GuestMemory, LoadError, Start, acpi};
use alloc::vec::Vec;

const RECORD: u64 = 0x7000;
const MODULE: u64 = 0x7040;
const MAP: u64 = 0x7060;
const MAGIC: u32 = 0x336e_c578;
/// Version of the record that has a memory map.
const VERSION: u32 = 1;
/// Bytes that are cleared at once.
const ZEROS: [u8; 4096] = [0; 4096];

/// Returns true if a file is an ELF file.
pub fn is_elf(kernel: &dyn ByteSource) -> bool {
    let mut magic = [0; 4];
    kernel.read_at(0, &mut magic).is_ok() && magic == *b"\x7fELF"
}

/// Loads a kernel and, if it is not empty, a module. Tables of [`acpi`] are told of, whether or not
/// they are there yet.
///
/// An error leaves guest memory with a part of it all.
pub fn load(
    memory: &mut dyn GuestMemory, kernel: &dyn ByteSource, module: &[&dyn ByteSource],
    command_line: &str,
) -> Result<Start, LoadError> {
    let size = checked_size(memory)?;
    let image = Image::decode(kernel)?;
    let mut end = HIGH_START;
    for segment in &image.segments {
        end = end.max(load_segment(memory, kernel, segment)?);
    }
    let place = load_module(memory, module, end)?;
    write_text(memory, command_line)?;
    let map = [(0, LOW_END), (HIGH_START, size - HIGH_START)];
    memory.write(RECORD, &record(place.1 != 0, map.len() as u32))?;
    memory.write(MODULE, &words(&[place.0, place.1, 0, 0]))?;
    let map: Vec<u64> = map.iter().flat_map(|(start, size)| [*start, *size, u64::from(USABLE)]).collect();
    memory.write(MAP, &words(&map))?;
    Ok(prepare_protected(memory, image.entry, RECORD)?)
}

/// Copies a segment and clears what the file has not of it; returns the end of its memory.
fn load_segment(memory: &mut dyn GuestMemory, kernel: &dyn ByteSource, segment: &Segment) -> Result<u64, LoadError> {
    let end = segment.address.checked_add(segment.memory_size).ok_or(LoadError::BadAddress)?;
    if segment.address < HIGH_START || segment.file_size > segment.memory_size {
        return Err(LoadError::BadAddress);
    }
    if end > memory.size() {
        return Err(LoadError::KernelTooLarge);
    }
    copy(memory, kernel, segment.offset, segment.file_size, segment.address, LoadError::KernelUnreadable)?;
    let mut at = segment.address + segment.file_size;
    while at < end {
        let size = (end - at).min(ZEROS.len() as u64);
        memory.write(at, &ZEROS[..size as usize])?;
        at += size;
    }
    Ok(end)
}

/// Copies the parts of the module to the highest place behind the kernel; returns address and size.
fn load_module(memory: &mut dyn GuestMemory, parts: &[&dyn ByteSource], end: u64) -> Result<(u64, u64), LoadError> {
    let size = parts.iter().try_fold(0u64, |sum, part| sum.checked_add(part.len())).ok_or(LoadError::InitrdTooLarge)?;
    let address = memory.size().checked_sub(size).map(|address| address / PAGE * PAGE);
    let address = address.filter(|address| *address >= end).ok_or(LoadError::InitrdTooLarge)?;
    let mut at = address;
    for part in parts {
        copy(memory, *part, 0, part.len(), at, LoadError::InitrdUnreadable)?;
        at += part.len();
    }
    Ok((address, size))
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Returns the start record.
fn record(has_module: bool, ranges: u32) -> Vec<u8> {
    let halves = |low: u32, high: u32| u64::from(low) | u64::from(high) << 32;
    words(&[halves(MAGIC, VERSION), halves(0, u32::from(has_module)), MODULE, COMMAND_LINE, acpi::ROOT, MAP, halves(ranges, 0)])
}

#[cfg(test)]
#[path = "pvh_tests.rs"]
mod tests;
