//! Kernels that are ELF files of 32 or 64 bits: parts of the file that go into memory, the entry of
//! the file's header, and the entry that a note of Xen's names.

use crate::place::Part;
use crate::{ByteSource, LoadError};
use alloc::{vec, vec::Vec};

const HEADER_SIZE: usize = 64;
/// Maximum number of program headers, and of bytes of a segment of notes.
const MAX_HEADERS: usize = 64;
const MAX_NOTES: u64 = 0x1_0000;
/// Byte order (little).
const ORDER: u8 = 1;
/// Kinds of segments.
const LOADED: u32 = 1;
const NOTES: u32 = 4;
/// The note: maker and kind (XEN_ELFNOTE_PHYS32_ENTRY).
const MAKER: &[u8] = b"Xen\0";
const PHYSICAL_ENTRY: u32 = 18;

/// Places of fields in the headers of one class of files.
struct Class {
    number: u8,
    machine: u16,
    /// Fields of the file's header: place of the table, size of its entries, their number.
    table: usize,
    entry_size: usize,
    count: usize,
    /// Size of an entry of the table.
    size: usize,
    /// Fields of an entry: offset, virtual and physical address, sizes in the file and in memory.
    fields: [usize; 5],
    is_long: bool,
}

const CLASSES: [Class; 2] = [
    Class { number: 1, machine: 3, table: 28, entry_size: 42, count: 44, size: 32, fields: [4, 8, 12, 16, 20], is_long: false },
    Class { number: 2, machine: 62, table: 32, entry_size: 54, count: 56, size: 56, fields: [8, 16, 24, 32, 40], is_long: true },
];

/// Headers of a kernel's file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Parts that go into memory.
    pub parts: Vec<Part>,
    /// Physical address of the entry that the file's header names.
    pub entry: u64,
    /// Class of 64 bits.
    pub is_long: bool,
    /// Parts of the file that hold notes.
    notes: Vec<Part>,
}

pub(crate) fn half(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).map_or(0, |part| u16::from_le_bytes([part[0], part[1]]))
}

pub(crate) fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from(half(bytes, at)) | u32::from(half(bytes, at + 2)) << 16
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from(word(bytes, at)) | u64::from(word(bytes, at + 4)) << 32
}

impl Class {
    /// Returns the class of a file by the start of its header.
    fn of(header: &[u8]) -> Option<&'static Class> {
        let is_right = |class: &&Class| header[4] == class.number && half(header, 18) == class.machine && usize::from(half(header, class.entry_size)) == class.size;
        let is_elf = header.starts_with(b"\x7fELF") && header[5] == ORDER;
        CLASSES.iter().filter(|_| is_elf).find(is_right)
    }

    /// Returns an address or a size.
    fn wide(&self, bytes: &[u8], at: usize) -> u64 {
        if self.is_long { long(bytes, at) } else { word(bytes, at).into() }
    }
}

impl Image {
    /// Reads and checks the headers of a file.
    pub fn decode(kernel: &dyn ByteSource) -> Result<Image, LoadError> {
        let mut header = [0; HEADER_SIZE];
        kernel.read_at(0, &mut header).map_err(|_| LoadError::Truncated)?;
        let class = Class::of(&header).ok_or(LoadError::NotKernel)?;
        let count = usize::from(half(&header, class.count)).min(MAX_HEADERS);
        let mut table = vec![0; count * class.size];
        kernel.read_at(class.wide(&header, class.table), &mut table).map_err(|_| LoadError::Truncated)?;
        let start = class.wide(&header, 24);
        let mut image = Image { parts: Vec::new(), entry: start, is_long: class.is_long, notes: Vec::new() };
        for entry in table.chunks_exact(class.size) {
            let [offset, linear, address, file_size, memory_size] = class.fields.map(|at| class.wide(entry, at));
            let part = Part { offset, address, file_size, memory_size };
            match word(entry, 0) {
                LOADED if memory_size != 0 => {
                    // The header names the entry by its linear address.
                    if let Some(within) = start.checked_sub(linear).filter(|within| *within < memory_size) {
                        image.entry = address.wrapping_add(within);
                    }
                    image.parts.push(part);
                }
                NOTES => image.notes.push(part),
                _ => {}
            }
        }
        Ok(image)
    }

    /// Returns the entry of the protocol PVH, for 32-bit mode, if notes name one.
    pub fn pvh_entry(&self, kernel: &dyn ByteSource) -> Result<Option<u64>, LoadError> {
        for notes in &self.notes {
            let found = find_entry(kernel, notes)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }
}

/// Looks for the entry among notes.
fn find_entry(kernel: &dyn ByteSource, notes: &Part) -> Result<Option<u64>, LoadError> {
    let mut bytes = vec![0; notes.file_size.min(MAX_NOTES) as usize];
    kernel.read_at(notes.offset, &mut bytes).map_err(|_| LoadError::Truncated)?;
    let mut rest = &bytes[..];
    while rest.len() >= 12 {
        let (name_size, size, kind) = (word(rest, 0) as usize, word(rest, 4) as usize, word(rest, 8));
        let Some(name) = rest.get(12..).and_then(|rest| rest.get(..name_size)) else { break };
        let start = 12 + name_size.next_multiple_of(4);
        let Some(value) = rest.get(start..).and_then(|rest| rest.get(..size)) else { break };
        if name == MAKER && kind == PHYSICAL_ENTRY {
            return Ok(Some(if size >= 8 { long(value, 0) } else { word(value, 0).into() }));
        }
        rest = rest.get(start + size.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(None)
}
