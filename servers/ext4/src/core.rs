//! State of a mounted volume below its files: blocks, facts, and what a transaction has set free.

use crate::bytes::{halves, set_u16, set_u32, u16_at, u32_at};
use crate::cache::Cache;
use crate::checksum::crc32c;
use crate::disk::Disk;
use crate::geometry::{Geometry, at};
use crate::known::Known;
use crate::unsealed::Unsealed;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use nacre_machine_9p::{Errno, Time};

/// Clock that gives the present time.
pub type Clock = Box<dyn FnMut() -> Time + Send>;

/// Blocks that belong to a file no longer, and whose old contents the volume's last state needs
/// until the transaction is committed.
#[derive(Clone, Copy)]
pub struct Freed {
    /// First block.
    pub start: u64,
    /// Number of blocks.
    pub count: u32,
    /// True if the journal may have the blocks: it must not bring them back.
    pub is_logged: bool,
}

impl Freed {
    /// Returns the number of blocks that the journal must not bring back.
    fn revoked(&self) -> usize {
        if self.is_logged { self.count as usize } else { 0 }
    }
}

/// State of a mounted volume below its files.
pub struct Core<D> {
    pub cache: Cache<D>,
    pub geometry: Geometry,
    /// Blocks that the running transaction has set free.
    pub freed: Vec<Freed>,
    /// Number of blocks of `freed` that the journal may have.
    pub revoked: usize,
    /// Length of `freed` before the running operation.
    pub freed_before: usize,
    /// Bits of `freed` in the bitmap of each group that has any.
    pub busy: BTreeMap<u32, Vec<u8>>,
    /// Blocks whose checksums the next commit computes.
    pub unsealed: Unsealed,
    /// Paths of files that were found.
    pub known: Known,
    /// First blocks of tables of inodes, of groups that were looked at.
    pub tables: BTreeMap<u32, u64>,
    pub clock: Clock,
}

impl<D: Disk> Core<D> {
    /// Keeps what the running operation changed.
    pub fn keep(&mut self) {
        self.cache.keep();
        self.unsealed.keep();
        self.known.keep();
        self.freed_before = self.freed.len();
    }

    /// Takes back what the running operation changed.
    pub fn take_back(&mut self) {
        self.cache.take_back();
        self.unsealed.take_back();
        self.known.take_back();
        for freed in self.freed.split_off(self.freed_before) {
            self.set_busy(&freed, false);
            self.revoked -= freed.revoked();
        }
    }

    /// Gives the blocks free that the transaction which is now committed has set free.
    pub fn committed(&mut self) {
        self.freed.clear();
        (self.freed_before, self.revoked) = (0, 0);
        self.busy.clear();
    }

    /// Notes blocks, all of one group, that have been set free.
    pub fn note_freed(&mut self, freed: Freed) {
        self.set_busy(&freed, true);
        self.revoked += freed.revoked();
        self.freed.push(freed);
    }

    fn set_busy(&mut self, freed: &Freed, is_busy: bool) {
        let (group, first) = self.geometry.group_of(freed.start);
        let size = self.geometry.block_size;
        let bits = self.busy.entry(group).or_insert_with(|| alloc::vec![0; size]);
        for bit in first..first.saturating_add(freed.count) {
            if let Some(byte) = bits.get_mut(bit as usize / 8) {
                let mask = 1 << (bit % 8);
                *byte = if is_busy { *byte | mask } else { *byte & !mask };
            }
        }
    }

    /// Returns a copy of the superblock.
    pub fn superblock(&mut self) -> Result<Vec<u8>, Errno> {
        let (block, place) = self.geometry.superblock();
        let content = self.cache.read(block)?;
        Ok(content[place..place + crate::geometry::SUPERBLOCK_SIZE].to_vec())
    }

    /// Returns the number of free blocks.
    pub fn free_blocks(&mut self) -> Result<u64, Errno> {
        let bytes = self.superblock()?;
        let high = if self.geometry.is_64_bit() { u32_at(&bytes, at::FREE_BLOCKS_HIGH) } else { 0 };
        Ok(halves(u32_at(&bytes, at::FREE_BLOCKS), high))
    }

    /// Changes the superblock, whose checksum is right after the next commit.
    pub fn edit_superblock(&mut self, change: impl FnOnce(&mut [u8])) -> Result<(), Errno> {
        let (block, place) = self.geometry.superblock();
        let content = self.cache.edit(block)?;
        let bytes = &mut content[place..place + crate::geometry::SUPERBLOCK_SIZE];
        change(bytes);
        Ok(())
    }

    /// Changes the counts of free blocks and free inodes.
    pub fn count(&mut self, blocks: i64, inodes: i32) -> Result<(), Errno> {
        let is_large = self.geometry.is_64_bit();
        self.edit_superblock(|bytes| {
            let high = if is_large { u32_at(bytes, at::FREE_BLOCKS_HIGH) } else { 0 };
            let free = halves(u32_at(bytes, at::FREE_BLOCKS), high);
            let free = free.saturating_add_signed(blocks);
            set_u32(bytes, at::FREE_BLOCKS, free as u32);
            if is_large {
                set_u32(bytes, at::FREE_BLOCKS_HIGH, (free >> 32) as u32);
            }
            let free = u32_at(bytes, at::FREE_INODES).saturating_add_signed(inodes);
            set_u32(bytes, at::FREE_INODES, free);
        })
    }

    /// Returns the present time.
    pub fn now(&mut self) -> Time {
        (self.clock)()
    }
}

/// Writes the checksum of a superblock.
pub fn seal_superblock(bytes: &mut [u8], geometry: &Geometry) {
    if geometry.has_checksums() {
        let sum = crc32c(!0, &bytes[..at::CHECKSUM]);
        set_u32(bytes, at::CHECKSUM, sum);
    }
}

/// Number of 32 bits that is kept as two halves of 16 bits, the high one only where there is room.
pub fn split_at(bytes: &[u8], low: usize, high: Option<usize>) -> u32 {
    u32::from(u16_at(bytes, low)) | high.map_or(0, |high| u32::from(u16_at(bytes, high)) << 16)
}

/// Writes a number as `split_at` reads it.
pub fn set_split(bytes: &mut [u8], low: usize, high: Option<usize>, value: u32) {
    set_u16(bytes, low, value as u16);
    if let Some(high) = high {
        set_u16(bytes, high, (value >> 16) as u16);
    }
}
