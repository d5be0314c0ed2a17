//! Inodes: their fields, and where they stand.

use crate::bytes::{halves, set_u16, set_u32, u16_at, u32_at};
use crate::checksum::crc32c;
use crate::core::{Core, set_split, split_at};
use crate::disk::{Disk, errno};
use alloc::vec;
use alloc::vec::Vec;
use nacre_machine_9p::{Errno, Status, Time};

/// Number of the outermost directory.
pub const ROOT: u32 = 2;
/// Bits of a mode that are the kind, and the kinds.
pub const KIND: u32 = 0o170000;
pub const DIRECTORY: u32 = 0o040000;
pub const REGULAR: u32 = 0o100000;
pub const LINK: u32 = 0o120000;
pub const CHARACTERS: u32 = 0o020000;
pub const BLOCKS: u32 = 0o060000;
pub const FIFO: u32 = 0o010000;
pub const SOCKET: u32 = 0o140000;

/// Flags of an inode.
pub mod flag {
    pub const IMMUTABLE: u32 = 0x10;
    pub const APPEND: u32 = 0x20;
    pub const INDEX: u32 = 0x1000;
    pub const HUGE: u32 = 0x4_0000;
    pub const EXTENTS: u32 = 0x8_0000;
    /// Kinds of contents that are not known: encrypted, inline, verity.
    pub const UNKNOWN: u32 = 0x800 | 0x10_0000 | 0x1000_0000;
}

/// Places in an inode.
const MODE: usize = 0;
const UID: (usize, usize) = (2, 120);
const SIZE: (usize, usize) = (4, 108);
const ACCESSED: (usize, usize) = (8, 140);
const CHANGED: (usize, usize) = (12, 132);
const MODIFIED: (usize, usize) = (16, 136);
const DELETED: usize = 20;
const GID: (usize, usize) = (24, 122);
const LINKS: usize = 26;
const SECTORS: (usize, usize) = (28, 116);
const FLAGS: usize = 32;
const MAP: usize = 40;
const GENERATION: usize = 100;
const ATTRIBUTES: (usize, usize) = (104, 118);
const SUM: (usize, usize) = (124, 130);
const EXTRA: usize = 128;
const MADE: (usize, usize) = (144, 148);
/// Size of the map of blocks in an inode.
pub const MAP_SIZE: usize = 60;
const BASE_SIZE: usize = 128;

/// A time of an inode.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Last read.
    Accessed,
    /// Last change of contents or status.
    Changed,
    /// Last change of contents.
    Modified,
    /// Making.
    Made,
}

impl Moment {
    fn places(self) -> (usize, usize) {
        match self {
            Moment::Accessed => ACCESSED,
            Moment::Changed => CHANGED,
            Moment::Modified => MODIFIED,
            Moment::Made => MADE,
        }
    }
}

/// An inode, as a copy that `set_inode` writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inode {
    /// Number of the inode.
    pub number: u32,
    bytes: Vec<u8>,
}

impl Inode {
    /// Returns an empty inode.
    pub fn new(number: u32, size: usize, extra: u16) -> Inode {
        let mut bytes = vec![0; size.max(BASE_SIZE)];
        if size > BASE_SIZE {
            set_u16(&mut bytes, EXTRA, extra);
        }
        Inode { number, bytes }
    }

    /// Returns true if the inode has a field beyond the first 128 bytes that ends at a place.
    fn has(&self, end: usize) -> bool {
        self.bytes.len() > BASE_SIZE && BASE_SIZE + usize::from(u16_at(&self.bytes, EXTRA)) >= end
    }

    /// Returns kind and permissions.
    pub fn mode(&self) -> u32 {
        u16_at(&self.bytes, MODE).into()
    }

    /// Sets kind and permissions.
    pub fn set_mode(&mut self, mode: u32) {
        set_u16(&mut self.bytes, MODE, mode as u16);
    }

