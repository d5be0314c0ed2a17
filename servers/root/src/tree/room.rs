//! Room for parts of files before they are written, holes that are made, and which parts were
//! written.

use super::node::{Node, NodeContent};
use super::outside::Changes;
use super::{Time, Tree};
use crate::store::Store;
use crate::table::Key;
use core::ops::Range;
use nacre_proto::Errno;
use nacre_proto::flags::{F_SEAL_FUTURE_WRITE, F_SEAL_GROW, F_SEAL_WRITE};

/// Bytes for which one piece of work takes memory.
const PIECE: u64 = 1 << 20;
/// Bytes for which one piece of work asks the other side.
const PASSED_PIECE: u64 = 64 << 20;
/// Pieces of a look for data or a hole, at most: one passes a thousand runs of blocks.
const LOOKS: usize = 64;

impl<S: Store> Tree<S> {
    /// Returns the bytes of room that a part of a file lacks at least, and those that there are for
    /// it; `available` of memory.
    pub fn room_for(&mut self, key: Key, part: &Range<u64>, available: u64) -> Result<(u64, u64), Errno> {
        let NodeContent::File(content) = &self.node(key)?.body else { return Err(Errno::ENODEV) };
        let missing = content.missing(part);
        let Some((outside, id)) = self.passed(key) else { return Ok((missing, available)) };
        if outside.changes_by_itself() {
            return Err(Errno::EOPNOTSUPP);
        }
        let (has, room) = (outside.origin.status_open(id)?.blocks, outside.origin.capacity()?);
        Ok(((part.end - part.start).saturating_sub(has.saturating_mul(512)), room.free.saturating_mul(room.block_size)))
    }

    /// Takes room for a part of a file, a piece of the work. The file grows to the part's end
    /// unless it keeps its size. Where to go on, if that is not all.
    pub fn allocate(&mut self, key: Key, part: Range<u64>, keeps_size: bool, now: Time) -> Result<Option<u64>, Errno> {
        let grows = !keeps_size && part.end > self.node(key)?.size();
        if self.node(key)?.is_sealed(F_SEAL_WRITE | F_SEAL_FUTURE_WRITE) || grows && self.node(key)?.is_sealed(F_SEAL_GROW) {
            return Err(Errno::EPERM);
        }
        let next = match self.is_passed(key) {
            true => self.pass_room(key, part.clone(), keeps_size)?,
            false => self.take_room(key, part.start..part.end.min(part.start + PIECE))?,
        };
        if next < part.end {
            return Ok(Some(next));
        }
        if grows {
            let NodeContent::File(content) = &mut self.nodes.get_mut(key).ok_or(Errno::EIO)?.body else { return Err(Errno::ENODEV) };
            content.set_size(&mut self.store, part.end)?;
        }
        self.nodes.get_mut(key).into_iter().for_each(|node| node.touch(now));
        Ok(None)
    }

    fn take_room(&mut self, key: Key, part: Range<u64>) -> Result<u64, Errno> {
        self.fill(key, part.start, part.end - part.start, false)?;
        let NodeContent::File(content) = &mut self.nodes.get_mut(key).ok_or(Errno::EIO)?.body else { return Err(Errno::ENODEV) };
        content.allocate(&mut self.store, part.clone()).map(|()| part.end)
    }

    fn pass_room(&mut self, key: Key, part: Range<u64>, keeps_size: bool) -> Result<u64, Errno> {
        let part = part.start..part.end.min(part.start + PASSED_PIECE);
        // What is set aside counts as written, though it may be written later: else a limit of that
        // would be none.
        if !self.store.spend(part.end - part.start) {
            return Err(Errno::ENOSPC);
        }
        let (outside, id) = self.passed(key).ok_or(Errno::EIO)?;
        let next = outside.origin.allocate(id, part, keeps_size)?;
        self.note_unsynced(key);
        Ok(next)
    }

