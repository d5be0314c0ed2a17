//! Directories: entries that are found, added, changed, removed and listed.

pub mod block;
mod index;
mod list;

use crate::checksum::crc32c;
use crate::core::Core;
use crate::disk::{Disk, errno};
use crate::cache::Content;
use crate::hash::hash;
use crate::inode::{self, Inode, flag};
use alloc::vec::Vec;
use block::{MAX_NAME, TAIL, needs};
use index::Way;
use nacre_machine_9p::Errno;

/// Largest number of blocks of a directory: as many as an index can lead to, and not so many that
/// a search goes on for minutes.
const MAX_BLOCKS: u64 = 1 << 18;

/// Place of an entry in a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Number of the file.
    pub inode: u32,
    /// Block of the directory.
    block: u32,
    /// Position in the block, and bytes up to the next entry.
    at: usize,
    room: usize,
    /// Position and room of the entry before it.
    before: Option<(usize, usize)>,
}

/// Returns the kind of a file as directories number them.
pub fn kind_of(mode: u32) -> u8 {
    const KINDS: [u32; 8] = [
        0, inode::REGULAR, inode::DIRECTORY, inode::CHARACTERS, inode::BLOCKS, inode::FIFO,
        inode::SOCKET, inode::LINK,
    ];
    KINDS.iter().position(|kind| *kind == mode & inode::KIND).unwrap_or(0) as u8
}

/// Returns an error if a name cannot be that of an entry.
pub fn check_name(name: &[u8]) -> Result<(), Errno> {
    match name {
        b"" | b"." | b".." => Err(errno::INVAL),
        _ if name.len() > MAX_NAME => Err(errno::NAMETOOLONG),
        _ if name.contains(&0) || name.contains(&b'/') => Err(errno::INVAL),
        _ => Ok(()),
    }
}

fn find(bytes: &[u8], block: u32, name: &[u8]) -> Result<Option<Found>, Errno> {
    let mut before = None;
    for entry in block::entries(bytes)? {
        if entry.inode != 0 && entry.name == name {
            let (at, room, inode) = (entry.at, entry.room, entry.inode);
            return Ok(Some(Found { inode, block, at, room, before }));
        }
        before = Some((entry.at, entry.room));
    }
    Ok(None)
}

/// Writes the checksum of a block with entries.
pub fn seal(content: &mut [u8], seed: u32) {
    let sum = crc32c(seed, &content[..content.len() - TAIL]);
    block::put_tail(content, sum);
}

impl<D: Disk> Core<D> {
    /// Returns the position in a block of a directory behind the last entry.
    fn entries_end(&self) -> usize {
        self.geometry.block_size - if self.geometry.has_checksums() { TAIL } else { 0 }
    }

    /// Returns the number of blocks of a directory.
    fn directory_blocks(&self, inode: &Inode) -> Result<u32, Errno> {
        let blocks = inode.size() / self.geometry.block_size as u64;
        let is_right = blocks > 0 && blocks <= self.geometry.blocks.min(MAX_BLOCKS);
        u32::try_from(blocks).ok().filter(|_| is_right).ok_or(errno::CORRUPT)
    }

    fn directory_place(&mut self, inode: &Inode, block: u32) -> Result<u64, Errno> {
        let run = self.run(inode, block, 1)?;
        run.physical.filter(|_| run.is_written).ok_or(errno::CORRUPT)
    }

    fn directory_block(&mut self, inode: &Inode, block: u32) -> Result<Content, Errno> {
        let place = self.directory_place(inode, block)?;
        self.cache.read(place)
    }

    fn edit_directory(&mut self, inode: &Inode, block: u32) -> Result<&mut Vec<u8>, Errno> {
        let place = self.directory_place(inode, block)?;
        self.cache.edit(place)
    }

    /// Has the next commit write the checksum of a block with entries.
    fn seal_directory(&mut self, inode: &Inode, block: u32) -> Result<(), Errno> {
        if !self.geometry.has_checksums() {
            return Ok(());
        }
        let place = self.directory_place(inode, block)?;
        self.unsealed.note_directory(place, inode.seed(self.geometry.seed));
        // The tail stands in the block from now on: without it nothing ends the entries.
        block::put_tail(self.cache.edit(place)?, 0);
        Ok(())
    }

