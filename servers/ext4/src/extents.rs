//! Trees of extents: which blocks of a file are where.

use crate::bytes::{halves, set_u16, set_u32, u16_at, u32_at};
use crate::checksum::crc32c;
use crate::core::Core;
use crate::disk::{Disk, errno};
use crate::inode::Inode;
use crate::run::Run;
use alloc::vec::Vec;
use nacre_machine_9p::Errno;

const MAGIC: u16 = 0xf30a;
const HEADER: usize = 12;
const ENTRY: usize = 12;
const MAX_DEPTH: u16 = 5;
/// Length of the longest extent. A length above it marks an extent that is not written.
const MAX_LENGTH: u32 = 32768;
/// Length of the longest extent that is not written and is made here: a full volume has no room for
/// nodes to split it, and so all of it is written then.
pub const MAX_UNWRITTEN: u32 = 256;
/// Blocks that the change of an extent may take: a node for each level.
const CHANGE_ROOM: u64 = MAX_DEPTH as u64 + 1;

/// Entry of a node: an extent, or a node below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Entry {
    /// First block of the file.
    key: u32,
    /// Number of blocks; 0 for a node below.
    count: u32,
    /// True if the blocks were written. Those that were not read as zeros.
    is_written: bool,
    /// First block of the volume, or block of the node below.
    block: u64,
}

impl Entry {
    fn end(&self) -> u64 {
        u64::from(self.key) + u64::from(self.count)
    }

    /// Returns true if another extent goes on where this one ends.
    fn joins(&self, next: &Entry) -> bool {
        let is_next = self.end() == next.key.into() && self.block + u64::from(self.count) == next.block;
        let longest = if self.is_written { MAX_LENGTH - 1 } else { MAX_UNWRITTEN };
        is_next && self.is_written == next.is_written && self.count + next.count <= longest
    }

    /// Returns the part of the extent from a block on, of at most `count`.
    fn part(&self, from: u32, count: u32) -> Option<Entry> {
        let skipped = from - self.key;
        let count = (self.count - skipped).min(count);
        let part = Entry { key: from, count, block: self.block + u64::from(skipped), ..*self };
        (count > 0).then_some(part)
    }
}

/// Node of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Node {
    /// Number of levels below.
    depth: u16,
    /// Largest number of entries.
    room: usize,
    entries: Vec<Entry>,
}

impl Node {
    /// Reads a node, which must have the given depth, if one is given.
    fn decode(bytes: &[u8], depth: Option<u16>) -> Result<Node, Errno> {
        let word = |at| u16_at(bytes, at);
        let (count, room) = (usize::from(word(2)), usize::from(word(4)));
        let is_room = count <= room && HEADER + room * ENTRY <= bytes.len();
        let found = word(6);
        if word(0) != MAGIC || !is_room || found > MAX_DEPTH || depth.is_some_and(|depth| depth != found) {
            return Err(errno::CORRUPT);
        }
        let entry = |index: usize| Self::entry(&bytes[HEADER + index * ENTRY..], found == 0);
        let entries: Vec<Entry> = (0..count).map(entry).collect();
        let is_ordered = |pair: &[Entry]| u64::from(pair[1].key) >= pair[0].end().max(u64::from(pair[0].key) + 1);
        let is_right = |entry: &Entry| entry.end() <= u32::MAX.into() && (found > 0 || entry.count > 0);
        if !entries.windows(2).all(is_ordered) || !entries.iter().all(is_right) {
            return Err(errno::CORRUPT);
        }
        Ok(Node { depth: found, room, entries })
    }

    fn entry(bytes: &[u8], is_leaf: bool) -> Entry {
        let key = u32_at(bytes, 0);
        if !is_leaf {
            let block = halves(u32_at(bytes, 4), u16_at(bytes, 8).into());
            return Entry { key, count: 0, is_written: true, block };
        }
        let length = u32::from(u16_at(bytes, 4));
        let is_written = length <= MAX_LENGTH;
        let count = if is_written { length } else { length - MAX_LENGTH };
        Entry { key, count, is_written, block: halves(u32_at(bytes, 8), u16_at(bytes, 6).into()) }
    }

