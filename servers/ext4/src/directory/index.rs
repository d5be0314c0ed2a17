//! Indices of directories: trees of one or two levels that lead from hashes to blocks.

use crate::bytes::{set_u16, set_u32, u16_at, u32_at};
use crate::checksum::crc32c;
use crate::core::Core;
use crate::directory::block;
use crate::disk::{Disk, errno};
use crate::hash::{Hash, hash};
use crate::inode::Inode;
use alloc::vec::Vec;
use nacre_machine_9p::Errno;

/// Places in the first block of an indexed directory.
const VERSION: usize = 28;
const INFO_SIZE: usize = 29;
const LEVELS: usize = 30;
/// Positions of the entries in the first block, and in others.
const ROOT_ENTRIES: usize = 32;
const NODE_ENTRIES: usize = 8;
const ENTRY: usize = 8;
const INFO: u8 = 8;
/// Size of the checksum's place behind all entries.
const TAIL: usize = 8;

/// Node of an index on the way to a block.
#[derive(Clone, Debug)]
pub struct Frame {
    /// Block of the directory.
    pub block: u32,
    /// Hashes from which on names are in blocks. The first counts as 0.
    pub entries: Vec<(u32, u32)>,
    /// Entry that the way goes through.
    pub at: usize,
}

/// Way through an index to a block.
#[derive(Clone, Debug)]
pub struct Way {
    /// Number of the hash function.
    pub version: u8,
    /// Nodes from the first block on.
    pub frames: Vec<Frame>,
}

impl Way {
    /// Returns the block of the directory that the way leads to.
    pub fn leaf(&self) -> u32 {
        self.frames.last().and_then(|frame| frame.entries.get(frame.at)).map_or(0, |entry| entry.1)
    }

    /// Returns the hash from which on names are in the next block.
    pub fn next(&self) -> Option<u32> {
        let next = |frame: &Frame| frame.entries.get(frame.at + 1).map(|entry| entry.0);
        self.frames.iter().rev().find_map(next)
    }

    /// Returns true if names with a hash may be in the next block, too.
    pub fn goes_on(&self, hash: u32) -> bool {
        self.next().is_some_and(|next| next & 1 != 0 && next & !1 == hash)
    }
}

impl<D: Disk> Core<D> {
    /// Returns the number of entries that fit into a node of an index.
    pub fn index_room(&self, is_root: bool) -> usize {
        let tail = if self.geometry.has_checksums() { TAIL } else { 0 };
        let first = if is_root { ROOT_ENTRIES } else { NODE_ENTRIES };
        (self.geometry.block_size - tail - first) / ENTRY
    }

    /// Reads a node of an index.
    fn frame(&mut self, inode: &Inode, block: u32, wanted: u32) -> Result<Frame, Errno> {
        let content = self.directory_block(inode, block)?;
        let first = if block == 0 { ROOT_ENTRIES } else { NODE_ENTRIES };
        let (room, count) = (u16_at(&content, first), usize::from(u16_at(&content, first + 2)));
        let is_room = usize::from(room) == self.index_room(block == 0);
        if !is_room || count == 0 || count > room.into() || (block != 0 && u32_at(&content, 0) != 0) {
            return Err(errno::CORRUPT);
        }
        let entry = |index: usize| {
            let at = first + ENTRY * index;
            (if index == 0 { 0 } else { u32_at(&content, at) }, u32_at(&content, at + 4))
        };
        let entries: Vec<_> = (0..count).map(entry).collect();
        let blocks = inode.size() / self.geometry.block_size as u64;
        let leads_down = entries.iter().all(|(_, below)| *below > 0 && u64::from(*below) < blocks);
        if !leads_down || !entries.is_sorted_by_key(|entry| entry.0) {
            return Err(errno::CORRUPT);
        }
        let at = entries.partition_point(|entry| entry.0 <= wanted).saturating_sub(1);
        Ok(Frame { block, entries, at })
    }

    /// Returns the hash function of an indexed directory, and the number of levels below the root.
    fn index_kind(&mut self, inode: &Inode) -> Result<(u8, u8), Errno> {
        let root = self.directory_block(inode, 0)?;
        let (version, levels) = (root[VERSION], root[LEVELS]);
        let is_right = root[INFO_SIZE] == INFO && levels <= 1 && version <= 5;
        if is_right { Ok((version, levels)) } else { Err(errno::CORRUPT) }
    }

    /// Returns the hash of a name in an indexed directory.
    pub fn index_hash(&mut self, inode: &Inode, name: &[u8]) -> Result<Hash, Errno> {
        let (version, _) = self.index_kind(inode)?;
        hash(name, version, &self.geometry).ok_or(errno::CORRUPT)
    }

    /// Returns the way to the first block that may have names with a hash.
    pub fn index_way(&mut self, inode: &Inode, wanted: u32) -> Result<Way, Errno> {
        let (version, levels) = self.index_kind(inode)?;
        let mut frames = Vec::from([self.frame(inode, 0, wanted)?]);
        for _ in 0..levels {
            let below = frames.last().map_or(0, |frame| frame.entries[frame.at].1);
            frames.push(self.frame(inode, below, wanted)?);
        }
        Ok(Way { version, frames })
    }

