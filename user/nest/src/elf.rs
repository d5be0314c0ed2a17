//! Decodes a program: an ELF whose every field may have been chosen by an enemy.
//!
//! Nothing is mapped or started here. What [`decode`] returns has been checked as a whole: segments
//! ascend, share no page, lie in the range that was asked for and in the file; the entry is in an
//! executable one.

use crate::refusal::SpawnError;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;
use nacre_abi::environment::NOTE_TYPE;
use nacre_abi::{PAGE_SIZE, Rights};

/// A file that is read piece by piece.
pub trait Source {
    /// Returns the size of the file in bytes.
    fn size(&self) -> u64;
    /// Fills `into` from `offset` on; the range lies inside [`size`](Source::size), and a file that
    /// has become shorter is an error.
    fn read(&mut self, offset: u64, into: &mut [u8]) -> Result<(), SpawnError>;
}

/// A part of the file that becomes memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Offset of its bytes in the file.
    pub offset: u64,
    /// Number of its bytes in the file.
    pub file_size: u64,
    /// Address of the first.
    pub address: u64,
    /// Size in memory; what goes beyond `file_size` is zero.
    pub memory_size: u64,
    /// Rights of the program on it.
    pub rights: Rights,
}

impl Segment {
    /// The whole pages that it touches.
    pub fn pages(&self) -> Range<u64> {
        self.address & !(PAGE_SIZE - 1)..(self.address + self.memory_size).next_multiple_of(PAGE_SIZE)
    }

    /// Returns true if its pages can be the file's own: they are never written, no zeros are added,
    /// and they start equally far from a page's start in the file and in memory.
    pub fn can_share(&self) -> bool {
        !self.rights.contains(Rights::WRITE)
            && self.file_size == self.memory_size
            && self.offset % PAGE_SIZE == self.address % PAGE_SIZE
    }
}

/// A program that can be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Address of the first instruction.
    pub entry: u64,
    /// Segments that become memory, in ascending order.
    pub segments: Vec<Segment>,
    /// Address of the program headers in memory, 0 if no segment holds them.
    pub headers_address: u64,
    /// Number of program headers.
    pub header_count: u64,
    /// Version of our interface that it was built for; `None` for a foreign program.
    pub native_version: Option<u32>,
    /// Path of the dynamic linker that it asks for, which is then entered instead of it.
    pub interpreter: Option<Vec<u8>>,
    /// Addresses of a program that cannot be moved which nobody writes to once they have been
    /// relocated; empty if it says nothing of it.
    pub constant: Range<u64>,
}

impl Image {
    /// Returns the address of its first page.
    pub fn base(&self) -> u64 {
        self.segments.first().map_or(0, |segment| segment.pages().start)
    }

    /// Takes the right to write from what is constant. For a program that has nothing to relocate:
    /// its pages are the file's own then.
    pub fn seal(&mut self) {
        for segment in &mut self.segments {
            let end = segment.address.saturating_add(segment.memory_size);
            if self.constant.start <= segment.address && end <= self.constant.end {
                segment.rights = segment.rights.intersect(Rights::READ.union(Rights::EXECUTE));
            }
        }
    }
}

/// Size of a program header.
pub const HEADER_ENTRY_SIZE: u64 = 56;
const FILE_HEADER_SIZE: usize = 64;
const MAX_HEADERS: u64 = 64;
/// Larger notes are looked at up to here.
const MAX_NOTE: u64 = 4096;
const MAX_INTERPRETER: u64 = 256;

const TYPE_FIXED: u16 = 2;
const TYPE_MOVABLE: u16 = 3;
const MACHINE_X86_64: u16 = 62;
const PT_LOAD: u32 = 1;
const PT_INTERP: u32 = 3;
const PT_NOTE: u32 = 4;
const PT_GNU_RELRO: u32 = 0x6474_e552;

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from(u16_at(bytes, at)) | u32::from(u16_at(bytes, at + 2)) << 16
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}

