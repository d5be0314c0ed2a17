//! The table of a generation: for each dataspace the size of its name, the name, its length in
//! bytes, the number of its pages, and of each page its place, its block and the block's checksum.

use crate::PAGE;
use crate::store::Saved;
use alloc::vec::Vec;

/// Size of the longest name.
pub const MAX_NAME: usize = 255;
/// Bytes of a page's entry.
const ENTRY: usize = 24;

/// An entry of a table: a block, and what its checksum must be.
pub type Entry = (u64, u64);

/// The bytes of a table. `None`: there is no memory, or a page is nowhere.
pub fn encode(saved: &[Saved], sum: impl Fn(u64) -> Option<u64>) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(saved.iter().map(|one| 32 + one.name.len() + one.pages.len() * ENTRY).sum()).ok()?;
    for one in saved {
        bytes.extend_from_slice(&(one.name.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&one.name);
        for word in [one.length, one.count, one.pages.len() as u64] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        for (place, block) in &one.pages {
            for word in [*place, *block, sum(*block)?] {
                bytes.extend_from_slice(&word.to_le_bytes());
            }
        }
    }
    Some(bytes)
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn word(&mut self) -> Option<u64> {
        let (word, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*word))
    }

    fn bytes(&mut self, size: u64) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(usize::try_from(size).ok()?)?;
        self.0 = rest;
        Some(bytes)
    }

    fn saved(&mut self, entry: &mut impl FnMut(Entry) -> Option<()>) -> Option<Saved> {
        let size = self.word().filter(|size| *size <= MAX_NAME as u64)?;
        let name = self.bytes(size)?.to_vec();
        let (length, count, pages) = (self.word()?, self.word()?, self.word()?);
        if count == 0 || length > count.checked_mul(PAGE as u64)? || pages > (self.0.len() / ENTRY) as u64 {
            return None;
        }
        let mut saved = Saved { name, length, count, pages: Vec::new() };
        saved.pages.try_reserve_exact(pages as usize).ok()?;
        for _ in 0..pages {
            let (place, block, sum) = (self.word()?, self.word()?, self.word()?);
            if place >= count || saved.pages.last().is_some_and(|(last, _)| *last >= place) {
                return None;
            }
            entry((block, sum))?;
            saved.pages.push((place, block));
        }
        Some(saved)
    }
}

/// Reads a table that anybody may have written. `entry` is asked about each block. `None`: the
/// table is not one of ours, or `entry` said so.
pub fn decode(bytes: &[u8], mut entry: impl FnMut(Entry) -> Option<()>) -> Option<Vec<Saved>> {
    let (mut reader, mut all) = (Reader(bytes), Vec::<Saved>::new());
    while !reader.0.is_empty() {
        let saved = reader.saved(&mut entry)?;
        // Tables are written in the order of names.
        if all.last().is_some_and(|last| last.name >= saved.name) {
            return None;
        }
        all.try_reserve(1).ok()?;
        all.push(saved);
    }
    Some(all)
}