    /// Returns the kind.
    pub fn kind(&self) -> u32 {
        self.mode() & KIND
    }

    /// Returns true for a directory.
    pub fn is_directory(&self) -> bool {
        self.kind() == DIRECTORY
    }

    /// Returns the size in bytes.
    pub fn size(&self) -> u64 {
        halves(u32_at(&self.bytes, SIZE.0), u32_at(&self.bytes, SIZE.1))
    }

    /// Sets the size in bytes.
    pub fn set_size(&mut self, size: u64) {
        set_u32(&mut self.bytes, SIZE.0, size as u32);
        set_u32(&mut self.bytes, SIZE.1, (size >> 32) as u32);
    }

    /// Returns the number of names.
    pub fn links(&self) -> u16 {
        u16_at(&self.bytes, LINKS)
    }

    /// Sets the number of names.
    pub fn set_links(&mut self, links: u16) {
        set_u16(&mut self.bytes, LINKS, links);
    }

    /// Returns the owner and the group.
    pub fn owner(&self) -> (u32, u32) {
        let part = |(low, high)| split_at(&self.bytes, low, Some(high));
        (part(UID), part(GID))
    }

    /// Sets owner and group.
    pub fn set_owner(&mut self, uid: u32, gid: u32) {
        set_split(&mut self.bytes, UID.0, Some(UID.1), uid);
        set_split(&mut self.bytes, GID.0, Some(GID.1), gid);
    }

    /// Returns the flags.
    pub fn flags(&self) -> u32 {
        u32_at(&self.bytes, FLAGS)
    }

    /// Sets the flags.
    pub fn set_flags(&mut self, flags: u32) {
        set_u32(&mut self.bytes, FLAGS, flags);
    }

    /// Returns true if any of some flags is set.
    pub fn has_flag(&self, flags: u32) -> bool {
        self.flags() & flags != 0
    }

    /// Returns the time of deletion, or the next inode of the list of orphans.
    pub fn deleted(&self) -> u32 {
        u32_at(&self.bytes, DELETED)
    }

    /// Sets the time of deletion, or the next inode of the list of orphans.
    pub fn set_deleted(&mut self, value: u32) {
        set_u32(&mut self.bytes, DELETED, value);
    }

    /// Returns the generation, which tells apart files that have had one number.
    pub fn generation(&self) -> u32 {
        u32_at(&self.bytes, GENERATION)
    }

    /// Sets the generation.
    pub fn set_generation(&mut self, generation: u32) {
        set_u32(&mut self.bytes, GENERATION, generation);
    }

    /// Returns the block of attributes; 0: there is none.
    pub fn attributes(&self) -> u64 {
        halves(u32_at(&self.bytes, ATTRIBUTES.0), u16_at(&self.bytes, ATTRIBUTES.1).into())
    }

    /// Sets the block of attributes; 0: there is none.
    pub fn set_attributes(&mut self, block: u64) {
        crate::groups::set_halves(&mut self.bytes, ATTRIBUTES.0, ATTRIBUTES.1, block);
    }

    /// Returns the place of attributes behind the fields. `None`: the inode has none.
    fn attribute_place(&self) -> Option<usize> {
        let extra = usize::from(u16_at(&self.bytes, EXTRA));
        let is_there = self.bytes.len() > BASE_SIZE && extra >= 4 && extra.is_multiple_of(4);
        Some(BASE_SIZE + extra).filter(|place| is_there && place + 8 <= self.bytes.len())
    }

    /// Returns the room for attributes behind the fields.
    pub fn attribute_area(&self) -> Option<&[u8]> {
        self.bytes.get(self.attribute_place()?..)
    }

    /// Returns the room for attributes behind the fields to change.
    pub fn attribute_area_mut(&mut self) -> Option<&mut [u8]> {
        let place = self.attribute_place()?;
        self.bytes.get_mut(place..)
    }

