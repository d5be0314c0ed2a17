//! Pages in a file that outlive the machine: at each moment the file holds the last whole
//! *generation* of all lasting dataspaces.
//!
//! A generation is a table: names, sizes, and the block of each page with its checksum. A new one
//! is written to blocks that the last one does not use, and
//! then, as the very last step, named by one of two *heads*, blocks 0 and 1, which take turns.
//! Whoever is killed before that step has written nothing.
//! A block is free when neither the last generation nor a page in use has it.

mod head;
mod load;
mod table;

use crate::store::{Full, Lasting, Lost, Saved, Store};
use crate::{PAGE, Page};
use alloc::boxed::Box;
use alloc::vec::Vec;
use head::Head;
pub use load::Unusable;
use twox_hash::XxHash3_64;

/// A file of blocks of one page each.
pub trait Blocks {
    /// Number of blocks.
    fn count(&self) -> u64;
    /// Reads a block.
    fn read(&mut self, block: u64, into: &mut Page) -> Result<(), Failed>;
    /// Writes a block.
    fn write(&mut self, block: u64, from: &Page) -> Result<(), Failed>;
    /// Returns when all that was written is where it stays.
    fn settle(&mut self) -> Result<(), Failed>;
}

/// The file cannot be read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed;

/// Blocks of the two heads.
const HEADS: u64 = 2;
/// Fewest blocks of a file.
const MIN_BLOCKS: u64 = 16;
/// Bytes of a table's block that are the table's; before them stands the number of the next block.
const PAYLOAD: usize = PAGE - 8;
/// Bytes that a table takes for a page, at most: a dataspace of one page with the longest name.
const RECORD: u64 = 304;

/// A page in use is in the block.
const USED: u8 = 1;
/// The last generation needs the block.
const KEPT: u8 = 2;
/// The generation that is being written, or read, needs the block.
const NEXT: u8 = 4;

/// A store whose dataspaces last.
pub struct Generations<B> {
    blocks: B,
    flags: Vec<u8>,
    sums: Vec<u64>,
    used: u64,
    hint: u64,
    last: Head,
    /// The file may hold a generation that this program does not know of, so nothing is written any
    /// more.
    is_broken: bool,
    buffer: Box<Page>,
}

/// A file that was opened.
pub struct Opened<B> {
    /// The store.
    pub store: Generations<B>,
    /// Dataspaces of the last whole generation.
    pub saved: Vec<Saved>,
    /// A newer generation was damaged, and is not used.
    pub is_older: bool,
}

fn checksum(bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot(bytes)
}

impl<B: Blocks> Generations<B> {
    /// Opens a file, all of whose last generation is checked. A file of zeros becomes one without
    /// dataspaces.
    pub fn open(blocks: B) -> Result<Opened<B>, Unusable> {
        load::open(blocks)
    }

    /// Number of the last generation.
    pub fn generation(&self) -> u64 {
        self.last.generation
    }

    /// The file.
    pub fn blocks_mut(&mut self) -> &mut B {
        &mut self.blocks
    }

    /// A block that nobody needs.
    fn free(&mut self) -> Result<u64, Full> {
        let count = self.flags.len() as u64 - HEADS;
        let found = (0..count).map(|step| HEADS + (self.hint + step) % count).find(|block| self.flags[*block as usize] == 0).ok_or(Full)?;
        self.hint = found - HEADS + 1;
        Ok(found)
    }

    /// Writes the table of the next generation into free blocks: the first of them, or 0.
    fn write_table(&mut self, table: &[u8]) -> Result<u64, Full> {
        let mut numbers = Vec::new();
        numbers.try_reserve(table.len().div_ceil(PAYLOAD)).map_err(|_| Full)?;
        for _ in table.chunks(PAYLOAD) {
            let block = self.free()?;
            self.flags[block as usize] |= NEXT;
            numbers.push(block);
        }
        for (index, part) in table.chunks(PAYLOAD).enumerate() {
            let next = numbers.get(index + 1).copied().unwrap_or(0);
            self.buffer.fill(0);
            self.buffer[..8].copy_from_slice(&next.to_le_bytes());
            self.buffer[8..8 + part.len()].copy_from_slice(part);
            self.blocks.write(numbers[index], &self.buffer).map_err(|Failed| Full)?;
        }
        Ok(numbers.first().copied().unwrap_or(0))
    }

