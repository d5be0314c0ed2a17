//! Listing of a directory. The guest may go on behind any entry, a tree only where it stopped: so
//! an offset is the number of a batch of the tree's and of an entry in it, and the last batch is
//! kept.

use crate::attributes::{self, kind_of};
use crate::message::Writer;
use crate::tree::{Entry, Errno, Tree};
use alloc::vec::Vec;

/// Entries of a batch that an offset can count.
const ENTRIES_BITS: u32 = 24;
/// Largest number of batches of one listing.
const MAX_BATCHES: usize = 1 << 16;

/// An entry that is kept.
struct Kept {
    inode: u64,
    mode: u32,
    name: Vec<u8>,
}

/// Batch that was fetched last, of whichever directory.
#[derive(Default)]
pub struct Batch {
    /// Number of the guest's for the directory, and of the batch; `None`: nothing is kept.
    of: Option<(u32, usize)>,
    entries: Vec<Kept>,
    /// Cookie of the next batch; 0: there is none.
    next: u64,
}

impl Batch {
    /// Forgets the entries.
    pub fn clear(&mut self) {
        *self = Self::default();
    }
}

/// Listing of one open directory: cookies of the batches seen so far. The first is 0 and not kept.
#[derive(Default)]
pub struct Listing(Vec<u64>);

impl Listing {
    fn cookie(&self, batch: usize) -> Option<u64> {
        batch.checked_sub(1).map_or(Some(0), |index| self.0.get(index).copied())
    }

    fn note(&mut self, batch: usize, next: u64) {
        if let Some(place) = self.0.get_mut(batch) {
            *place = next;
        } else if self.0.len() == batch && batch < MAX_BATCHES {
            self.0.push(next);
        }
    }
}

/// A directory that is listed.
pub struct Directory<'a, T: Tree> {
    /// Number of the guest's for it.
    pub number: u32,
    /// The open directory.
    pub file: &'a T::Open,
    /// Position of its listing.
    pub listing: &'a mut Listing,
    /// Batch that was fetched last.
    pub batch: &'a mut Batch,
}

impl<T: Tree> Directory<'_, T> {
    /// Makes sure that a batch is kept. Returns false if there is none of this number. The first is
    /// always fetched anew, since a guest that goes there wants to see what is new.
    fn fetch(&mut self, tree: &mut T, number: usize) -> Result<bool, Errno> {
        let wanted = Some((self.number, number));
        if number != 0 && self.batch.of == wanted {
            return Ok(true);
        }
        let Some(cookie) = self.listing.cookie(number) else { return Ok(false) };
        self.batch.clear();
        let entries = &mut self.batch.entries;
        let mut keep = |entry: Entry<'_>| {
            let Entry { inode, mode, name } = entry;
            entries.push(Kept { inode, mode, name: name.to_vec() });
        };
        let next = tree.list(self.file, cookie, &mut keep)?;
        (self.batch.of, self.batch.next) = (wanted, next);
        if next != 0 {
            self.listing.note(number, next);
        }
        Ok(true)
    }

    /// Writes entries from an offset on: as many as fit into `count` bytes.
    pub fn write(
        mut self, tree: &mut T, offset: u64, count: usize, answer: &mut Writer<'_>,
    ) -> Result<(), Errno> {
        let mut number = (offset >> ENTRIES_BITS) as usize;
        let mut index = (offset & ((1 << ENTRIES_BITS) - 1)) as usize;
        answer.counted(|room| {
            let limit = count.min(room.len());
            let mut used = 0;
            while self.fetch(tree, number)? {
                for kept in self.batch.entries.iter().skip(index) {
                    index += 1;
                    let offset = (number as u64) << ENTRIES_BITS | index as u64;
                    let Some(size) = put(&mut room[used..limit], kept, offset) else {
                        return Ok(used);
                    };
                    used += size;
                }
                if self.batch.next == 0 {
                    break;
                }
                (number, index) = (number + 1, 0);
            }
            Ok(used)
        })
    }
}

/// Writes an entry: number of the file, offset behind it, kind, name. Returns its size, if it fits.
fn put(room: &mut [u8], entry: &Kept, offset: u64) -> Option<usize> {
    let length = u16::try_from(entry.name.len()).ok()?.to_le_bytes();
    let number = attributes::number(entry.mode, entry.inode, 0);
    let parts = [&number[..], &offset.to_le_bytes(), &[kind_of(entry.mode)], &length, &entry.name];
    let size = parts.iter().map(|part| part.len()).sum();
    let mut place = room.get_mut(..size)?;
    for part in parts {
        let (here, rest) = place.split_at_mut(part.len());
        here.copy_from_slice(part);
        place = rest;
    }
    Some(size)
}