    /// Goes on to the next block. Returns false if there is none.
    pub fn index_next(&mut self, inode: &Inode, way: &mut Way) -> Result<bool, Errno> {
        let levels = way.frames.len();
        let can_go = |frame: &Frame| frame.at + 1 < frame.entries.len();
        let Some(level) = way.frames.iter().rposition(can_go) else { return Ok(false) };
        way.frames[level].at += 1;
        way.frames.truncate(level + 1);
        while way.frames.len() < levels {
            let below = way.frames.last().map_or(0, |frame| frame.entries[frame.at].1);
            let frame = self.frame(inode, below, 0)?;
            way.frames.push(Frame { at: 0, ..frame });
        }
        Ok(true)
    }

    /// Writes the entries of a node, and its checksum.
    pub fn set_frame(&mut self, inode: &Inode, frame: &Frame) -> Result<(), Errno> {
        let room = self.index_room(frame.block == 0);
        let seed = self.geometry.has_checksums().then(|| inode.seed(self.geometry.seed));
        let first = if frame.block == 0 { ROOT_ENTRIES } else { NODE_ENTRIES };
        let place = self.directory_place(inode, frame.block)?;
        self.unsealed.forget_directory(place);
        let content = self.cache.edit(place)?;
        for (index, (hash, block)) in frame.entries.iter().enumerate() {
            let at = first + ENTRY * index;
            set_u32(content, at, *hash);
            set_u32(content, at + 4, *block);
        }
        set_u16(content, first, room as u16);
        set_u16(content, first + 2, frame.entries.len() as u16);
        if let Some(seed) = seed {
            let (used, tail) = (first + ENTRY * frame.entries.len(), first + ENTRY * room);
            let sum = crc32c(seed, &content[..used]);
            let sum = crc32c(crc32c(sum, &content[tail..tail + 4]), &[0; 4]);
            set_u32(content, tail + 4, sum);
        }
        Ok(())
    }

    /// Makes an index of the first block of a directory: its entries go to another one.
    pub fn make_index(&mut self, inode: &mut Inode) -> Result<(), Errno> {
        let size = self.geometry.block_size;
        let old = self.directory_block(inode, 0)?;
        let end = self.entries_end();
        let leaf = self.grow_directory(inode)?;
        let kept: Vec<_> = block::entries(&old[..end])?.into_iter().filter(|entry| entry.is_named()).collect();
        let content = self.edit_directory(inode, leaf)?;
        block::fill(&mut content[..end], kept.iter().map(|entry| (entry.inode, entry.kind, entry.name)));
        self.seal_directory(inode, leaf)?;
        let version = self.geometry.hash_version.min(2);
        let parent = self.parent(inode)?;
        let root = self.edit_directory(inode, 0)?;
        root.fill(0);
        block::put(root, 0, 12, inode.number, 2, b".");
        block::put(root, 12, size - 12, parent, 2, b"..");
        root[VERSION] = version;
        root[INFO_SIZE] = INFO;
        inode.set_flags(inode.flags() | crate::inode::flag::INDEX);
        self.set_frame(inode, &Frame { block: 0, entries: [(0, leaf)].into(), at: 0 })
    }

    /// Makes room for one more entry in the last node of a way.
    pub fn make_index_room(&mut self, inode: &mut Inode, way: &mut Way) -> Result<(), Errno> {
        let last = way.frames.len() - 1;
        if way.frames[last].entries.len() < self.index_room(last == 0) {
            return Ok(());
        }
        if last == 0 {
            return self.deepen_index(inode, way);
        }
        if way.frames[0].entries.len() >= self.index_room(true) {
            return Err(errno::NOSPC);
        }
        let block = self.new_index_node(inode)?;
        let mut lower = way.frames[last].clone();
        let half = lower.entries.len() / 2;
        let mut upper = Frame { block, entries: lower.entries.split_off(half), at: 0 };
        let at = way.frames[0].at + 1;
        way.frames[0].entries.insert(at, (upper.entries[0].0, block));
        self.set_frame(inode, &way.frames[0])?;
        self.set_frame(inode, &lower)?;
        self.set_frame(inode, &upper)?;
        if lower.at >= half {
            upper.at = lower.at - half;
            way.frames[0].at += 1;
            lower = upper;
        }
        way.frames[last] = lower;
        Ok(())
    }

    fn new_index_node(&mut self, inode: &mut Inode) -> Result<u32, Errno> {
        let size = self.geometry.block_size;
        let block = self.grow_directory(inode)?;
        block::put(self.edit_directory(inode, block)?, 0, size, 0, 0, b"");
        Ok(block)
    }

    /// Puts a level between the first block and the leaves.
    fn deepen_index(&mut self, inode: &mut Inode, way: &mut Way) -> Result<(), Errno> {
        let block = self.new_index_node(inode)?;
        let node = Frame { block, ..way.frames[0].clone() };
        let root = Frame { block: 0, entries: [(0, block)].into(), at: 0 };
        self.edit_directory(inode, 0)?[LEVELS] = 1;
        self.set_frame(inode, &node)?;
        self.set_frame(inode, &root)?;
        way.frames = [root, node].into();
        Ok(())
    }
}