fn check_header(header: &[u8; FILE_HEADER_SIZE]) -> Result<(), SpawnError> {
    if header[4] != 2 || header[5] != 1 {
        return Err(SpawnError::OtherClass);
    }
    if u16_at(header, 18) != MACHINE_X86_64 {
        return Err(SpawnError::OtherMachine(u16_at(header, 18)));
    }
    if !matches!(u16_at(header, 16), TYPE_FIXED | TYPE_MOVABLE) {
        return Err(SpawnError::OtherType(u16_at(header, 16)));
    }
    let count = u64::from(u16_at(header, 56));
    if count == 0 || count > MAX_HEADERS || u64::from(u16_at(header, 54)) != HEADER_ENTRY_SIZE {
        return Err(SpawnError::Headers);
    }
    Ok(())
}

/// Reads `size` bytes at `offset`, or says that the file ends before `part`.
fn read_part(source: &mut impl Source, offset: u64, size: u64, part: &'static str) -> Result<Vec<u8>, SpawnError> {
    if offset.checked_add(size).is_none_or(|end| end > source.size()) {
        return Err(SpawnError::Truncated(part));
    }
    let mut bytes = vec![0; size as usize];
    source.read(offset, &mut bytes)?;
    Ok(bytes)
}

/// A file that does not start like an ELF: a script is worth a sentence of its own.
fn refuse_other(source: &mut impl Source) -> SpawnError {
    let size = source.size().min(128);
    match read_part(source, 0, size, "start") {
        Ok(bytes) if bytes.starts_with(b"#!") => {
            let line = bytes[2..].split(|byte| *byte == b'\n').next().unwrap_or(&[]);
            SpawnError::Script(String::from(String::from_utf8_lossy(line).trim()))
        }
        Ok(_) => SpawnError::NotElf,
        Err(refusal) => refusal,
    }
}

fn read_header(source: &mut impl Source) -> Result<[u8; FILE_HEADER_SIZE], SpawnError> {
    let mut header = [0; FILE_HEADER_SIZE];
    let available = (source.size() as usize).min(FILE_HEADER_SIZE);
    source.read(0, &mut header[..available])?;
    if !header.starts_with(b"\x7fELF") {
        return Err(refuse_other(source));
    }
    if available < FILE_HEADER_SIZE {
        return Err(SpawnError::Truncated("header"));
    }
    check_header(&header)?;
    Ok(header)
}

fn segment_rights(flags: u32) -> Rights {
    let mut rights = Rights::NONE;
    for (bit, right) in [(4, Rights::READ), (2, Rights::WRITE), (1, Rights::EXECUTE)] {
        if flags & bit != 0 {
            rights = rights.union(right);
        }
    }
    rights
}

/// Decodes load segment `number`; `bias` is added to its address, the result must lie in `range`.
fn segment(entry: &[u8], number: usize, bias: u64, range: &Range<u64>, file_size: u64) -> Result<Segment, SpawnError> {
    let wild = SpawnError::WildSegment(number);
    let segment = Segment {
        offset: u64_at(entry, 8),
        file_size: u64_at(entry, 32),
        address: u64_at(entry, 16).checked_add(bias).ok_or(wild.clone())?,
        memory_size: u64_at(entry, 40),
        rights: segment_rights(u32_at(entry, 4)),
    };
    let end = segment.address.checked_add(segment.memory_size).ok_or(wild.clone())?;
    if segment.address < range.start || end > range.end || segment.file_size > segment.memory_size {
        return Err(wild);
    }
    if segment.offset.checked_add(segment.file_size).is_none_or(|end| end > file_size) {
        return Err(SpawnError::Truncated("last segment"));
    }
    Ok(segment)
}

