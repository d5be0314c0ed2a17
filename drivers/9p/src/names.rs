//! Names, and the entries of a directory.

use crate::Error;
use crate::answer::Answer;
use alloc::vec::Vec;

/// Length of the longest name.
const MAX_NAME: usize = 255;

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Linux's `d_type`.
    pub kind: u8,
    /// The name.
    pub name: Vec<u8>,
}

/// Returns true for what can be the name of a file.
pub fn is_name(name: &[u8]) -> bool {
    (1..=MAX_NAME).contains(&name.len()) && name != b"." && name != b".." && !name.iter().any(|byte| matches!(byte, 0 | b'/'))
}

/// Largest number of entries in one directory.
const MAX_ENTRIES: usize = 1 << 20;
/// Largest number of bytes that the entries of one directory take.
const MAX_BYTES: usize = 64 << 20;
/// Bytes that an entry takes beside its name.
const OVERHEAD: usize = 64;
/// Largest number of parts of one listing that hold no name.
const MAX_EMPTY_PARTS: usize = 16;

/// Collects the entries of a directory, part by part, within the limits above.
#[derive(Debug, Default)]
pub struct Listing {
    entries: Vec<Entry>,
    bytes: usize,
    empty_parts: usize,
    /// Number of parts, and the offset behind the last part whose number is a power of two. A
    /// server that goes in a circle comes back to such an offset.
    parts: u64,
    mark: u64,
}

impl Listing {
    /// Adds the entries of a part, without those that have no valid name. Returns the offset behind
    /// the last entry; `None` at the end of the listing.
    pub fn add(&mut self, part: &[u8]) -> Result<Option<u64>, Error> {
        let (mut answer, mut next, before) = (Answer(part), None, self.entries.len());
        while !answer.0.is_empty() {
            answer.qid()?;
            let (offset, kind, name) = (answer.number(8)?, answer.number(1)? as u8, answer.string()?);
            next = Some(offset);
            if is_name(name) {
                self.push(kind, name)?;
            }
        }
        let Some(offset) = next else { return Ok(None) };
        self.empty_parts += usize::from(self.entries.len() == before);
        self.parts += 1;
        if self.empty_parts > MAX_EMPTY_PARTS || offset == self.mark {
            return Err(Error::BROKEN);
        }
        if self.parts.is_power_of_two() {
            self.mark = offset;
        }
        Ok(next)
    }

    fn push(&mut self, kind: u8, name: &[u8]) -> Result<(), Error> {
        self.bytes += OVERHEAD + name.len();
        if self.entries.len() >= MAX_ENTRIES || self.bytes > MAX_BYTES {
            return Err(Error::NO_MEMORY);
        }
        let mut own = Vec::new();
        own.try_reserve_exact(name.len()).map_err(|_| Error::NO_MEMORY)?;
        own.extend_from_slice(name);
        self.entries.try_reserve(1).map_err(|_| Error::NO_MEMORY)?;
        self.entries.push(Entry { kind, name: own });
        Ok(())
    }

    /// Returns the entries in the order of their names, each name once.
    pub fn finish(mut self) -> Vec<Entry> {
        self.entries.sort_unstable_by(|one, other| one.name.cmp(&other.name));
        self.entries.dedup_by(|one, other| one.name == other.name);
        self.entries
    }
}
