//! Checksums of the running transaction's blocks, which are computed when it is committed, once for
//! all changes. Nobody compares them before.

use crate::core::{Core, seal_superblock};
use crate::disk::Disk;
use crate::geometry::SUPERBLOCK_SIZE;
use nacre_machine_9p::Errno;

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
