//! Listing of directories, in an order that stays while entries come and go: that of the hashes of
//! names, or that of blocks where entries never leave theirs.

use crate::core::Core;
use crate::directory::block;
use crate::disk::{Disk, errno};
use crate::hash::{Hash, hash};
use crate::inode::{self, Inode, flag};
use alloc::vec::Vec;
use nacre_machine_9p::{Entry, Errno};

/// Modes by the kinds of files in directories.
const KINDS: [u32; 8] = [
    0, inode::REGULAR, inode::DIRECTORY, inode::CHARACTERS, inode::BLOCKS, inode::FIFO,
    inode::SOCKET, inode::LINK,
];

/// Largest number of blocks with names of one hash.
const MAX_LEAVES: usize = 64;

fn tell(entry: &block::Entry<'_>, each: &mut dyn FnMut(Entry<'_>)) {
    let mode = KINDS.get(usize::from(entry.kind)).copied().unwrap_or(0);
    each(Entry { inode: entry.inode.into(), mode, name: entry.name });
}

/// Returns the position of a hash in a listing.
fn cookie(hash: Hash) -> u64 {
    u64::from(hash.major >> 1) << 32 | u64::from(hash.minor)
}

impl<D: Disk> Core<D> {
    /// Calls `each` for some entries from a cookie on. Returns the next cookie; 0: none are left.
    pub fn list_directory(
        &mut self, inode: &Inode, from: u64, each: &mut dyn FnMut(Entry<'_>),
    ) -> Result<u64, Errno> {
        let blocks = self.directory_blocks(inode)?;
        let has_index = self.geometry.has_index();
        match inode.has_flag(flag::INDEX) {
            true if has_index => self.list_indexed(inode, from, each),
            false if has_index && blocks == 1 => {
                let version = self.geometry.hash_version.min(2);
                self.list_leaves(inode, &[0], version, from, each).map(|()| 0)
            }
            _ => self.list_block(inode, blocks, from, each),
        }
    }

    fn list_block(
        &mut self, inode: &Inode, blocks: u32, from: u64, each: &mut dyn FnMut(Entry<'_>),
    ) -> Result<u64, Errno> {
        let Some(block) = u32::try_from(from).ok().filter(|block| *block < blocks) else {
            return Ok(0);
        };
        let end = self.entries_end();
        let content = self.directory_block(inode, block)?;
        if !super::is_index_node(&content) && !(block == 0 && inode.has_flag(flag::INDEX)) {
            let entries = block::entries(&content[..end])?;
            entries.iter().filter(|entry| entry.is_named()).for_each(|entry| tell(entry, each));
        }
        Ok(if block + 1 < blocks { u64::from(block) + 1 } else { 0 })
    }

    fn list_indexed(
        &mut self, inode: &Inode, from: u64, each: &mut dyn FnMut(Entry<'_>),
    ) -> Result<u64, Errno> {
        let first = u32::try_from(from >> 31).unwrap_or(u32::MAX) & !1;
        let mut way = self.index_way(inode, first)?;
        let mut leaves = Vec::from([way.leaf()]);
        // Names of one hash are listed together, although several blocks have them.
        while way.next().is_some_and(|next| next & 1 != 0) && self.index_next(inode, &mut way)? {
            leaves.push(way.leaf());
            if leaves.len() > MAX_LEAVES {
                return Err(errno::CORRUPT);
            }
        }
        self.list_leaves(inode, &leaves, way.version, from, each)?;
        let Some(next) = way.next() else { return Ok(0) };
        let next = cookie(Hash { major: next, minor: 0 });
        if next > from { Ok(next) } else { Err(errno::CORRUPT) }
    }

    fn list_leaves(
        &mut self, inode: &Inode, leaves: &[u32], version: u8, from: u64,
        each: &mut dyn FnMut(Entry<'_>),
    ) -> Result<(), Errno> {
        let end = self.entries_end();
        let mut contents = Vec::new();
        for leaf in leaves {
            contents.push(self.directory_block(inode, *leaf)?);
        }
        let mut found = Vec::new();
        for content in &contents {
            for entry in block::entries(&content[..end])?.into_iter().filter(block::Entry::is_named) {
                let hash = hash(entry.name, version, &self.geometry).ok_or(errno::CORRUPT)?;
                found.push((cookie(hash), entry));
            }
        }
        found.sort_by_key(|(place, _)| *place);
        let from = found.partition_point(|(place, _)| *place < from);
        found[from..].iter().for_each(|(_, entry)| tell(entry, each));
        Ok(())
    }
}