    /// Writes all of the next generation but its head: the head.
    fn write_next(&mut self, saved: &[Saved]) -> Result<Head, Full> {
        let table = table::encode(saved, |block| self.sums.get(block as usize).copied()).ok_or(Full)?;
        for (_, block) in saved.iter().flat_map(|one| &one.pages) {
            self.flags[*block as usize] |= NEXT;
        }
        let (size, sum) = (table.len() as u64, checksum(&table));
        let head = Head { blocks: self.flags.len() as u64, generation: self.last.generation + 1, size, sum, ..self.last };
        if (size, sum) == (self.last.size, self.last.sum) {
            return Ok(self.last);
        }
        let first = self.write_table(&table)?;
        self.blocks.settle().map_err(|Failed| Full)?;
        Ok(Head { first, ..head })
    }

    /// The next generation is the last one if `is_whole`, and else is forgotten.
    fn conclude(&mut self, is_whole: bool) {
        for flags in &mut self.flags {
            if is_whole {
                *flags = *flags & USED | if *flags & NEXT != 0 { KEPT } else { 0 };
            } else {
                *flags &= !NEXT;
            }
        }
    }

    /// A head that was not written for certain may be there or not, and either generation may be
    /// found.
    fn write_head(&mut self, head: &Head) -> Result<(), Full> {
        let written = self.blocks.write(head.place(), &head.encode()).and_then(|()| self.blocks.settle());
        self.is_broken = written.is_err();
        written.map_err(|Failed| Full)
    }
}

impl<B: Blocks> Lasting for Generations<B> {
    fn commit(&mut self, saved: &[Saved]) -> Result<bool, Full> {
        if self.is_broken {
            return Err(Full);
        }
        let head = self.write_next(saved).inspect_err(|Full| self.conclude(false))?;
        if head == self.last {
            self.conclude(false);
            return Ok(false);
        }
        self.write_head(&head)?;
        self.last = head;
        self.conclude(true);
        Ok(true)
    }
}

impl<B: Blocks> Store for Generations<B> {
    fn put(&mut self, page: &Page) -> Result<u64, Full> {
        if self.is_broken {
            return Err(Full);
        }
        let block = self.free()?;
        self.blocks.write(block, page).map_err(|Failed| Full)?;
        self.sums[block as usize] = checksum(page);
        self.flags[block as usize] |= USED;
        self.used += 1;
        Ok(block)
    }

    fn get(&mut self, number: u64, into: &mut Page) -> Result<(), Lost> {
        let sum = self.sums.get(number as usize).ok_or(Lost)?;
        self.blocks.read(number, into).map_err(|Failed| Lost)?;
        if checksum(into) == *sum { Ok(()) } else { Err(Lost) }
    }

    fn drop(&mut self, number: u64) {
        if let Some(flags) = self.flags.get_mut(number as usize).filter(|flags| **flags & USED != 0) {
            *flags &= !USED;
            self.used -= 1;
        }
    }

    /// Half of the file, since each page may have to be there twice, and so may the table.
    fn capacity(&self) -> u64 {
        (self.flags.len() as u64 - HEADS - 2) * PAGE as u64 / (2 * (PAGE as u64 + RECORD))
    }

    fn used(&self) -> u64 {
        self.used * PAGE as u64
    }

    fn keeps_all(&self) -> bool {
        true
    }

    fn lasting(&mut self) -> Option<&mut dyn Lasting> {
        Some(self)
    }
}
