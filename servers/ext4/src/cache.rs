//! The blocks of a volume in memory: clean ones, bounded; data that is to be written; and the
//! running transaction, which is all other blocks that have changed. An operation that fails takes
//! back what it changed.

use crate::disk::{Disk, errno};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Bound::{Excluded, Unbounded};
use nacre_machine_9p::Errno;

/// Bytes that are written to the disk at once.
const WRITE_UNIT: usize = 512 << 10;

/// Contents of a block. Whoever has them sees them as they were.
pub type Content = Arc<Vec<u8>>;

/// A block in memory.
struct Entry {
    content: Content,
    /// True if the block was used since the eviction last came by.
    is_used: bool,
}

/// Class of a block in memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Clean,
    /// Data of a file that is to be written in place.
    Data,
    /// Block of the running transaction.
    Logged,
}

/// The blocks of a volume in memory.
pub struct Cache<D> {
    disk: D,
    block_size: usize,
    blocks: u64,
    entries: BTreeMap<u64, Entry>,
    data: BTreeSet<u64>,
    logged: BTreeSet<u64>,
    /// Largest number of clean blocks.
    limit: usize,
    /// Block at which the eviction goes on.
    hand: u64,
    /// Blocks as they were before the running operation.
    undo: BTreeMap<u64, Option<(Content, Class)>>,
}

impl<D: Disk> Cache<D> {
    /// Makes an empty cache of so many clean blocks.
    pub fn new(disk: D, block_size: usize, blocks: u64, limit: usize) -> Self {
        Cache {
            disk,
            block_size,
            blocks,
            entries: BTreeMap::new(),
            data: BTreeSet::new(),
            logged: BTreeSet::new(),
            limit: limit.max(64),
            hand: 0,
            undo: BTreeMap::new(),
        }
    }

    /// Returns the disk.
    pub fn disk(&mut self) -> &mut D {
        &mut self.disk
    }

    /// Returns the disk, and forgets all blocks.
    pub fn into_disk(self) -> D {
        self.disk
    }

