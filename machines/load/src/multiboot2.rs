//! Kernels by the protocol multiboot 2 (specification 2.0): a header of tags in the first 32 KiB,
//! and information of tags.

use crate::elf::{half, word};
use crate::multiboot::{Addresses, Boot, LOADER, Places, head, sum};
use crate::{ByteSource, GuestMemory, LoadError, Start, acpi};
use alloc::vec::Vec;

/// Bytes of a file that have the header, at a multiple of 8.
const HEAD: u64 = 32768;
const MAGIC: u32 = 0xe852_50d6;
/// Architecture: 32-bit protected mode of i386.
const I386: u32 = 0;
/// Size of the header before its tags.
const HEADER_SIZE: usize = 16;
/// Number by which a kernel knows its loader.
const LOADED: u32 = 0x36d7_6289;
/// Bit of a console tag: the kernel wants a console that the loader has set up.
const NEEDS_CONSOLE: u32 = 1;
/// Highest kind of the information's tags that the specification names.
const MAX_INFORMATION: u32 = 21;

/// Kinds of tags in a header.
mod wanted {
    pub const END: u16 = 0;
    pub const INFORMATION: u16 = 1;
    pub const ADDRESSES: u16 = 2;
    pub const ENTRY: u16 = 3;
    pub const CONSOLE: u16 = 4;
    pub const FRAMEBUFFER: u16 = 5;
    pub const PAGES: u16 = 6;
    /// Boot services of EFI may go on, and the entries for EFI, of which there is none.
    pub const EFI: core::ops::RangeInclusive<u16> = 7..=9;
    pub const RELOCATABLE: u16 = 10;
}

/// Kinds of tags in the information.
mod told {
    pub const END: u32 = 0;
    pub const COMMAND_LINE: u32 = 1;
    pub const LOADER: u32 = 2;
    pub const MODULE: u32 = 3;
    pub const SIZES: u32 = 4;
    pub const MAP: u32 = 6;
    pub const OLD_ACPI: u32 = 14;
    pub const ACPI: u32 = 15;
    pub const ADDRESS: u32 = 21;
}

/// Wishes of a kernel that matter.
#[derive(Default)]
struct Header {
    addresses: Option<Addresses>,
    entry: Option<u32>,
    /// The kernel could lie elsewhere, and asks where it lies.
    is_relocatable: bool,
}

/// Returns the place of the header in a file's first bytes.
fn find(head: &[u8]) -> Option<usize> {
    let is_header = |at: &usize| word(head, *at) == MAGIC && word(head, at + 4) == I386 && sum(head, *at, 4) == 0;
    (0..head.len().saturating_sub(HEADER_SIZE - 1)).step_by(8).find(is_header)
}

/// Returns true if a file has a header of this protocol.
pub fn has_header(kernel: &dyn ByteSource) -> bool {
    head(kernel, HEAD).is_ok_and(|head| find(&head).is_some())
}

impl Header {
    /// Reads the tags of the header at `at`.
    fn decode(head: &[u8], at: usize) -> Result<Header, LoadError> {
        let length = word(head, at + 8) as usize;
        let bytes = head[at..].get(..length).ok_or(LoadError::BadHeader)?;
        let (mut header, mut place) = (Header::default(), HEADER_SIZE);
        loop {
            let rest = bytes.get(place..).unwrap_or_default();
            let size = word(rest, 4) as usize;
            let tag = rest.get(..size).filter(|tag| tag.len() >= 8).ok_or(LoadError::BadHeader)?;
            if half(tag, 0) == wanted::END {
                return Ok(header);
            }
            header.take(tag, at as u64)?;
            place += size.next_multiple_of(8);
        }
    }