    /// Takes memory or blocks of a part of a file away, a piece; where to go on.
    pub fn punch(&mut self, key: Key, start: u64, end: u64, now: Time) -> Result<Option<u64>, Errno> {
        if self.is_passed(key) {
            return self.pass_hole(key, start..end, now);
        }
        self.fill(key, start, end.saturating_sub(start), false)?;
        let node = self.nodes.get_mut(key).ok_or(Errno::EIO)?;
        if node.is_sealed(F_SEAL_WRITE | F_SEAL_FUTURE_WRITE) {
            return Err(Errno::EPERM);
        }
        let NodeContent::File(content) = &mut node.body else { return Err(Errno::ENODEV) };
        let next = content.punch(&mut self.store, start, end)?;
        node.touch(now);
        Ok(next)
    }

    fn pass_hole(&mut self, key: Key, part: Range<u64>, now: Time) -> Result<Option<u64>, Errno> {
        // Behind the end there is nothing to do, however far the part goes.
        let last = part.end.min(self.node(key)?.size());
        if part.start >= last {
            return Ok(None);
        }
        let end = last.min(part.start + PIECE);
        let (outside, id) = self.passed(key).ok_or(Errno::EIO)?;
        let next = outside.origin.punch(id, part.start..end)?;
        self.note_unsynced(key);
        let node = self.nodes.get_mut(key).ok_or(Errno::EIO)?;
        node.touch(now);
        if let NodeContent::File(content) = &mut node.body {
            content.clear(&mut self.store, part.start..next);
        }
        Ok(Some(next).filter(|next| *next < last))
    }

    /// Returns the next data (or hole) of a file at or behind an offset. `ENXIO`: there is none
    /// before the end.
    pub fn seek(&mut self, key: Key, offset: u64, for_data: bool) -> Result<u64, Errno> {
        if self.is_passed(key) && offset < self.node(key)?.size() {
            // What was written to shared pages is data, too.
            self.write_back(key, false)?;
            match self.seek_there(key, offset, for_data) {
                Err(Errno::EOPNOTSUPP) => return Ok(if for_data { offset } else { self.node(key)?.size() }),
                found => return found,
            }
        }
        match &self.node(key)?.body {
            NodeContent::File(content) => content.find_next(offset, for_data).ok_or(Errno::ENXIO),
            _ => Err(Errno::ENXIO),
        }
    }

    fn seek_there(&mut self, key: Key, offset: u64, for_data: bool) -> Result<u64, Errno> {
        let mut at = offset;
        for _ in 0..LOOKS {
            let (outside, id) = self.passed(key).ok_or(Errno::EIO)?;
            match outside.origin.seek(id, at, for_data)? {
                (found, true) => return Ok(found),
                (next, false) => at = next,
            }
        }
        // From there on anything may be.
        if for_data { Ok(at) } else { Ok(self.node(key)?.size().max(at)) }
    }

    /// Returns true if the blocks of a file are on the other side.
    pub(super) fn has_blocks_there(&self, node: &Node) -> bool {
        let outside = node.origin.filter(|_| !node.is_detached).and_then(|away| self.sides.of(away));
        outside.is_some_and(|outside| outside.changes == Changes::Passed)
    }

    /// Asks how many blocks a file has on the other side, if it has changed.
    pub fn look_at_blocks(&mut self, key: Key) -> Result<(), Errno> {
        let is_file = |node: &Node| node.outside_stamp.is_none() && matches!(node.body, NodeContent::File(_));
        if !self.get(key).is_some_and(is_file) {
            return Ok(());
        }
        let Some((outside, id)) = self.passed(key) else { return Ok(()) };
        let blocks = match outside.changes_by_itself() {
            true => self.status_there(key)?.map(|found| found.blocks),
            false => Some(outside.origin.status_open(id)?.blocks),
        };
        if let (Some(blocks), Some(node)) = (blocks, self.nodes.get_mut(key)) {
            node.outside_blocks = blocks;
        }
        Ok(())
    }
}