    /// Forgets all blocks.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.data.clear();
        self.logged.clear();
        self.undo.clear();
    }

    /// Returns the number of blocks of the running transaction.
    pub fn logged_count(&self) -> usize {
        self.logged.len()
    }

    /// Returns true for a block of the running transaction.
    pub fn is_logged(&self, block: u64) -> bool {
        self.logged.contains(&block)
    }

    /// Returns the number of blocks of data that are to be written.
    pub fn data_count(&self) -> usize {
        self.data.len()
    }

    fn class(&self, block: u64) -> Class {
        match () {
            () if self.logged.contains(&block) => Class::Logged,
            () if self.data.contains(&block) => Class::Data,
            () => Class::Clean,
        }
    }

    fn set_class(&mut self, block: u64, class: Class) {
        self.data.remove(&block);
        self.logged.remove(&block);
        match class {
            Class::Clean => false,
            Class::Data => self.data.insert(block),
            Class::Logged => self.logged.insert(block),
        };
    }

    fn check(&self, block: u64) -> Result<(), Errno> {
        // Block 0 holds the superblock, or nothing: nothing else leads there.
        if block < self.blocks { Ok(()) } else { Err(errno::CORRUPT) }
    }

    /// Returns a block's contents.
    pub fn read(&mut self, block: u64) -> Result<Content, Errno> {
        if let Some(entry) = self.entries.get_mut(&block) {
            entry.is_used = true;
            return Ok(entry.content.clone());
        }
        self.check(block)?;
        let mut content = vec![0; self.block_size];
        self.disk.read(block * self.block_size as u64, &mut content)?;
        self.evict();
        let content = Arc::new(content);
        self.entries.insert(block, Entry { content: content.clone(), is_used: true });
        Ok(content)
    }

    /// Notes a block as it is, for the case that the operation fails.
    fn note(&mut self, block: u64) {
        if !self.undo.contains_key(&block) {
            let class = self.class(block);
            let old = self.entries.get(&block).map(|entry| (entry.content.clone(), class));
            self.undo.insert(block, old);
        }
    }

    fn change(&mut self, block: u64, class: Class) -> Result<&mut Vec<u8>, Errno> {
        let old = self.class(block);
        if class == Class::Logged || old == Class::Clean {
            self.set_class(block, class);
        }
        let entry = self.entries.get_mut(&block).ok_or(errno::IO)?;
        entry.is_used = true;
        Ok(Arc::make_mut(&mut entry.content))
    }

    /// Returns a block to change, which becomes part of the running transaction.
    pub fn edit(&mut self, block: u64) -> Result<&mut Vec<u8>, Errno> {
        self.read(block)?;
        self.note(block);
        self.change(block, Class::Logged)
    }

    /// Returns a block of data to change.
    pub fn edit_data(&mut self, block: u64) -> Result<&mut Vec<u8>, Errno> {
        self.read(block)?;
        self.note(block);
        self.change(block, Class::Data)
    }

    fn fresh_as(&mut self, block: u64, class: Class) -> Result<&mut Vec<u8>, Errno> {
        self.check(block)?;
        self.note(block);
        let content = Arc::new(vec![0; self.block_size]);
        self.entries.insert(block, Entry { content, is_used: true });
        self.change(block, class)
    }

    /// Returns a block of zeros, whatever it was, which becomes part of the running transaction.
    pub fn fresh(&mut self, block: u64) -> Result<&mut Vec<u8>, Errno> {
        self.fresh_as(block, Class::Logged)
    }

    /// Returns a block of data whose old contents are of no interest: they are zeros now.
    pub fn fresh_data(&mut self, block: u64) -> Result<&mut Vec<u8>, Errno> {
        self.fresh_as(block, Class::Data)
    }

    /// Forgets blocks that belong to nobody any more.
    pub fn forget(&mut self, start: u64, count: u64) {
        let range = start..start.saturating_add(count);
        let found: Vec<u64> = self.entries.range(range).map(|(block, _)| *block).collect();
        for block in found {
            self.note(block);
            self.set_class(block, Class::Clean);
            self.entries.remove(&block);
        }
    }

    /// Keeps what the running operation changed.
    pub fn keep(&mut self) {
        self.undo.clear();
    }

    /// Takes back what the running operation changed.
    pub fn take_back(&mut self) {
        for (block, old) in core::mem::take(&mut self.undo) {
            match old {
                Some((content, class)) => {
                    self.set_class(block, class);
                    self.entries.insert(block, Entry { content, is_used: true });
                }
                None => {
                    self.set_class(block, Class::Clean);
                    self.entries.remove(&block);
                }
            }
        }
    }

    /// Forgets clean blocks that were not used lately, if there are too many.
    fn evict(&mut self) {
        let clean = |cache: &Self| cache.entries.len() - cache.data.len() - cache.logged.len();
        let mut steps = 2 * self.entries.len();
        while clean(self) >= self.limit && steps > 0 {
            steps -= 1;
            let next = self.entries.range_mut((Excluded(self.hand), Unbounded)).next();
            let Some((block, entry)) = next else {
                // Block 0 is never evicted: it is the superblock, or is not read.
                self.hand = 0;
                continue;
            };
            let (block, was_used) = (*block, core::mem::take(&mut entry.is_used));
            self.hand = block;
            if !was_used && self.class(block) == Class::Clean && !self.undo.contains_key(&block) {
                self.entries.remove(&block);
            }
        }
    }

    /// Reads blocks that follow each other, without keeping them.
    pub fn read_run(&mut self, start: u64, into: &mut [u8]) -> Result<(), Errno> {
        let size = self.block_size as u64;
        let count = into.len() as u64 / size;
        self.check(start.checked_add(count.max(1) - 1).ok_or(errno::CORRUPT)?)?;
        let mut done = 0;
        while done < count {
            let rest = start + done..start + count;
            let kept = self.entries.range(rest.clone()).next().map(|(block, entry)| (*block, entry));
            let part = |from: u64, to: u64| (from * size) as usize..(to * size) as usize;
            match kept {
                Some((block, entry)) if block == rest.start => {
                    into[part(done, done + 1)].copy_from_slice(&entry.content);
                    done += 1;
                }
                other => {
                    let end = other.map_or(count, |(block, _)| block - start);
                    self.disk.read(rest.start * size, &mut into[part(done, end)])?;
                    done = end;
                }
            }
        }
        Ok(())
    }

    /// Begins to read blocks that follow each other, up to the first one that is in memory.
    pub fn prefetch(&mut self, start: u64, count: u64) {
        let end = start.saturating_add(count).min(self.blocks);
        let kept = self.entries.range(start..end.max(start)).next();
        let end = kept.map_or(end, |(block, _)| *block);
        if start < end {
            let size = self.block_size as u64;
            self.disk.prefetch(start * size, (end - start) * size);
        }
    }

    /// Writes data in place. It is clean then, and part of the running operation as it was.
    pub fn write_data(&mut self) -> Result<(), Errno> {
        let blocks: Vec<u64> = self.data.iter().copied().collect();
        self.write_blocks(&blocks)?;
        self.data.clear();
        self.evict();
        Ok(())
    }

    /// Returns the blocks of the running transaction, in order.
    pub fn logged(&self) -> Vec<u64> {
        self.logged.iter().copied().collect()
    }

    /// Returns a block of the running transaction.
    pub fn content(&self, block: u64) -> Option<Content> {
        self.entries.get(&block).map(|entry| entry.content.clone())
    }

    /// Writes the blocks of the running transaction in place, which makes them clean.
    pub fn write_logged(&mut self) -> Result<(), Errno> {
        self.write_blocks(&self.logged())?;
        self.logged.clear();
        self.evict();
        Ok(())
    }

    /// Writes blocks, those that follow each other at once.
    fn write_blocks(&mut self, blocks: &[u64]) -> Result<(), Errno> {
        let size = self.block_size;
        let mut buffer: Vec<u8> = Vec::new();
        let mut start = 0;
        for block in blocks {
            let is_next = *block == start + (buffer.len() / size) as u64;
            if !buffer.is_empty() && (!is_next || buffer.len() + size > WRITE_UNIT) {
                self.disk.write(start * size as u64, &buffer)?;
                buffer.clear();
            }
            if buffer.is_empty() {
                start = *block;
            }
            if let Some(entry) = self.entries.get(block) {
                buffer.extend_from_slice(&entry.content);
            }
        }
        if buffer.is_empty() { Ok(()) } else { self.disk.write(start * size as u64, &buffer) }
    }
}