    /// Adds a block of zeros to a directory. Returns its number there.
    fn grow_directory(&mut self, inode: &mut Inode) -> Result<u32, Errno> {
        let size = self.geometry.block_size as u64;
        let block = u32::try_from(inode.size() / size).map_err(|_| errno::FBIG)?;
        let run = self.fill_hole(inode, block, 1)?;
        self.cache.fresh(run.physical.ok_or(errno::CORRUPT)?)?;
        inode.set_size((u64::from(block) + 1) * size);
        Ok(block)
    }

    /// Gives a new directory its first block.
    pub fn init_directory(&mut self, inode: &mut Inode, parent: u32) -> Result<(), Errno> {
        let end = self.entries_end();
        let block = self.grow_directory(inode)?;
        let content = self.edit_directory(inode, block)?;
        block::put(content, 0, 12, inode.number, 2, b".");
        block::put(content, 12, end - 12, parent, 2, b"..");
        self.seal_directory(inode, block)
    }

    /// Returns the number of the directory above one.
    pub fn parent(&mut self, inode: &Inode) -> Result<u32, Errno> {
        let content = self.directory_block(inode, 0)?;
        parent_of(&content)
    }

    /// Changes the number of the directory above one.
    pub fn set_parent(&mut self, inode: &Inode, parent: u32) -> Result<(), Errno> {
        self.parent(inode)?;
        crate::bytes::set_u32(self.edit_directory(inode, 0)?, 12, parent);
        if inode.has_flag(flag::INDEX) {
            let way = self.index_way(inode, 0)?;
            return self.set_frame(inode, &way.frames[0]);
        }
        self.seal_directory(inode, 0)
    }

