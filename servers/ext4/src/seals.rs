//! Checksums of the running transaction's blocks, which are computed when it is committed, once for
//! all changes. Nobody compares them before.

use crate::core::{Core, seal_superblock};
use crate::disk::Disk;
use crate::geometry::SUPERBLOCK_SIZE;
use crate::groups::Bitmap;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use nacre_machine_9p::Errno;

/// Blocks whose checksums are not right yet.
#[derive(Default)]
pub struct Unsealed {
    /// Bitmaps, by their groups.
    bitmaps: BTreeSet<(u32, Bitmap)>,
    /// Blocks of directories, with the seeds of their checksums.
    directories: BTreeMap<u64, u32>,
    /// Seeds that the running operation has changed, as they were.
    undo: Vec<(u64, Option<u32>)>,
}

impl Unsealed {
    /// Notes a bitmap.
    pub fn note_bitmap(&mut self, group: u32, bitmap: Bitmap) {
        self.bitmaps.insert((group, bitmap));
    }

    /// Notes a block of a directory.
    pub fn note_directory(&mut self, block: u64, seed: u32) {
        let old = self.directories.insert(block, seed);
        self.undo.push((block, old));
    }

    /// Notes that a block has another kind of checksum, which is right.
    pub fn forget_directory(&mut self, block: u64) {
        if let Some(old) = self.directories.remove(&block) {
            self.undo.push((block, Some(old)));
        }
    }

    /// Keeps what the running operation noted.
    pub fn keep(&mut self) {
        self.undo.clear();
    }

    /// Takes back what the running operation noted. A bitmap may stay: it is one for good.
    pub fn take_back(&mut self) {
        for (block, old) in self.undo.drain(..).rev() {
            match old {
                Some(seed) => self.directories.insert(block, seed),
                None => self.directories.remove(&block),
            };
        }
    }
}

impl<D: Disk> Core<D> {
    /// Computes the checksums of the running transaction's blocks.
    pub fn seal(&mut self) -> Result<(), Errno> {
        let unsealed = core::mem::take(&mut self.unsealed);
        if !self.geometry.has_checksums() {
            return Ok(());
        }
        for (number, bitmap) in unsealed.bitmaps {
            let group = self.group(number)?;
            if self.cache.is_logged(group.bitmap(bitmap)) {
                self.seal_bitmap(group, bitmap)?;
            }
        }
        for (block, seed) in unsealed.directories {
            // What belongs to no directory any more is no part of the transaction.
            if self.cache.is_logged(block) {
                crate::directory::seal(self.cache.edit(block)?, seed);
            }
        }
        let (block, place) = self.geometry.superblock();
        if self.cache.is_logged(block) {
            let content = self.cache.edit(block)?;
            seal_superblock(&mut content[place..place + SUPERBLOCK_SIZE], &self.geometry);
        }
        Ok(())
    }
}
