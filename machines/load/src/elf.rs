//! Kernels that are ELF files of 64 bits: what of the file goes where, and the entry that a note of
//! Xen's names.

use crate::{ByteSource, LoadError};
use alloc::{vec, vec::Vec};

const HEADER_SIZE: usize = 64;
const ENTRY_SIZE: usize = 56;
/// Maximum number of program headers, and of bytes of a segment of notes.
const MAX_HEADERS: usize = 64;
const MAX_NOTES: u64 = 0x1_0000;
/// Class (64 bits), byte order (little), and machine.
const CLASS: u8 = 2;
const ORDER: u8 = 1;
const MACHINE: u16 = 62;
/// Kinds of segments.
const LOADED: u32 = 1;
const NOTES: u32 = 4;
/// The note: maker and kind (XEN_ELFNOTE_PHYS32_ENTRY).
const MAKER: &[u8] = b"Xen\0";
const PHYSICAL_ENTRY: u32 = 18;

/// Part of a file that goes into memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Offset in the file.
    pub offset: u64,
    /// Physical address.
    pub address: u64,
    /// Bytes in the file.
    pub file_size: u64,
    /// Bytes in memory; what the file does not have is zero.
    pub memory_size: u64,
}

/// A kernel's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Parts that go into memory.
    pub segments: Vec<Segment>,
    /// Physical address of the first instruction, in 32-bit mode.
    pub entry: u64,
}

fn half(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).map_or(0, |part| u16::from_le_bytes([part[0], part[1]]))
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from(half(bytes, at)) | u32::from(half(bytes, at + 2)) << 16
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from(word(bytes, at)) | u64::from(word(bytes, at + 4)) << 32
}

impl Image {
    /// Reads and checks the headers of a file.
    pub fn decode(kernel: &dyn ByteSource) -> Result<Image, LoadError> {
        let mut header = [0; HEADER_SIZE];
        kernel.read_at(0, &mut header).map_err(|_| LoadError::Truncated)?;
        let is_ours = header.starts_with(b"\x7fELF") && header[4] == CLASS && header[5] == ORDER && half(&header, 18) == MACHINE;
        if !is_ours || usize::from(half(&header, 54)) != ENTRY_SIZE {
            return Err(LoadError::NotKernel);
        }
        let count = usize::from(half(&header, 56)).min(MAX_HEADERS);
        let mut table = vec![0; count * ENTRY_SIZE];
        kernel.read_at(long(&header, 32), &mut table).map_err(|_| LoadError::Truncated)?;
        let mut image = Image { segments: Vec::new(), entry: 0 };
        for entry in table.chunks_exact(ENTRY_SIZE) {
            let segment = Segment { offset: long(entry, 8), address: long(entry, 24), file_size: long(entry, 32), memory_size: long(entry, 40) };
            match word(entry, 0) {
                LOADED if segment.memory_size != 0 => image.segments.push(segment),
                NOTES if image.entry == 0 => image.entry = find_entry(kernel, &segment)?,
                _ => {}
            }
        }
        let is_inside = |segment: &Segment| image.entry.checked_sub(segment.address).is_some_and(|offset| offset < segment.memory_size);
        if image.segments.iter().any(is_inside) { Ok(image) } else { Err(LoadError::NoEntry) }
    }
}

/// Looks for the entry among notes; 0 if it is not there.
fn find_entry(kernel: &dyn ByteSource, segment: &Segment) -> Result<u64, LoadError> {
    let mut bytes = vec![0; segment.file_size.min(MAX_NOTES) as usize];
    kernel.read_at(segment.offset, &mut bytes).map_err(|_| LoadError::Truncated)?;
    let mut rest = &bytes[..];
    while rest.len() >= 12 {
        let (name_size, size, kind) = (word(rest, 0) as usize, word(rest, 4) as usize, word(rest, 8));
        let Some(name) = rest.get(12..).and_then(|rest| rest.get(..name_size)) else { break };
        let start = 12 + name_size.next_multiple_of(4);
        let Some(value) = rest.get(start..).and_then(|rest| rest.get(..size)) else { break };
        if name == MAKER && kind == PHYSICAL_ENTRY {
            return Ok(if size >= 8 { long(value, 0) } else { u64::from(word(value, 0)) });
        }
        rest = rest.get(start + size.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(0)
}
