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

use crate::elf::Image;
use crate::linux::{COMMAND_LINE, HIGH_START, LOW_END, PAGE, USABLE, checked_size, write_text};
use crate::place::{Low, check_parts, load_module, load_parts, module_size};
use crate::start::prepare_protected;
use crate::{ByteSource, GuestMemory, LoadError, Start, acpi};
use alloc::vec::Vec;

const RECORD: u64 = 0x7000;
const MODULE: u64 = 0x7040;
const MAP: u64 = 0x7060;
const MAGIC: u32 = 0x336e_c578;
/// Version of the record that has a memory map.
const VERSION: u32 = 1;

/// Returns true if a file is an ELF file of 64 bits with an entry of this protocol.
pub fn has_entry(kernel: &dyn ByteSource) -> bool {
    Image::decode(kernel).is_ok_and(|image| image.is_long && matches!(image.pvh_entry(kernel), Ok(Some(_))))
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
    let entry = image.pvh_entry(kernel)?.filter(|_| image.is_long).ok_or(LoadError::NoEntry)?;
    let end = check_parts(&image.parts, entry, Low::Ours, size)?;
    let length = module_size(module)?;
    // As high as it may lie.
    let address = size.checked_sub(length).map(|address| address / PAGE * PAGE);
    let address = address.filter(|address| *address >= end).ok_or(LoadError::InitrdTooLarge)?;
    load_parts(memory, kernel, &image.parts)?;
    load_module(memory, module, address)?;
    write_text(memory, command_line)?;
    let map = [(0, LOW_END), (HIGH_START, size - HIGH_START)];
    memory.write(RECORD, &record(length != 0, map.len() as u32))?;
    memory.write(MODULE, &words(&[address, length, 0, 0]))?;
    let map: Vec<u64> = map.iter().flat_map(|(start, size)| [*start, *size, u64::from(USABLE)]).collect();
    memory.write(MAP, &words(&map))?;
    Ok(prepare_protected(memory, entry, 0, RECORD)?)
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
