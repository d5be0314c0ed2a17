//! Groups of blocks: their descriptors and bitmaps.

use crate::bytes::{halves, set_u16, set_u32, u16_at, u32_at};
use crate::cache::Content;
use crate::checksum::{crc16, crc32c};
use crate::core::{Core, set_split, split_at};
use crate::disk::{Disk, errno};
use crate::geometry::Geometry;
pub use crate::unsealed::Bitmap;
use alloc::vec::Vec;
use core::ops::Range;
use nacre_machine_9p::Errno;

/// Places in a descriptor.
const BLOCK_BITMAP: usize = 0;
const INODE_BITMAP: usize = 4;
const INODE_TABLE: usize = 8;
const FREE_BLOCKS: (usize, usize) = (12, 44);
const FREE_INODES: (usize, usize) = (14, 46);
const DIRECTORIES: (usize, usize) = (16, 48);
const FLAGS: usize = 18;
const BLOCK_SUM: (usize, usize) = (24, 56);
const INODE_SUM: (usize, usize) = (26, 58);
const UNUSED_INODES: (usize, usize) = (28, 50);
const CHECKSUM: usize = 30;
/// Distance of the high half of a block number.
const HIGH: usize = 32;

/// Flags: a bitmap that is not filled in yet.
const INODES_EMPTY: u16 = 1;
const BLOCKS_EMPTY: u16 = 2;

impl Bitmap {
    fn empty_flag(self) -> u16 {
        match self {
            Bitmap::Blocks => BLOCKS_EMPTY,
            Bitmap::Inodes => INODES_EMPTY,
        }
    }
}

/// Descriptor of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    number: u32,
    bytes: Vec<u8>,
}

impl Group {
    fn is_large(&self) -> bool {
        self.bytes.len() >= 64
    }

    fn block(&self, at: usize) -> u64 {
        halves(u32_at(&self.bytes, at), if self.is_large() { u32_at(&self.bytes, at + HIGH) } else { 0 })
    }

    fn get(&self, (low, high): (usize, usize)) -> u32 {
        split_at(&self.bytes, low, self.is_large().then_some(high))
    }

    fn set(&mut self, (low, high): (usize, usize), value: u32) {
        let high = self.is_large().then_some(high);
        set_split(&mut self.bytes, low, high, value);
    }

    /// Returns the block of a bitmap.
    pub fn bitmap(&self, bitmap: Bitmap) -> u64 {
        self.block(if bitmap == Bitmap::Blocks { BLOCK_BITMAP } else { INODE_BITMAP })
    }

    /// Returns the first block of the table of inodes.
    pub fn inode_table(&self) -> u64 {
        self.block(INODE_TABLE)
    }

    /// Returns the number of free blocks or inodes.
    pub fn free(&self, bitmap: Bitmap) -> u32 {
        self.get(if bitmap == Bitmap::Blocks { FREE_BLOCKS } else { FREE_INODES })
    }

    /// Changes the number of free blocks or inodes.
    pub fn count_free(&mut self, bitmap: Bitmap, change: i32) {
        let field = if bitmap == Bitmap::Blocks { FREE_BLOCKS } else { FREE_INODES };
        self.set(field, self.get(field).saturating_add_signed(change));
    }

    /// Changes the number of directories.
    pub fn count_directories(&mut self, change: i32) {
        self.set(DIRECTORIES, self.get(DIRECTORIES).saturating_add_signed(change));
    }

    /// Returns the number of inodes at the end of the table that were never used.
    pub fn unused_inodes(&self) -> u32 {
        self.get(UNUSED_INODES)
    }

    /// Sets the number of inodes at the end of the table that were never used.
    pub fn set_unused_inodes(&mut self, count: u32) {
        self.set(UNUSED_INODES, count);
    }

    /// Returns true if a bitmap is not filled in.
    pub fn is_empty(&self, bitmap: Bitmap, geometry: &Geometry) -> bool {
        geometry.has_group_flags() && u16_at(&self.bytes, FLAGS) & bitmap.empty_flag() != 0
    }

    fn set_filled(&mut self, bitmap: Bitmap) {
        let flags = u16_at(&self.bytes, FLAGS) & !bitmap.empty_flag();
        set_u16(&mut self.bytes, FLAGS, flags);
    }

    /// Returns the checksum of the descriptor.
    fn sum(&self, geometry: &Geometry) -> u16 {
        let number = self.number.to_le_bytes();
        let (before, after) = (&self.bytes[..CHECKSUM], &self.bytes[CHECKSUM + 2..]);
        if geometry.has_checksums() {
            let parts = [&number[..], before, &[0, 0], after];
            return parts.iter().fold(geometry.seed, |sum, part| crc32c(sum, part)) as u16;
        }
        let parts = [&geometry.uuid[..], &number, before, after];
        parts.iter().fold(!0, |sum, part| crc16(sum, part))
    }
}