    /// Returns the map of blocks, the target of a short link, or the number of a device.
    pub fn map(&self) -> &[u8] {
        &self.bytes[MAP..MAP + MAP_SIZE]
    }

    /// Returns the map of blocks to change.
    pub fn map_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[MAP..MAP + MAP_SIZE]
    }

    /// Returns the number of blocks of 512 bytes.
    pub fn sectors(&self, block_size: usize) -> u64 {
        let count = halves(u32_at(&self.bytes, SECTORS.0), u16_at(&self.bytes, SECTORS.1).into());
        if self.has_flag(flag::HUGE) { count.saturating_mul(block_size as u64 / 512) } else { count }
    }

    /// Changes the number of blocks of the volume's size.
    pub fn count_blocks(&mut self, change: i64, block_size: usize) {
        let unit = if self.has_flag(flag::HUGE) { 1 } else { block_size as i64 / 512 };
        let count = halves(u32_at(&self.bytes, SECTORS.0), u16_at(&self.bytes, SECTORS.1).into());
        let count = count.saturating_add_signed(change.saturating_mul(unit));
        crate::groups::set_halves(&mut self.bytes, SECTORS.0, SECTORS.1, count);
    }

    /// Returns a time.
    pub fn time(&self, moment: Moment) -> Time {
        let (low, extra) = moment.places();
        let base = i64::from(u32_at(&self.bytes, low).cast_signed());
        if !self.has(extra + 4) {
            return Time { seconds: base.cast_unsigned(), nanoseconds: 0 };
        }
        let extra = u32_at(&self.bytes, extra);
        let seconds = base + (i64::from(extra & 3) << 32);
        Time { seconds: seconds.cast_unsigned(), nanoseconds: u64::from(extra >> 2).min(999_999_999) }
    }

    /// Sets a time. It becomes the nearest that the inode can hold.
    pub fn set_time(&mut self, moment: Moment, time: Time) {
        let (low, extra) = moment.places();
        let seconds = time.seconds.cast_signed();
        let (first, last) = (i64::from(i32::MIN), i64::from(i32::MAX));
        if moment == Moment::Made && !self.has(low + 4) {
            return;
        }
        if !self.has(extra + 4) {
            return set_u32(&mut self.bytes, low, seconds.clamp(first, last) as u32);
        }
        let seconds = seconds.clamp(first, last + (3 << 32));
        let above = (seconds - i64::from(seconds as i32)) >> 32;
        set_u32(&mut self.bytes, low, seconds as u32);
        let nanoseconds = time.nanoseconds.min(999_999_999) as u32;
        set_u32(&mut self.bytes, extra, nanoseconds << 2 | (above as u32 & 3));
    }

    /// Returns the number of the device that the file is, as Linux's `makedev` has it.
    pub fn device(&self) -> u64 {
        if !matches!(self.kind(), CHARACTERS | BLOCKS) {
            return 0;
        }
        match (u32_at(self.map(), 0), u32_at(self.map(), 4)) {
            (0, new) => {
                let (major, minor) = (u64::from(new >> 8 & 0xfff), u64::from(new & 0xff | new >> 12 & 0xf_ff00));
                major << 8 | minor & 0xff | (minor & !0xff) << 12
            }
            (old, _) => u64::from(old & 0xffff),
        }
    }

    /// Makes the file a device.
    pub fn set_device(&mut self, device: u64) {
        let (major, minor) = ((device >> 8 & 0xfff) as u32, (device & 0xff) as u32 | (device >> 12 & 0xf_ff00) as u32);
        if major < 256 && minor < 256 {
            set_u32(self.map_mut(), 0, major << 8 | minor);
        } else {
            set_u32(self.map_mut(), 4, minor & 0xff | major << 8 | (minor & !0xff) << 12);
        }
    }

    /// Returns the status.
    pub fn status(&self, block_size: usize) -> Status {
        let (uid, gid) = self.owner();
        Status {
            device: 0,
            inode: self.number.into(),
            mode: self.mode(),
            links: self.links().into(),
            uid,
            gid,
            rdevice: self.device(),
            size: self.size(),
            block_size: block_size as u64,
            blocks: self.sectors(block_size),
            accessed: self.time(Moment::Accessed),
            modified: self.time(Moment::Modified),
            changed: self.time(Moment::Changed),
        }
    }

    /// Returns the seed of checksums of what belongs to the inode.
    pub fn seed(&self, seed: u32) -> u32 {
        let sum = crc32c(seed, &self.number.to_le_bytes());
        crc32c(sum, &self.generation().to_le_bytes())
    }

    /// Returns the checksum.
    fn sum(&self, seed: u32) -> u32 {
        let mut bytes = self.bytes.clone();
        set_u16(&mut bytes, SUM.0, 0);
        if self.has(SUM.1 + 2) {
            set_u16(&mut bytes, SUM.1, 0);
        }
        crc32c(self.seed(seed), &bytes)
    }

    fn is_sound(&self, seed: u32) -> bool {
        let high = self.has(SUM.1 + 2).then_some(SUM.1);
        let sum = self.sum(seed);
        split_at(&self.bytes, SUM.0, high) == if high.is_some() { sum } else { sum & 0xffff }
    }
}

