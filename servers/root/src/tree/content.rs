//! The content of a regular file: runs of memory, with holes between them that read as zeros.
//!
//! A boot file starts as one run of the boot image that is not owned; the first change copies it.
//! Invariant: runs are sorted, do not overlap, start and end at multiples of a frame, and what lies
//! in them beyond the file's size is zero (owned runs only).

use crate::frames::FRAME;
use crate::store::Store;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::Range;
use nacre_proto::Errno;
use nacre_sys::Span;

/// Largest size of a file, as for Linux.
pub const MAX_SIZE: u64 = i64::MAX as u64;
/// A file grows by as much as it has, up to this many bytes at a time.
const MAX_GROWTH: u64 = 1 << 20;
/// Maximum of bytes that come with a page of shared memory that is touched.
const MAX_AHEAD: u64 = 64 << 10;

/// A part of a file that lies in one piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    /// Offset in the file.
    offset: u64,
    /// Offset in the store.
    start: u64,
    size: u64,
    owned: bool,
}

impl Run {
    fn end(&self) -> u64 {
        self.offset + self.size
    }
}

/// The bytes of a file.
#[derive(Default, Debug)]
pub struct Content {
    size: u64,
    runs: Vec<Run>,
    /// Bytes of all runs.
    held: u64,
    /// Up to here memory was asked for, perhaps behind the end.
    allocated_end: u64,
    /// Set once others have had its memory to write. Behind the end, in the last frame, may stand
    /// what they wrote.
    is_shared: bool,
    /// Set if it has this size and lies in this memory for good. Parts that are cut off or punched
    /// out become zeros.
    is_fixed: bool,
    /// Set if no client may write to the content.
    is_read_only: bool,
    /// Up to here, what lies in no run is with the other side, from which the file is.
    outside_end: u64,
    /// Set once it is not what the other side has, or others have its memory: it cannot be read
    /// again.
    is_kept: bool,
    /// Parts of a file of the other side's to which others may write: sizes by offset.
    shared: BTreeMap<u64, u64>,
}

/// Part of a file.
pub enum Piece<'store> {
    /// Bytes of the store.
    Bytes(Span<'store>),
    /// A number of zeros.
    Zeros(u64),
}

impl Content {
    /// The content of a boot file, `size` bytes at `start` of the store.
    pub fn boot(start: u64, size: u64) -> Content {
        let mut content = Content { size, ..Content::default() };
        if size > 0 {
            content.held = size.next_multiple_of(FRAME);
            content.runs.push(Run { offset: 0, start, size: content.held, owned: false });
        }
        content
    }

    /// The content that is `size` bytes, whole frames, at `start` of the store, and never anything
    /// else.
    pub fn fixed(start: u64, size: u64) -> Content {
        Content { size, held: size, runs: alloc::vec![Run { offset: 0, start, size, owned: true }], is_fixed: true, ..Content::default() }
    }

    /// The content that is a device's window: `size` bytes, whole frames, at `start` of the store.
    pub fn window(start: u64, size: u64, writable: bool) -> Content {
        Content { is_read_only: !writable, ..Content::fixed(start, size) }
    }

    /// Returns true if nobody may write there.
    pub fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Returns true if its size and place stay what they are.
    pub fn is_fixed(&self) -> bool {
        self.is_fixed
    }

    /// Returns the number of blocks of 512 bytes that take memory.
    pub fn blocks(&self) -> u64 {
        let end = self.size.max(self.allocated_end).next_multiple_of(FRAME);
        // A file that grows has memory behind its end, in its last run.
        let behind: u64 = self.runs.iter().rev().take_while(|run| run.end() > end).map(|run| run.end() - run.offset.max(end)).sum();
        (self.held - behind) / 512
    }

    /// Returns the start in the store of the whole frames of `offset..offset + size`, if they lie
    /// in one piece.
    pub fn contiguous(&self, offset: u64, size: u64) -> Option<u64> {
        let run = self.runs.get(self.find(offset).ok()?)?;
        (size > 0 && offset.checked_add(size)? <= run.end()).then(|| run.start + (offset - run.offset))
    }

    /// The index of the run around `offset`, or of the first one behind it.
    fn find(&self, offset: u64) -> Result<usize, usize> {
        let next = self.runs.partition_point(|run| run.end() <= offset);
        if self.runs.get(next).is_some_and(|run| run.offset <= offset) { Ok(next) } else { Err(next) }
    }

