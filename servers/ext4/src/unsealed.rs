//! Blocks of the running transaction whose checksums are not right yet.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

/// Kind of bitmap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bitmap {
    /// Blocks of a group.
    Blocks,
    /// Inodes of a group.
    Inodes,
}

/// Blocks whose checksums are not right yet.
#[derive(Default)]
pub struct Unsealed {
    /// Bitmaps, by their groups.
    pub bitmaps: BTreeSet<(u32, Bitmap)>,
    /// Blocks of directories, with the seeds of their checksums.
    pub directories: BTreeMap<u64, u32>,
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