    /// Takes a tag of a header that lies at `at` in the file.
    fn take(&mut self, tag: &[u8], at: u64) -> Result<(), LoadError> {
        let is_required = half(tag, 2) & 1 == 0;
        let sized = |size| if tag.len() < size { Err(LoadError::BadHeader) } else { Ok(()) };
        match half(tag, 0) {
            wanted::INFORMATION => {
                let is_known = |kind: &[u8]| (1..=MAX_INFORMATION).contains(&word(kind, 0));
                if is_required && !tag[8..].chunks_exact(4).all(is_known) {
                    return Err(LoadError::UnknownRequirement);
                }
            }
            wanted::ADDRESSES => {
                sized(24)?;
                self.addresses = Some(Addresses { header_offset: at, words: [8, 12, 16, 20].map(|field| word(tag, field)) });
            }
            wanted::ENTRY => {
                sized(12)?;
                self.entry = Some(word(tag, 8));
            }
            wanted::CONSOLE if is_required && word(tag, 8) & NEEDS_CONSOLE != 0 => return Err(LoadError::NeedsScreen),
            wanted::FRAMEBUFFER if is_required => return Err(LoadError::NeedsScreen),
            wanted::CONSOLE | wanted::FRAMEBUFFER | wanted::PAGES => {}
            kind if wanted::EFI.contains(&kind) => {}
            wanted::RELOCATABLE => self.is_relocatable = true,
            _ if is_required => return Err(LoadError::UnknownRequirement),
            _ => {}
        }
        Ok(())
    }
}

/// Loads a kernel and its modules. Tables of [`acpi`] are told of if they are
/// there.
///
/// An error leaves guest memory with a part of it all.
pub fn load(memory: &mut dyn GuestMemory, boot: &Boot) -> Result<Start, LoadError> {
    let head = boot.head(HEAD)?;
    let at = find(&head).ok_or(LoadError::NotMultiboot)?;
    let header = Header::decode(&head, at)?;
    let program = boot.program(header.addresses, header.entry)?;
    let address = program.parts.iter().map(|part| part.address).min().filter(|_| header.is_relocatable);
    let (line, texts) = boot.texts()?;
    let mut tags = Vec::new();
    add(&mut tags, told::COMMAND_LINE, &line);
    add(&mut tags, told::LOADER, LOADER);
    if let Some(root) = acpi::find(memory) {
        add(&mut tags, told::OLD_ACPI, &root[..20]);
        add(&mut tags, told::ACPI, &root);
    }
    if let Some(address) = address {
        add(&mut tags, told::ADDRESS, &(address as u32).to_le_bytes());
    }
    boot.load(memory, &program, LOADED, |places| information(places, &tags, &texts))
}

/// Adds a tag.
fn add(tags: &mut Vec<u8>, kind: u32, content: &[u8]) {
    tags.extend_from_slice(&kind.to_le_bytes());
    tags.extend_from_slice(&(8 + content.len() as u32).to_le_bytes());
    tags.extend_from_slice(content);
    tags.resize(tags.len().next_multiple_of(8), 0);
}

/// Returns the information, with tags that do not depend on places.
fn information(places: &Places, tags: &[u8], texts: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = [&[0; 8], tags].concat();
    let words = |words: &[u32]| -> Vec<u8> { words.iter().flat_map(|word| word.to_le_bytes()).collect() };
    for (module, text) in places.modules.iter().zip(texts) {
        add(&mut bytes, told::MODULE, &[&words(module), &text[..]].concat());
    }
    add(&mut bytes, told::SIZES, &words(&places.sizes()));
    let entry = |(start, size, kind): (u64, u64, u32)| [&start.to_le_bytes()[..], &size.to_le_bytes(), &u64::from(kind).to_le_bytes()].concat();
    let map: Vec<u8> = places.map().into_iter().flat_map(entry).collect();
    add(&mut bytes, told::MAP, &[words(&[24, 0]), map].concat());
    add(&mut bytes, told::END, &[]);
    let size = bytes.len() as u32;
    bytes[..4].copy_from_slice(&size.to_le_bytes());
    bytes
}

#[cfg(test)]
#[path = "multiboot2_tests.rs"]
mod tests;
