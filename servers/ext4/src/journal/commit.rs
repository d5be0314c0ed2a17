//! Commits: the running transaction is written to the journal, and then in place.

use super::{Journal, format};
use crate::bytes::{be32_at, set_be32};
use crate::core::Core;
use crate::disk::{Disk, errno};
use alloc::vec;
use alloc::vec::Vec;
use format::Tag;
use nacre_machine_9p::Errno;

/// Bytes that are written to the journal at once.
const WRITE_UNIT: usize = 256 << 10;

/// Blocks on their way to the journal, those that follow each other at once.
struct Log<'a, D> {
    journal: &'a mut Journal,
    disk: &'a mut D,
    buffer: Vec<u8>,
    /// Block of the volume at which the buffer begins.
    start: u64,
}

impl<D: Disk> Log<'_, D> {
    fn add(&mut self, bytes: &[u8]) -> Result<(), Errno> {
        let size = self.journal.block_size;
        let block = self.journal.block(self.journal.head)?;
        let is_next = block == self.start + (self.buffer.len() / size) as u64;
        if !is_next || self.buffer.len() >= WRITE_UNIT {
            self.write()?;
        }
        if self.buffer.is_empty() {
            self.start = block;
        }
        self.buffer.extend_from_slice(bytes);
        self.journal.head = self.journal.after(self.journal.head);
        self.journal.used += 1;
        Ok(())
    }

    fn write(&mut self) -> Result<(), Errno> {
        if !self.buffer.is_empty() {
            self.disk.write(self.start * self.journal.block_size as u64, &self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }
}

impl Journal {
    /// Returns the number of blocks that a transaction takes.
    pub fn needs(&self, copies: usize, revoked: usize) -> usize {
        copies + copies.div_ceil(self.tags_of_block()) + revoked.div_ceil(self.revoked_of_block()) + 1
    }

    /// Returns the number of blocks that the largest transaction can take.
    pub fn room(&self) -> usize {
        (self.length - self.first) as usize
    }

    /// Begins to use the journal, which is empty: the oldest transaction will be the next one.
    pub fn begin<D: Disk>(&mut self, disk: &mut D) -> Result<(), Errno> {
        (self.head, self.used) = (self.first, 0);
        self.write_superblock(disk, self.first)
    }

    /// Returns true if the journal is in use.
    pub fn is_begun(&self) -> bool {
        self.start != 0
    }

    /// Forgets all transactions, which are in place. Nothing else is in the disk's cache.
    pub fn empty<D: Disk>(&mut self, disk: &mut D, is_end: bool) -> Result<(), Errno> {
        disk.flush()?;
        self.used = 0;
        self.write_superblock(disk, if is_end { 0 } else { self.head })?;
        disk.flush()
    }

    /// Writes the running transaction. Data of its files is written already.
    pub fn write<D: Disk>(&mut self, core: &mut Core<D>, seconds: u64) -> Result<(), Errno> {
        let blocks = core.cache.logged();
        let logged = core.freed.iter().filter(|freed| freed.is_logged);
        let revoked = logged.flat_map(|freed| freed.start..freed.start + u64::from(freed.count));
        let mut revoked: Vec<u64> = revoked.collect();
        revoked.sort_unstable();
        let needs = self.needs(blocks.len(), revoked.len());
        if needs > self.room() {
            return Err(errno::NOSPC);
        }
        if self.used as usize + needs > self.room() {
            self.empty(core.cache.disk(), false)?;
        }
        let contents = blocks.iter().map(|block| core.cache.content(*block).ok_or(errno::IO));
        let contents = contents.collect::<Result<Vec<_>, _>>()?;
        let mut log = Log { disk: core.cache.disk(), buffer: Vec::new(), start: 0, journal: self };
        let size = log.journal.block_size;
        let sequence = log.journal.sequence;
        for part in revoked.chunks(log.journal.revoked_of_block()) {
            let mut bytes = vec![0; size];
            log.journal.set_revoked(&mut bytes, sequence, part);
            log.add(&bytes)?;
        }
        let each = log.journal.tags_of_block();
        for (blocks, contents) in blocks.chunks(each).zip(contents.chunks(each)) {
            write_copies(&mut log, sequence, blocks, contents)?;
        }
        log.write()?;
        log.disk.flush()?;
        let mut bytes = vec![0; size];
        log.journal.set_commit(&mut bytes, sequence, seconds);
        log.add(&bytes)?;
        log.write()?;
        log.disk.flush()?;
        self.sequence = sequence.wrapping_add(1);
        core.cache.write_logged()
    }
}

/// Writes a descriptor and the copies that it describes.
fn write_copies<D: Disk>(
    log: &mut Log<'_, D>, sequence: u32, blocks: &[u64], contents: &[crate::cache::Content],
) -> Result<(), Errno> {
    let (mut tags, mut copies) = (Vec::new(), Vec::new());
    for (block, content) in blocks.iter().zip(contents) {
        let is_escaped = be32_at(content, 0) == format::MAGIC;
        let mut copy = content.clone();
        if is_escaped {
            set_be32(alloc::sync::Arc::<Vec<u8>>::make_mut(&mut copy), 0, 0);
        }
        tags.push(Tag { block: *block, is_escaped, sum: log.journal.copy_sum(sequence, &copy) });
        copies.push(copy);
    }
    let mut bytes = vec![0; log.journal.block_size];
    log.journal.set_tags(&mut bytes, sequence, &tags);
    log.add(&bytes)?;
    copies.iter().try_for_each(|copy| log.add(copy))
}