    fn encode(&self, bytes: &mut [u8]) {
        set_u16(bytes, 0, MAGIC);
        set_u16(bytes, 2, self.entries.len() as u16);
        set_u16(bytes, 4, self.room as u16);
        set_u16(bytes, 6, self.depth);
        for (entry, place) in self.entries.iter().zip(bytes[HEADER..].chunks_exact_mut(ENTRY)) {
            set_u32(place, 0, entry.key);
            if self.depth > 0 {
                set_u32(place, 4, entry.block as u32);
                set_u16(place, 8, (entry.block >> 32) as u16);
                set_u16(place, 10, 0);
            } else {
                let unwritten = if entry.is_written { 0 } else { MAX_LENGTH };
                set_u16(place, 4, (entry.count + unwritten) as u16);
                set_u16(place, 6, (entry.block >> 32) as u16);
                set_u32(place, 8, entry.block as u32);
            }
        }
    }

    /// Returns the number of entries that begin at or before a block of the file.
    fn place(&self, logical: u32) -> usize {
        self.entries.partition_point(|entry| entry.key <= logical)
    }

    /// Returns the upper part of the entries, if there are too many.
    fn split(&mut self, logical: u32) -> Option<Node> {
        if self.entries.len() <= self.room {
            return None;
        }
        let is_append = self.entries.last().is_some_and(|last| last.key <= logical);
        let at = if is_append { self.room } else { self.entries.len() / 2 };
        Some(Node { entries: self.entries.split_off(at), ..*self })
    }

    fn first_key(&self) -> u32 {
        self.entries.first().map_or(0, |entry| entry.key)
    }
}

/// Writes an empty tree into an inode.
pub fn clear(inode: &mut Inode) {
    inode.map_mut().fill(0);
    let room = (crate::inode::MAP_SIZE - HEADER) / ENTRY;
    Node { depth: 0, room, entries: Vec::new() }.encode(inode.map_mut());
}

/// Change of the entries of a leaf.
type Change<'a> = &'a mut dyn FnMut(&mut Vec<Entry>);

impl<D: Disk> Core<D> {
    fn node(&mut self, block: u64, depth: u16) -> Result<Node, Errno> {
        if block <= self.geometry.first_block {
            return Err(errno::CORRUPT);
        }
        let content = self.cache.read(block)?;
        // The last four bytes are for the checksum.
        Node::decode(&content[..content.len() - 4], Some(depth))
    }

    fn set_node(&mut self, inode: &Inode, block: u64, node: &Node) -> Result<(), Errno> {
        let sum = self.geometry.has_checksums().then(|| inode.seed(self.geometry.seed));
        let content = self.cache.edit(block)?;
        node.encode(content);
        if let Some(seed) = sum {
            let end = HEADER + node.room * ENTRY;
            let sum = crc32c(seed, &content[..end]);
            set_u32(content, end, sum);
        }
        Ok(())
    }

    /// Takes a block for a node.
    fn new_node(&mut self, inode: &mut Inode, node: &Node) -> Result<u64, Errno> {
        let goal = node.entries.first().map_or(0, |entry| entry.block);
        let (block, _) = self.take_blocks(goal, 1)?;
        self.cache.fresh(block)?;
        inode.count_blocks(1, self.geometry.block_size);
        self.set_node(inode, block, node)?;
        Ok(block)
    }