impl<D: Disk> Core<D> {
    /// Reads the descriptor of a group, and checks it.
    pub fn group(&mut self, number: u32) -> Result<Group, Errno> {
        let (block, at) = self.geometry.descriptor(number);
        let content = self.cache.read(block)?;
        let bytes = content[at..at + self.geometry.descriptor_size].to_vec();
        let group = Group { number, bytes };
        let table = group.inode_table();
        let size = self.geometry.inodes_per_group as u64 * self.geometry.inode_size as u64;
        let end = table.checked_add(size.div_ceil(self.geometry.block_size as u64));
        let first = self.geometry.first_block;
        let is_inside = |block: u64| block > first && block < self.geometry.blocks;
        let bitmaps = [group.bitmap(Bitmap::Blocks), group.bitmap(Bitmap::Inodes), table];
        let is_right = !self.geometry.has_group_flags()
            || u16_at(&group.bytes, CHECKSUM) == group.sum(&self.geometry);
        let ends = end.is_some_and(|end| end <= self.geometry.blocks);
        if is_right && ends && bitmaps.into_iter().all(is_inside) { Ok(group) } else { Err(errno::CORRUPT) }
    }

    /// Writes the descriptor of a group.
    pub fn set_group(&mut self, mut group: Group) -> Result<(), Errno> {
        if self.geometry.has_group_flags() {
            let sum = group.sum(&self.geometry);
            set_u16(&mut group.bytes, CHECKSUM, sum);
        }
        let (block, at) = self.geometry.descriptor(group.number);
        let content = self.cache.edit(block)?;
        content[at..at + group.bytes.len()].copy_from_slice(&group.bytes);
        Ok(())
    }

    /// Returns a bitmap of a group.
    pub fn bitmap(&mut self, group: &Group, bitmap: Bitmap) -> Result<Content, Errno> {
        if !group.is_empty(bitmap, &self.geometry) {
            return self.cache.read(group.bitmap(bitmap));
        }
        let mut bits = alloc::vec![0; self.geometry.block_size];
        let (used, count) = match bitmap {
            Bitmap::Blocks => (self.own_blocks(group), self.geometry.group_blocks(group.number)),
            Bitmap::Inodes => (Vec::new(), self.geometry.inodes_per_group),
        };
        used.into_iter().for_each(|bit| set_bit(&mut bits, bit, true));
        (count..8 * bits.len() as u32).for_each(|bit| set_bit(&mut bits, bit, true));
        Ok(bits.into())
    }

    /// Sets or clears bits of a bitmap of a group. Its checksum in the descriptor is right after
    /// the next commit.
    pub fn change_bits(
        &mut self, group: &mut Group, bitmap: Bitmap, bits: Range<u32>, value: bool,
    ) -> Result<(), Errno> {
        let block = group.bitmap(bitmap);
        if group.is_empty(bitmap, &self.geometry) {
            let filled = self.bitmap(group, bitmap)?;
            self.cache.edit(block)?.copy_from_slice(&filled);
            group.set_filled(bitmap);
        }
        let content = self.cache.edit(block)?;
        bits.for_each(|at| set_bit(content, at, value));
        self.unsealed.note_bitmap(group.number, bitmap);
        Ok(())
    }

    /// Writes the checksum of a bitmap into the descriptor of its group.
    pub fn seal_bitmap(&mut self, mut group: Group, bitmap: Bitmap) -> Result<(), Errno> {
        let (count, place) = match bitmap {
            Bitmap::Blocks => (self.geometry.blocks_per_group, BLOCK_SUM),
            Bitmap::Inodes => (self.geometry.inodes_per_group, INODE_SUM),
        };
        let bits = self.cache.read(group.bitmap(bitmap))?;
        let sum = crc32c(self.geometry.seed, &bits[..bits.len().min(count as usize / 8)]);
        group.set(place, sum);
        self.set_group(group)
    }

    /// Returns the blocks, counted from the group's first, that describe the volume or the group.
    fn own_blocks(&self, group: &Group) -> Vec<u32> {
        let geometry = &self.geometry;
        let mut used = Vec::new();
        if geometry.has_superblock(group.number) {
            used.extend(0..1 + geometry.table_blocks() as u32 + geometry.reserved_table);
        }
        let size = geometry.inodes_per_group as usize * geometry.inode_size;
        let table = group.inode_table();
        let tables = table..table.saturating_add(size.div_ceil(geometry.block_size) as u64);
        let bitmaps = [group.bitmap(Bitmap::Blocks), group.bitmap(Bitmap::Inodes)];
        let inside = |block: &u64| geometry.group_of(*block).0 == group.number;
        let blocks = bitmaps.into_iter().chain(tables).filter(inside);
        used.extend(blocks.map(|block| geometry.group_of(block).1));
        used.retain(|bit| *bit < geometry.blocks_per_group);
        used
    }
}

/// Returns true if a bit of a bitmap is set. There are none beyond the end.
pub fn bit(bits: &[u8], at: u32) -> bool {
    bits.get(at as usize / 8).is_some_and(|byte| byte >> (at % 8) & 1 != 0)
}

/// Sets or clears a bit of a bitmap.
pub fn set_bit(bits: &mut [u8], at: u32, value: bool) {
    if let Some(byte) = bits.get_mut(at as usize / 8) {
        let mask = 1 << (at % 8);
        *byte = if value { *byte | mask } else { *byte & !mask };
    }
}

/// Writes a block number in two halves.
pub fn set_halves(bytes: &mut [u8], low: usize, high: usize, value: u64) {
    set_u32(bytes, low, value as u32);
    set_u16(bytes, high, (value >> 32) as u16);
}