    /// The longest piece at `offset`, at most `limit` bytes; nothing at and beyond the end.
    pub fn piece<'store>(&self, store: &'store impl Store, offset: u64, limit: u64) -> Piece<'store> {
        let limit = limit.min(self.size.saturating_sub(offset));
        match self.find(offset) {
            Ok(index) => {
                let run = &self.runs[index];
                Piece::Bytes(store.span(run.start + (offset - run.offset), limit.min(run.end() - offset)))
            }
            Err(next) => Piece::Zeros(self.runs.get(next).map_or(limit, |run| limit.min(run.offset - offset))),
        }
    }

    /// Copies bytes from `offset` on; says how many there were.
    pub fn read(&self, store: &impl Store, offset: u64, into: &mut [u8]) -> usize {
        let mut done = 0;
        while done < into.len() {
            let rest = &mut into[done..];
            let count = match self.piece(store, offset + done as u64, rest.len() as u64) {
                Piece::Bytes(bytes) => bytes.copy_to(rest),
                Piece::Zeros(count) => {
                    rest[..count as usize].fill(0);
                    count as usize
                }
            };
            if count == 0 {
                break;
            }
            done += count;
        }
        done
    }

    /// Writes `bytes` at `offset`; says how many found room.
    pub fn write(&mut self, store: &mut impl Store, offset: u64, bytes: &[u8]) -> Result<usize, Errno> {
        let end = offset.checked_add(bytes.len() as u64).filter(|&end| end <= MAX_SIZE).ok_or(Errno::EFBIG)?;
        self.clear_behind_end(store, offset);
        self.is_kept = true;
        let mut done = 0;
        while done < bytes.len() {
            let at = offset + done as u64;
            let Some(index) = self.make_room(store, at, end) else { break };
            let run = self.runs[index];
            let count = (run.end() - at).min((bytes.len() - done) as u64);
            store.write(run.start + (at - run.offset), &bytes[done..done + count as usize]);
            done += count as usize;
            self.size = self.size.max(at + count);
        }
        if done == 0 && !bytes.is_empty() { Err(Errno::ENOSPC) } else { Ok(done) }
    }

    /// An owned run around `at`, made or copied if there is none. `end` is where the write will
    /// end.
    fn make_room(&mut self, store: &mut impl Store, at: u64, end: u64) -> Option<usize> {
        match self.find(at) {
            Ok(index) => self.make_owned(store, index).then_some(index),
            Err(next) => self.fill_gap(store, next, at, end),
        }
    }

    fn fill_gap(&mut self, store: &mut impl Store, next: usize, at: u64, end: u64) -> Option<usize> {
        if self.is_fixed {
            return None;
        }
        let offset = at / FRAME * FRAME;
        let gap = self.runs.get(next).map_or(u64::MAX, |run| run.offset) - offset;
        let needed = (end - offset).min(MAX_GROWTH).next_multiple_of(FRAME);
        // A file that is written at its end grows ahead of what is written.
        let ahead = if at == self.size { (512 * self.blocks()).min(MAX_GROWTH) } else { 0 };
        let mut size = needed.max(ahead).min(gap);
        let start = loop {
            match store.allocate(size) {
                Some(start) => break start,
                None if size > FRAME => size = (size / 2).next_multiple_of(FRAME).min(size - FRAME),
                None => return None,
            }
        };
        self.runs.insert(next, Run { offset, start, size, owned: true });
        self.held += size;
        Some(next)
    }

    /// Makes zeros of what others have written behind the end, in the last frame, before it becomes
    /// part of the file up to `until`.
    fn clear_behind_end(&mut self, store: &mut impl Store, until: u64) {
        let end = until.min(self.size.next_multiple_of(FRAME));
        if !self.is_shared || end <= self.size {
            return;
        }
        if let Some(run) = self.find(self.size).ok().map(|index| self.runs[index]).filter(|run| run.owned) {
            store.zero(run.start + (self.size - run.offset), end - self.size);
        }
    }

    /// Memory of its own for the frame at `offset`, to be shared: the offset, start in the store
    /// and size of what lies around it in one piece. `None`: it is behind the end, or there is no
    /// memory. Nobody may write to it unless it is `writable`.
    pub fn page(&mut self, store: &mut impl Store, offset: u64, writable: bool) -> Option<(u64, u64, u64)> {
        let end = self.size.next_multiple_of(FRAME);
        if offset >= end {
            return None;
        }
        self.is_shared |= writable;
        self.is_kept |= writable;
        let index = match self.find(offset) {
            Ok(index) if !writable => index,
            Ok(index) => self.make_owned(store, index).then_some(index)?,
            Err(next) => {
                // Who goes from frame to frame gets more and more of them.
                let before = next.checked_sub(1).map(|last| self.runs[last]).filter(|run| run.end() == offset / FRAME * FRAME);
                let ahead = before.map_or(FRAME, |run| run.size.clamp(FRAME, MAX_AHEAD));
                self.fill_gap(store, next, offset, (offset / FRAME * FRAME + ahead).min(end))?
            }
        };
        let run = self.runs[index];
        Some((run.offset, run.start, run.size.min(end - run.offset)))
    }

    /// Returns the bytes of the whole frames of a part that lie in holes.
    pub fn missing(&self, part: &Range<u64>) -> u64 {
        let (start, end) = (part.start / FRAME * FRAME, part.end.next_multiple_of(FRAME));
        let first = self.runs.partition_point(|run| run.end() <= start);
        let there = self.runs[first..].iter().take_while(|run| run.offset < end);
        end - start - there.map(|run| run.end().min(end) - run.offset.max(start)).sum::<u64>()
    }

    /// Takes memory for the holes of a part, which read as zeros still. `ENOSPC`: there is not as
    /// much; then none is kept behind the file's end.
    pub fn allocate(&mut self, store: &mut impl Store, part: Range<u64>) -> Result<(), Errno> {
        if self.is_fixed {
            return Err(Errno::EOPNOTSUPP);
        }
        self.is_kept = true;
        let mut at = part.start;
        while at < part.end {
            let Some(index) = self.make_room(store, at, part.end) else {
                self.allocated_end = 0;
                let behind = self.runs.partition_point(|run| run.offset < self.size);
                self.release_from(store, behind);
                return Err(Errno::ENOSPC);
            };
            at = self.runs[index].end();
        }
        self.allocated_end = self.allocated_end.max(part.end);
        Ok(())
    }

    /// Takes the memory of `start..end` away, as far as the file goes: it reads as zeros. Where to
    /// go on, if there are too many runs for one piece of work.
    pub fn punch(&mut self, store: &mut impl Store, start: u64, end: u64) -> Result<Option<u64>, Errno> {
        self.is_kept = true;
        if self.is_fixed || start < self.outside_end {
            return Ok(self.zero_piece(store, start, end.min(self.size)));
        }
        let whole = self.size.next_multiple_of(FRAME);
        let end = if end >= self.size { whole } else { end };
        let first = self.runs.partition_point(|run| run.end() <= start);
        let next = self.runs.get(first + store.at_once()).map(|run| run.offset).filter(|next| *next < end);
        let end = next.unwrap_or(end);
        let behind = self.runs.partition_point(|run| run.offset < end);
        for index in first..behind.max(first) {
            if !self.make_owned(store, index) {
                return Err(Errno::ENOSPC);
            }
        }
        let punched = first..behind.max(first);
        let mut left = Vec::with_capacity(punched.len() + 1);
        for run in &self.runs[punched.clone()] {
            self.held -= run.size;
            punch_run(store, *run, (start.max(run.offset), end.min(run.end())), &mut left);
        }
        self.held += left.iter().map(|run| run.size).sum::<u64>();
        self.runs.splice(punched, left);
        Ok(next)
    }

    /// Fills what is here of a part with zeros, which somebody else has made of it.
    pub fn clear(&mut self, store: &mut impl Store, part: Range<u64>) {
        let mut start = part.start;
        while let Some(next) = self.zero_piece(store, start, part.end.min(self.size)) {
            start = next;
        }
    }

    /// Fills a piece of `start..end` with zeros. Where to go on.
    fn zero_piece(&self, store: &mut impl Store, start: u64, end: u64) -> Option<u64> {
        let size = end.saturating_sub(start).min(MAX_GROWTH);
        let first = self.runs.partition_point(|run| run.end() <= start);
        for run in self.runs[first..].iter().take_while(|run| run.offset < start + size) {
            let (from, to) = (start.max(run.offset), run.end().min(start + size));
            store.zero(run.start + (from - run.offset), to - from);
        }
        Some(start + size).filter(|next| size > 0 && *next < end)
    }

    /// The next data (or hole) at or behind `offset`, below the end; behind the last data there is
    /// a hole.
    pub fn find_next(&self, offset: u64, data: bool) -> Option<u64> {
        if offset >= self.size {
            return None;
        }
        let mut next = self.runs.partition_point(|run| run.end() <= offset);
        if data {
            if offset < self.outside_end {
                return Some(offset);
            }
            return self.runs.get(next).map(|run| run.offset.max(offset)).filter(|at| *at < self.size);
        }
        let mut at = offset.max(self.outside_end);
        next = self.runs.partition_point(|run| run.end() <= at);
        while let Some(run) = self.runs.get(next).filter(|run| run.offset <= at) {
            (at, next) = (run.end(), next + 1);
        }
        Some(at.min(self.size))
    }

    /// Copies a run of the boot image before its first change.
    fn make_owned(&mut self, store: &mut impl Store, index: usize) -> bool {
        let run = self.runs[index];
        if run.owned {
            return true;
        }
        let Some(start) = store.allocate(run.size) else { return false };
        store.copy(run.start, start, run.size.min(self.size - run.offset));
        // Whoever looks at the image is to look at the copy.
        store.hide(run.start, run.size);
        self.runs[index] = Run { start, owned: true, ..run };
        true
    }

    /// Does a piece of [`Content::set_size`]; returns true if it was the last. A file is cut off
    /// from its end, and is whole in between.
    pub fn set_size_piece(&mut self, store: &mut impl Store, size: u64) -> Result<bool, Errno> {
        let (keep, most) = (self.runs.partition_point(|run| run.offset < size), store.at_once());
        if self.runs.len() - keep <= most {
            return self.set_size(store, size).map(|()| true);
        }
        self.set_size(store, self.runs[self.runs.len() - most].offset)?;
        Ok(false)
    }

    /// Cuts the file off or extends it with a hole.
    pub fn set_size(&mut self, store: &mut impl Store, size: u64) -> Result<(), Errno> {
        if size > MAX_SIZE {
            return Err(Errno::EFBIG);
        }
        if self.is_fixed {
            return if size == self.size { Ok(()) } else { Err(Errno::EINVAL) };
        }
        self.is_kept = true;
        self.outside_end = self.outside_end.min(size);
        if size < self.size {
            self.allocated_end = self.allocated_end.min(size);
            self.shrink(store, size)?;
        }
        self.clear_behind_end(store, size);
        self.size = size;
        Ok(())
    }

    fn shrink(&mut self, store: &mut impl Store, size: u64) -> Result<(), Errno> {
        let keep = self.runs.partition_point(|run| run.offset < size);
        if let Some(last) = keep.checked_sub(1).filter(|&last| self.runs[last].end() > size) {
            if !self.make_owned(store, last) {
                return Err(Errno::ENOSPC);
            }
            let run = self.runs[last];
            let end = run.end().min(self.size.next_multiple_of(FRAME));
            store.zero(run.start + (size - run.offset), end.saturating_sub(size));
            let last = size.next_multiple_of(FRAME);
            if last < end {
                store.hide(run.start + (last - run.offset), end - last);
            }
        }
        self.release_from(store, keep);
        Ok(())
    }

    /// Gives all memory back, if it is in many runs piece by piece.
    pub fn release(&mut self, store: &mut impl Store) {
        if self.is_fixed {
            return;
        }
        if self.runs.len() > store.at_once() {
            let runs = core::mem::take(&mut self.runs);
            self.held = 0;
            store.discard(runs.into_iter().filter(|run| run.owned).map(|run| (run.start, run.size)).collect());
        }
        self.release_from(store, 0);
        self.size = 0;
    }

    fn release_from(&mut self, store: &mut impl Store, first: usize) {
        for run in self.runs.drain(first..) {
            self.held -= run.size;
            if run.owned {
                store.free(run.start, run.size);
            }
        }
    }
}

/// Zeros at the edges, and holes for the whole frames of `start..end`, which lies in the run. What
/// is left of the run is added to `left`.
fn punch_run(store: &mut impl Store, run: Run, (start, end): (u64, u64), left: &mut Vec<Run>) {
    let at = |offset: u64| run.start + (offset - run.offset);
    let (low, high) = (start.next_multiple_of(FRAME), end / FRAME * FRAME);
    if low >= high {
        store.zero(at(start), end.saturating_sub(start));
        left.push(run);
        return;
    }
    store.zero(at(start), low - start);
    store.zero(at(high), end - high);
    store.free(at(low), high - low);
    let parts = [Run { size: low - run.offset, ..run }, Run { offset: high, start: at(high), size: run.end() - high, ..run }];
    left.extend(parts.into_iter().filter(|part| part.size > 0));
}

mod outside;
#[cfg(test)]
mod tests;