    /// Looks a name up in a directory.
    pub fn find_entry(&mut self, inode: &Inode, name: &[u8]) -> Result<Option<Found>, Errno> {
        let end = self.entries_end();
        if inode.has_flag(flag::INDEX) && self.geometry.has_index() {
            let hash = self.index_hash(inode, name)?.major;
            let mut way = self.index_way(inode, hash)?;
            loop {
                let content = self.directory_block(inode, way.leaf())?;
                let found = find(&content[..end], way.leaf(), name)?;
                if found.is_some() || !way.goes_on(hash) || !self.index_next(inode, &mut way)? {
                    return Ok(found);
                }
            }
        }
        for block in 0..self.directory_blocks(inode)? {
            let content = self.directory_block(inode, block)?;
            if is_index_node(&content) || (block == 0 && inode.has_flag(flag::INDEX)) {
                continue;
            }
            if let Some(found) = find(&content[..end], block, name)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    /// Adds an entry, whose name is not there yet.
    pub fn add_entry(
        &mut self, inode: &mut Inode, name: &[u8], number: u32, kind: u8,
    ) -> Result<(), Errno> {
        if inode.has_flag(flag::INDEX) && self.geometry.has_index() {
            return self.add_indexed(inode, name, number, kind);
        }
        // A directory with an index that this volume no longer uses loses it.
        inode.set_flags(inode.flags() & !flag::INDEX);
        let blocks = self.directory_blocks(inode)?;
        for block in 0..blocks {
            if self.add_in_block(inode, block, name, number, kind)? {
                return Ok(());
            }
        }
        if blocks == 1 && self.geometry.has_index() {
            self.make_index(inode)?;
            return self.add_indexed(inode, name, number, kind);
        }
        let (block, end) = (self.grow_directory(inode)?, self.entries_end());
        let content = self.edit_directory(inode, block)?;
        block::put(content, 0, end, number, kind, name);
        self.seal_directory(inode, block)
    }

    fn add_in_block(
        &mut self, inode: &Inode, block: u32, name: &[u8], number: u32, kind: u8,
    ) -> Result<bool, Errno> {
        let end = self.entries_end();
        let content = self.directory_block(inode, block)?;
        // Without checksums an empty block of entries looks like a node of an index.
        if is_index_node(&content) && end < content.len() {
            return Ok(false);
        }
        let gap = block::gap(&block::entries(&content[..end])?, needs(name.len()));
        let Some(gap) = gap else { return Ok(false) };
        block::add(self.edit_directory(inode, block)?, gap, number, kind, name);
        self.seal_directory(inode, block)?;
        Ok(true)
    }

    fn add_indexed(
        &mut self, inode: &mut Inode, name: &[u8], number: u32, kind: u8,
    ) -> Result<(), Errno> {
        let hash = self.index_hash(inode, name)?.major;
        let mut way = self.index_way(inode, hash)?;
        if self.add_in_block(inode, way.leaf(), name, number, kind)? {
            return Ok(());
        }
        self.make_index_room(inode, &mut way)?;
        let block = self.split_leaf(inode, &mut way, hash)?;
        match self.add_in_block(inode, block, name, number, kind)? {
            true => Ok(()),
            false => Err(errno::CORRUPT),
        }
    }

    /// Moves the upper half of a leaf to a new one. Returns the one of the two that is a hash's.
    fn split_leaf(&mut self, inode: &mut Inode, way: &mut Way, wanted: u32) -> Result<u32, Errno> {
        let (end, leaf) = (self.entries_end(), way.leaf());
        let content = self.directory_block(inode, leaf)?;
        let mut entries: Vec<_> = Vec::new();
        for entry in block::entries(&content[..end])?.into_iter().filter(|entry| entry.inode != 0) {
            let hash = hash(entry.name, way.version, &self.geometry).ok_or(errno::CORRUPT)?;
            entries.push((hash.major, entry));
        }
        entries.sort_by_key(|(hash, _)| *hash);
        let half = self.geometry.block_size / 2;
        let (mut size, mut split) = (0, entries.len());
        while split > 1 && size + needs(entries[split - 1].1.name.len()) / 2 <= half {
            split -= 1;
            size += needs(entries[split].1.name.len());
        }
        if split == 0 || split == entries.len() {
            return Err(errno::CORRUPT);
        }
        let first = entries[split].0;
        let goes_on = u32::from(entries[split - 1].0 == first);
        let upper = self.grow_directory(inode)?;
        for (block, part) in [(leaf, &entries[..split]), (upper, &entries[split..])] {
            let part = part.iter().map(|(_, entry)| (entry.inode, entry.kind, entry.name));
            block::fill(&mut self.edit_directory(inode, block)?[..end], part);
            self.seal_directory(inode, block)?;
        }
        let last = way.frames.last_mut().ok_or(errno::CORRUPT)?;
        last.entries.insert(last.at + 1, (first + goes_on, upper));
        let frame = last.clone();
        self.set_frame(inode, &frame)?;
        Ok(if wanted >= first { upper } else { leaf })
    }

    /// Lets an entry name another file.
    pub fn change_entry(
        &mut self, inode: &Inode, found: Found, number: u32, kind: u8,
    ) -> Result<(), Errno> {
        let content = self.edit_directory(inode, found.block)?;
        crate::bytes::set_u32(content, found.at, number);
        crate::bytes::set(content, found.at + 7, &[kind]);
        self.seal_directory(inode, found.block)
    }

    /// Removes an entry.
    pub fn remove_entry(&mut self, inode: &Inode, found: Found) -> Result<(), Errno> {
        let content = self.edit_directory(inode, found.block)?;
        block::remove(content, found.before, found.at, found.room);
        self.seal_directory(inode, found.block)
    }

    /// Returns true if a directory has no entries but its two own.
    pub fn is_directory_empty(&mut self, inode: &Inode) -> Result<bool, Errno> {
        let end = self.entries_end();
        for block in 0..self.directory_blocks(inode)? {
            let content = self.directory_block(inode, block)?;
            if is_index_node(&content) || (block == 0 && inode.has_flag(flag::INDEX)) {
                continue;
            }
            if block::entries(&content[..end])?.iter().any(block::Entry::is_named) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Returns the number in the entry `..`, which is the second one of the first block.
fn parent_of(content: &[u8]) -> Result<u32, Errno> {
    let is_there = content.get(4..6) == Some(&[12, 0]) && content.get(18) == Some(&2);
    let is_named = content.get(20..22) == Some(b"..");
    if is_there && is_named { Ok(crate::bytes::u32_at(content, 12)) } else { Err(errno::CORRUPT) }
}

/// Returns true for a block without entries: a node of an index, or an empty block.
fn is_index_node(content: &[u8]) -> bool {
    let room = usize::from(crate::bytes::u16_at(content, 4));
    crate::bytes::u32_at(content, 0) == 0 && room == content.len()
}