/// The version in a note of ours, if `bytes` (the content of a note segment) holds one.
fn native_note(mut bytes: &[u8]) -> Option<u32> {
    while bytes.len() >= 12 {
        let name_size = u32_at(bytes, 0) as usize;
        let word_size = u32_at(bytes, 4) as usize;
        let kind = u32_at(bytes, 8);
        let word_start = 12 + name_size.checked_next_multiple_of(4)?;
        let end = word_start.checked_add(word_size.checked_next_multiple_of(4)?)?;
        if bytes.get(12..12 + 6) == Some(b"Nacre\0") && name_size == 6 && kind == NOTE_TYPE && word_size >= 4 {
            return bytes.get(word_start..word_start + 4).map(|word| u32_at(word, 0));
        }
        bytes = bytes.get(end..)?;
    }
    None
}

/// The path in an interpreter segment, which ends with a zero.
fn interpreter(source: &mut impl Source, entry: &[u8]) -> Result<Vec<u8>, SpawnError> {
    const PART: &str = "dynamic linker's name";
    let size = u64_at(entry, 32).min(MAX_INTERPRETER);
    let mut bytes = read_part(source, u64_at(entry, 8), size, PART)?;
    let end = bytes.iter().position(|byte| *byte == 0).ok_or(SpawnError::Truncated(PART))?;
    bytes.truncate(end);
    Ok(bytes)
}

fn add_segment(segments: &mut Vec<Segment>, next: Segment, number: usize) -> Result<(), SpawnError> {
    if next.memory_size == 0 {
        return Ok(());
    }
    if segments.last().is_some_and(|last| next.pages().start < last.pages().end) {
        return Err(SpawnError::Overlap(number));
    }
    segments.push(next);
    Ok(())
}

/// Returns the address of file offset `offset`, if a segment holds it and `size` bytes behind it.
fn address_of(segments: &[Segment], offset: u64, size: u64) -> Option<u64> {
    let holder = segments
        .iter()
        .find(|part| offset >= part.offset && offset - part.offset + size <= part.file_size)?;
    Some(holder.address + (offset - holder.offset))
}

fn entry_is_code(segments: &[Segment], entry: u64) -> bool {
    let inside = |part: &&Segment| (part.address..part.address + part.memory_size).contains(&entry);
    segments.iter().find(inside).is_some_and(|part| part.rights.contains(Rights::EXECUTE))
}

/// Decodes the program in `source`. All of it must lie in `range`; one that can be loaded anywhere
/// is put `bias` higher than it says.
pub fn decode(source: &mut impl Source, range: Range<u64>, bias: u64) -> Result<Image, SpawnError> {
    let header = read_header(source)?;
    let header_count = u64::from(u16_at(&header, 56));
    let headers_offset = u64_at(&header, 32);
    let is_movable = u16_at(&header, 16) == TYPE_MOVABLE;
    let bias = if is_movable { bias } else { 0 };
    let table = read_part(source, headers_offset, header_count * HEADER_ENTRY_SIZE, "program headers")?;
    let mut segments = Vec::new();
    let (mut native_version, mut linker, mut constant) = (None, None, 0..0);
    for (number, entry) in table.chunks_exact(HEADER_ENTRY_SIZE as usize).enumerate() {
        match u32_at(entry, 0) {
            PT_LOAD => {
                let next = segment(entry, number, bias, &range, source.size())?;
                add_segment(&mut segments, next, number)?;
            }
            PT_INTERP => linker = Some(interpreter(source, entry)?),
            PT_NOTE => {
                let note = read_part(source, u64_at(entry, 8), u64_at(entry, 32).min(MAX_NOTE), "note")?;
                native_version = native_version.or(native_note(&note));
            }
            PT_GNU_RELRO if !is_movable => constant = u64_at(entry, 16)..u64_at(entry, 16).saturating_add(u64_at(entry, 40)),
            _ => {}
        }
    }
    let entry = u64_at(&header, 24).checked_add(bias).ok_or(SpawnError::WildEntry)?;
    if !entry_is_code(&segments, entry) {
        return Err(SpawnError::WildEntry);
    }
    let headers_address = address_of(&segments, headers_offset, header_count * HEADER_ENTRY_SIZE).unwrap_or(0);
    Ok(Image { entry, segments, headers_address, header_count, native_version, interpreter: linker, constant })
}

#[cfg(test)]
#[path = "elf_tests.rs"]
mod tests;