    /// Returns the run of blocks of a file from one on.
    pub fn extent_run(&mut self, inode: &Inode, logical: u32, most: u32) -> Result<Run, Errno> {
        let mut node = Node::decode(inode.map(), None)?;
        let mut end = u64::from(logical) + u64::from(most);
        loop {
            let place = node.place(logical);
            if let Some(next) = node.entries.get(place) {
                end = end.min(next.key.into());
            }
            let hole = Run { physical: None, is_written: false, count: (end - u64::from(logical)) as u32 };
            let Some(entry) = place.checked_sub(1).map(|place| node.entries[place]) else {
                return Ok(hole);
            };
            if node.depth == 0 {
                if entry.end() <= logical.into() {
                    return Ok(hole);
                }
                let part = entry.part(logical, most).ok_or(errno::CORRUPT)?;
                let physical = Some(part.block);
                return Ok(Run { physical, is_written: part.is_written, count: part.count });
            }
            node = self.node(entry.block, node.depth - 1)?;
        }
    }

    /// Gives blocks to a part of a file that has none.
    pub fn insert_extent(
        &mut self, inode: &mut Inode, logical: u32, (block, count): (u64, u32), is_written: bool,
    ) -> Result<(), Errno> {
        let new = Entry { key: logical, count, is_written, block };
        self.change_extents(inode, logical, &mut |entries| insert(entries, new))
    }

    /// Notes that blocks of a file are written now. All of them are of one extent that was not.
    pub fn set_written(&mut self, inode: &mut Inode, logical: u32, count: u32) -> Result<(), Errno> {
        self.change_extents(inode, logical, &mut |entries| {
            let place = entries.partition_point(|entry| entry.key <= logical);
            let Some(index) = place.checked_sub(1) else { return };
            let old = entries.remove(index);
            let before = old.part(old.key, logical - old.key);
            let written = old.part(logical, count).map(|part| Entry { is_written: true, ..part });
            let after = old.part(logical + count.min(old.count - (logical - old.key)), u32::MAX);
            [before, written, after].into_iter().flatten().for_each(|part| insert(entries, part));
        })
    }

    /// Takes blocks of a file away. All of them are of one extent.
    pub fn remove_extent(&mut self, inode: &mut Inode, logical: u32, count: u32) -> Result<(), Errno> {
        let mut gone = None;
        self.change_extents(inode, logical, &mut |entries| {
            let place = entries.partition_point(|entry| entry.key <= logical);
            let Some(index) = place.checked_sub(1) else { return };
            let old = entries.remove(index);
            gone = old.part(logical, count);
            let before = old.part(old.key, logical - old.key);
            let after = old.part(logical + count.min(old.count - (logical - old.key)), u32::MAX);
            [before, after].into_iter().flatten().for_each(|part| insert(entries, part));
        })?;
        let gone = gone.ok_or(errno::CORRUPT)?;
        inode.count_blocks(-i64::from(gone.count), self.geometry.block_size);
        self.give_blocks(gone.block, gone.count, false)
    }

    /// Fills the extent around a block of a file with zeros, if it is short and the volume has no
    /// room to split it: it is written then, and neither longer nor shorter.
    pub fn fill_unwritten(&mut self, inode: &mut Inode, logical: u32) -> Result<bool, Errno> {
        if self.free_blocks()? >= CHANGE_ROOM {
            return Ok(false);
        }
        let mut found = None;
        self.change_extents(inode, logical, &mut |entries| {
            let place = entries.partition_point(|entry| entry.key <= logical);
            let entry = place.checked_sub(1).map(|index| &mut entries[index]);
            let is_it = |entry: &&mut Entry| !entry.is_written && entry.count <= MAX_UNWRITTEN && entry.end() > logical.into();
            if let Some(entry) = entry.filter(is_it) {
                entry.is_written = true;
                found = Some(*entry);
            }
        })?;
        let Some(extent) = found else { return Ok(false) };
        for block in extent.block..extent.block + u64::from(extent.count) {
            self.cache.fresh_data(block)?;
        }
        Ok(true)
    }