/// Number of tables of inodes whose places are remembered.
const MAX_TABLES: usize = 4096;

impl<D: Disk> Core<D> {
    /// Returns the block and the position of an inode.
    fn inode_place(&mut self, number: u32) -> Result<(u64, usize), Errno> {
        let index = number.checked_sub(1).filter(|_| number <= self.geometry.inodes);
        let index = index.ok_or(errno::CORRUPT)?;
        let each = self.geometry.inodes_per_group;
        let table = self.inode_table(index / each)?;
        let at = (index % each) as usize * self.geometry.inode_size;
        let size = self.geometry.block_size;
        Ok((table + (at / size) as u64, at % size))
    }

    /// Returns the first block of a group's table of inodes, which stays where it is.
    fn inode_table(&mut self, group: u32) -> Result<u64, Errno> {
        if let Some(table) = self.tables.get(&group) {
            return Ok(*table);
        }
        let table = self.group(group)?.inode_table();
        if self.tables.len() >= MAX_TABLES {
            self.tables.clear();
        }
        self.tables.insert(group, table);
        Ok(table)
    }

    /// Reads an inode.
    pub fn inode(&mut self, number: u32) -> Result<Inode, Errno> {
        let (block, at) = self.inode_place(number)?;
        let content = self.cache.read(block)?;
        let bytes = content[at..at + self.geometry.inode_size].to_vec();
        let inode = Inode { number, bytes };
        if self.geometry.has_checksums() && !inode.is_sound(self.geometry.seed) {
            return Err(errno::CORRUPT);
        }
        Ok(inode)
    }

    /// Reads the inode that an entry of a directory names.
    pub fn named_inode(&mut self, number: u32) -> Result<Inode, Errno> {
        if number != ROOT && number < self.geometry.first_inode {
            return Err(errno::CORRUPT);
        }
        let inode = self.inode(number)?;
        let is_known = !inode.has_flag(flag::UNKNOWN);
        if is_known && inode.links() > 0 && inode.mode() != 0 { Ok(inode) } else { Err(errno::CORRUPT) }
    }

    /// Writes an inode.
    pub fn set_inode(&mut self, inode: &Inode) -> Result<(), Errno> {
        let mut bytes = inode.bytes.clone();
        if self.geometry.has_checksums() {
            let high = inode.has(SUM.1 + 2).then_some(SUM.1);
            set_split(&mut bytes, SUM.0, high, inode.sum(self.geometry.seed));
        }
        let (block, at) = self.inode_place(inode.number)?;
        let content = self.cache.edit(block)?;
        content[at..at + bytes.len()].copy_from_slice(&bytes);
        Ok(())
    }
}
