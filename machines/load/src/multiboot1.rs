//! Kernels by the protocol multiboot (specification 0.6.96): a header in the first 8 KiB, and a
//! structure with flags that say which of its fields are there.

use crate::elf::word;
use crate::multiboot::{Addresses, Boot, LOADER, Places, head, sum};
use crate::{ByteSource, GuestMemory, LoadError, Start};
use alloc::vec::Vec;

/// Bytes of a file that have the header, at a multiple of 4.
const HEAD: u64 = 8192;
const MAGIC: u32 = 0x1bad_b002;
/// Number by which a kernel knows its loader.
const LOADED: u32 = 0x2bad_b002;
/// Bits of the header. Of the lower half, a loader has to know all that are set.
const PAGES: u32 = 1;
const MEMORY: u32 = 1 << 1;
const SCREEN: u32 = 1 << 2;
const REQUIRED: u32 = 0xffff;
const HAS_ADDRESSES: u32 = 1 << 16;
/// Offsets in the header of the addresses and of the entry.
const ADDRESSES: usize = 12;
const ENTRY: usize = 28;
/// Size of a module's entry in their table.
const MODULE_SIZE: usize = 16;
/// Size of the structure, with the fields that no kernel is told of here.
const SIZE: usize = 120;
/// Flags of the structure: sizes of memory, command line, modules, memory map, name of the loader.
const FLAGS: u32 = 1 | 1 << 2 | 1 << 3 | 1 << 6 | 1 << 9;

/// Returns the place of the header in a file's first bytes.
fn find(head: &[u8]) -> Option<usize> {
    (0..head.len().saturating_sub(11)).step_by(4).find(|at| word(head, *at) == MAGIC && sum(head, *at, 3) == 0)
}

/// Returns true if a file has a header of this protocol.
pub fn has_header(kernel: &dyn ByteSource) -> bool {
    head(kernel, HEAD).is_ok_and(|head| find(&head).is_some())
}

/// Loads a kernel and its modules.
///
/// An error leaves guest memory with a part of it all.
pub fn load(memory: &mut dyn GuestMemory, boot: &Boot) -> Result<Start, LoadError> {
    let head = boot.head(HEAD)?;
    let at = find(&head).ok_or(LoadError::NotMultiboot)?;
    let (header, flags) = (&head[at..], word(&head, at + 4));
    if flags & REQUIRED & SCREEN != 0 {
        return Err(LoadError::NeedsScreen);
    }
    if flags & REQUIRED & !(PAGES | MEMORY) != 0 {
        return Err(LoadError::UnknownRequirement);
    }
    let has_addresses = flags & HAS_ADDRESSES != 0;
    if has_addresses && header.len() < ENTRY + 4 {
        return Err(LoadError::BadHeader);
    }
    let words = [0, 4, 8, 12].map(|field| word(header, ADDRESSES + field));
    let addresses = has_addresses.then_some(Addresses { header_offset: at as u64, words });
    let program = boot.program(addresses, has_addresses.then(|| word(header, ENTRY)))?;
    let (line, texts) = boot.texts()?;
    boot.load(memory, &program, LOADED, |places| information(places, &line, &texts))
}

/// Returns the structure, and what it leads to behind it.
fn information(places: &Places, line: &[u8], texts: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = alloc::vec![0; SIZE];
    let put = |bytes: &mut Vec<u8>, at: usize, value: u32| bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
    // Tables come first, so that they are aligned.
    let add = |bytes: &mut Vec<u8>, more: &[u8]| {
        let at = places.information as u32 + bytes.len() as u32;
        bytes.extend_from_slice(more);
        at
    };
    let entry = |(start, size, kind): (u64, u64, u32)| [&20u32.to_le_bytes()[..], &start.to_le_bytes(), &size.to_le_bytes(), &kind.to_le_bytes()].concat();
    let map: Vec<u8> = places.map().into_iter().flat_map(entry).collect();
    let map_at = add(&mut bytes, &map);
    let table = bytes.len();
    let table_at = add(&mut bytes, &alloc::vec![0; MODULE_SIZE * texts.len()]);
    let [line, loader] = [line, LOADER].map(|text| add(&mut bytes, text));
    let [low, high] = places.sizes();
    for (at, value) in [(0, FLAGS), (4, low), (8, high), (16, line), (44, map.len() as u32), (48, map_at), (64, loader)] {
        put(&mut bytes, at, value);
    }
    for (number, ([start, end], text)) in places.modules.iter().zip(texts).enumerate() {
        let (text, module) = (add(&mut bytes, text), table + MODULE_SIZE * number);
        for (at, value) in [(20, number as u32 + 1), (24, table_at), (module, *start), (module + 4, *end), (module + 8, text)] {
            put(&mut bytes, at, value);
        }
    }
    bytes
}

#[cfg(test)]
#[path = "multiboot1_tests.rs"]
pub(crate) mod tests;