    fn change_extents(
        &mut self, inode: &mut Inode, logical: u32, change: Change<'_>,
    ) -> Result<(), Errno> {
        let mut root = Node::decode(inode.map(), None)?;
        self.change_below(inode, &mut root, logical, change)?;
        if root.entries.is_empty() {
            root.depth = 0;
        }
        if root.entries.len() > root.room {
            if root.depth >= MAX_DEPTH {
                return Err(errno::NOSPC);
            }
            let room = (self.geometry.block_size - 4 - HEADER) / ENTRY;
            let below = Node { room, ..root.clone() };
            let block = self.new_node(inode, &below)?;
            let entry = Entry { key: below.first_key(), count: 0, is_written: true, block };
            root = Node { depth: root.depth + 1, room: root.room, entries: [entry].into() };
        }
        root.encode(inode.map_mut());
        Ok(())
    }

    /// Changes the leaf below a node. The node's own entries may be too many afterwards.
    fn change_below(
        &mut self, inode: &mut Inode, node: &mut Node, logical: u32, change: Change<'_>,
    ) -> Result<(), Errno> {
        if node.depth == 0 {
            change(&mut node.entries);
            return Ok(());
        }
        let index = node.place(logical).saturating_sub(1);
        let block = node.entries.get(index).ok_or(errno::CORRUPT)?.block;
        let mut below = self.node(block, node.depth - 1)?;
        self.change_below(inode, &mut below, logical, change)?;
        if below.entries.is_empty() {
            node.entries.remove(index);
            inode.count_blocks(-1, self.geometry.block_size);
            return self.give_blocks(block, 1, true);
        }
        let upper = below.split(logical);
        self.set_node(inode, block, &below)?;
        node.entries[index].key = below.first_key();
        if let Some(upper) = upper {
            let block = self.new_node(inode, &upper)?;
            let entry = Entry { key: upper.first_key(), count: 0, is_written: true, block };
            node.entries.insert(index + 1, entry);
        }
        Ok(())
    }

    /// Takes the blocks of a file from one on away, the last ones first. Stops when the budget of
    /// extents is spent, and returns false then.
    pub fn cut_extents(
        &mut self, inode: &mut Inode, from: u32, is_logged: bool, budget: &mut u32,
    ) -> Result<bool, Errno> {
        let mut root = Node::decode(inode.map(), None)?;
        let is_done = self.cut_below(inode, &mut root, from, is_logged, budget)?;
        if root.entries.is_empty() {
            root.depth = 0;
        }
        root.encode(inode.map_mut());
        Ok(is_done)
    }

    fn cut_below(
        &mut self, inode: &mut Inode, node: &mut Node, from: u32, is_logged: bool, budget: &mut u32,
    ) -> Result<bool, Errno> {
        while let Some(last) = node.entries.last().copied() {
            if node.depth == 0 {
                let keeps = from.clamp(last.key, last.end() as u32) - last.key;
                if keeps == last.count {
                    break;
                }
                if *budget == 0 {
                    return Ok(false);
                }
                *budget -= 1;
                let count = last.count - keeps;
                self.give_blocks(last.block + u64::from(keeps), count, is_logged)?;
                inode.count_blocks(-i64::from(count), self.geometry.block_size);
                node.entries.pop();
                node.entries.extend(last.part(last.key, keeps));
            } else {
                let mut below = self.node(last.block, node.depth - 1)?;
                let is_done = self.cut_below(inode, &mut below, from, is_logged, budget)?;
                if !below.entries.is_empty() {
                    self.set_node(inode, last.block, &below)?;
                    return Ok(is_done);
                }
                self.give_blocks(last.block, 1, true)?;
                inode.count_blocks(-1, self.geometry.block_size);
                node.entries.pop();
                if !is_done {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

/// Puts an extent among others, and joins it with its neighbours.
fn insert(entries: &mut Vec<Entry>, new: Entry) {
    let mut place = entries.partition_point(|entry| entry.key <= new.key);
    entries.insert(place, new);
    if place > 0 && entries[place - 1].joins(&new) {
        entries[place - 1].count += new.count;
        entries.remove(place);
        place -= 1;
    }
    if let Some(next) = entries.get(place + 1).copied() && entries[place].joins(&next) {
        entries[place].count += next.count;
        entries.remove(place + 1);
    }
}
