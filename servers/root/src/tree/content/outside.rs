//! Contents that the other side has, and that come when they are read.

use super::{Content, Run};
use crate::frames::FRAME;
use crate::store::Store;
use alloc::vec::Vec;

impl Content {
    /// The content of a file of the other side's, `size` bytes, of which nothing is here yet.
    pub fn outside(size: u64) -> Content {
        Content { size, outside_end: size, ..Content::default() }
    }

    /// Returns the offset behind the last byte that is with the other side.
    pub fn outside_end(&self) -> u64 {
        self.outside_end
    }

    /// Returns the first part of `size` bytes from `offset` on that is with the other side alone,
    /// as whole frames: offset and size. It is widened to a multiple of `cluster`, a power of two
    /// or the largest number.
    pub fn lacking(&self, offset: u64, size: u64, cluster: u64) -> Option<(u64, u64)> {
        let whole = self.outside_end.checked_next_multiple_of(FRAME)?;
        let end = offset.saturating_add(size).min(whole);
        let mut at = offset / FRAME * FRAME;
        while at < end {
            match self.find(at) {
                Ok(index) => at = self.runs[index].end(),
                Err(next) => {
                    let before = next.checked_sub(1).map_or(0, |last| self.runs[last].end());
                    let start = before.max(at / cluster * cluster);
                    let behind = self.runs.get(next).map_or(whole, |run| run.offset.min(whole));
                    let end = behind.min((at / cluster * cluster).saturating_add(cluster));
                    return Some((start, end - start));
                }
            }
        }
        None
    }

    /// Takes the part at `offset`, which lay with the other side, in from the `size` bytes at
    /// `start` of the store.
    pub fn take_in(&mut self, offset: u64, start: u64, size: u64) {
        if let Err(next) = self.find(offset) {
            self.runs.insert(next, Run { offset, start, size, owned: true });
            self.held += size;
        }
    }

    /// Moves all runs into one, unless others have them or there is no memory for that.
    pub fn make_whole(&mut self, store: &mut impl Store) {
        let size = self.size.next_multiple_of(FRAME);
        if size == 0 || self.runs.len() < 2 || self.is_kept {
            return;
        }
        let Some(start) = store.allocate_for_all(size) else { return };
        for run in core::mem::take(&mut self.runs) {
            store.copy(run.start, start + run.offset, run.size.min(size - run.offset));
            store.free(run.start, run.size);
        }
        self.runs.push(Run { offset: 0, start, size, owned: true });
        self.held = size;
    }

    /// Writes bytes that the other side has got already to what is here of the file.
    pub fn write_through(&mut self, store: &mut impl Store, offset: u64, bytes: &[u8]) {
        self.clear_behind_end(store, offset);
        let end = offset.saturating_add(bytes.len() as u64);
        let mut at = offset;
        while at < end {
            at = match self.find(at).map(|index| self.runs[index]) {
                Ok(run) => {
                    let until = run.end().min(end);
                    store.write(run.start + (at - run.offset), &bytes[(at - offset) as usize..(until - offset) as usize]);
                    until
                }
                Err(next) => self.runs.get(next).map_or(end, |run| run.offset.min(end)),
            };
        }
        self.size = self.size.max(end);
        self.outside_end = self.size;
    }

    /// Notes that the other side has all that was changed.
    pub fn note_passed(&mut self, was_kept: bool) {
        self.outside_end = self.size;
        self.is_kept = was_kept;
    }

    /// Forgets what can be read again, since the other side may have other bytes now, and takes its
    /// size.
    pub fn renew(&mut self, store: &mut impl Store, size: u64) {
        if !self.is_kept {
            self.release_from(store, 0);
            (self.size, self.outside_end) = (size, size);
        }
    }

    /// Returns true if it cannot be read again.
    pub fn is_kept(&self) -> bool {
        self.is_kept
    }

    /// Notes that others may write to a part.
    pub fn note_shared(&mut self, offset: u64, size: u64) {
        // One entry a place, however often it is shown.
        let known = self.shared.entry(offset).or_default();
        *known = size.max(*known);
    }

    /// Returns the parts to which others may write, as far as the file goes. `is_last`: nobody may
    /// write there any more.
    pub fn shared_parts(&mut self, is_last: bool) -> Vec<(u64, u64)> {
        let (size, parts) = (self.size, self.shared.clone());
        if is_last {
            self.shared.clear();
        }
        parts.into_iter().filter(|part| part.0 < size).map(|(offset, part)| (offset, part.min(size - offset))).collect()
    }

    /// Notes that somebody has the memory of the content: it stays.
    pub fn keep(&mut self) {
        self.is_kept = true;
    }

    /// Returns the number of bytes of memory whose contents the other side still has.
    pub fn evictable(&self) -> u64 {
        let can_go = !self.is_kept && self.outside_end == self.size;
        if can_go { self.held } else { 0 }
    }

    /// Returns true if the other side has all of it, and nobody has memory of it.
    pub fn is_all_outside(&self) -> bool {
        !self.is_kept && self.outside_end == self.size
    }

    /// Gives memory back whose bytes the other side still has. Returns how many.
    pub fn evict(&mut self, store: &mut impl Store) -> u64 {
        let count = self.evictable();
        if count != 0 {
            self.release_from(store, 0);
        }
        count
    }
}
