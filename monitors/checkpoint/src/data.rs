//! The data of an environment: memory that never holds kernel objects, and in which no server's
//! answer lands. So its pages can be made read-only at any moment, and copied when somebody writes
//! to them.
//!
//! Data is shown by one mapping for each chunk of memory. A freeze and a fork make these mappings
//! read-only, which takes one call for each, whatever the number of pages. A write to such a chunk
//! is a fault of the region that the environment has, whose keeper we are. It *opens* a few pages:
//! a writable overlay stands in front of them from then on.
//!
//! | chunk | an overlay shows |
//! | --- | --- |
//! | one environment has it, and is being written into an image | the same frames; what they held is saved before |
//! | one environment has it, between rounds of a move | the same frames: the open pages are those that were written |
//! | several environments have it, or it is data of an image in a store | frames of its own, with a copy |

mod chunk;
mod saving;
mod spare;
mod tracking;

use crate::store_file::StoreFile;
use alloc::collections::BTreeMap;
use alloc::rc::Rc;
use alloc::vec::Vec;
use nacre_abi::{PAGE_SIZE, Rights};
use nacre_dataspaces::extents::Extents;
use chunk::{Chunk, Image};
use nacre_proto::Errno;
use nacre_snapshot::store::Stored;
use nacre_sys::{OwnedMapping, Region, Space, Window};
use saving::Saving;
use spare::{Run, Spare, Store};

/// Bytes by which data grows, at least. It grows by a half of what is there.
const STEP: u64 = 1 << 20;
/// Bytes that are opened together, at a multiple of this.
const CLUSTER: u64 = 16 * PAGE_SIZE;
/// Rights of our own mappings. The region that an environment has of a piece gives it fewer.
const WRITABLE: Rights = Rights::ALL;
/// Rights of our own mapping of a chunk that nobody may write to.
const NARROW: Rights = Rights::READ.union(Rights::EXECUTE);

/// A chunk of memory, as one environment shows it.
struct Shown {
    chunk: Rc<Chunk>,
    /// Offset of its first byte in the data.
    offset: u64,
    mapping: OwnedMapping,
    is_narrow: bool,
}

impl Shown {
    fn new(window: Window, offset: u64, chunk: Rc<Chunk>, is_narrow: bool) -> Result<Shown, Errno> {
        let mapping = OwnedMapping::new(Space::OWN, window.start() + offset, chunk.size(), chunk.region(), chunk.base(), if is_narrow { NARROW } else { WRITABLE })?;
        Ok(Shown { chunk, offset, mapping, is_narrow })
    }

    fn end(&self) -> u64 {
        self.offset + self.chunk.size()
    }

    /// Returns true if others need it as it is.
    fn is_shared(&self) -> bool {
        Rc::strong_count(&self.chunk) > 1 || self.chunk.image().is_some()
    }

    /// Shows the data of another image, which holds the same where nothing is open, unless copies
    /// show it, too.
    fn point_to(&mut self, stored: Stored) {
        let is_alone = self.chunk.image().is_some() && Rc::strong_count(&self.chunk) == 1;
        let mapping = self.mapping.handle();
        if is_alone
            && let Ok(state) = mapping.get_state()
            && mapping.set_state(&nacre_abi::state::MappingState { offset: stored.start, ..state }).is_ok()
        {
            self.chunk.set_stored(stored);
        }
    }

    /// Makes it read-only, or writable.
    fn narrow(&mut self, is_narrow: bool) -> Result<(), Errno> {
        let mapping = self.mapping.handle();
        let state = mapping.get_state()?;
        mapping.set_state(&nacre_abi::state::MappingState { rights: if is_narrow { NARROW } else { WRITABLE }.0, ..state })?;
        self.is_narrow = is_narrow;
        Ok(())
    }
}

/// Pages in front of a chunk that can be written to.
struct Open {
    size: u64,
    _mapping: OwnedMapping,
    /// Frames of the environment's own; `None` if they are those of the chunk.
    own: Option<Run>,
}

/// The data of an environment, by offsets in it.
pub struct Data {
    window: Window,
    free: Extents,
    /// The chunks, one behind the other from 0 on.
    shown: Vec<Shown>,
    /// Pages in front of chunks, by the offset of the first one.
    open: BTreeMap<u64, Open>,
    spare: Spare,
    saving: Option<Saving>,
    /// Set if it is noted what is written, between the rounds of a move.
    is_tracked: bool,
}

impl Data {
    /// Makes data without memory, which may take all of these addresses.
    pub fn new(window: Window) -> Data {
        Data { window, free: Extents::new(window.size() / PAGE_SIZE), shown: Vec::new(), open: BTreeMap::new(), spare: Spare::default(), saving: None, is_tracked: false }
    }

    /// First address.
    pub fn start(&self) -> u64 {
        self.window.start()
    }

    /// The window of a part.
    pub fn window(&self, offset: u64, size: u64) -> Option<Window> {
        self.window.part(offset, size)
    }

    /// Bytes from the start on that are there.
    pub fn end(&self) -> u64 {
        self.shown.last().map_or(0, Shown::end)
    }

    /// Returns the number of bytes that were taken for this environment alone.
    pub fn present(&self) -> u64 {
        let own = self.shown.iter().filter(|shown| !shown.is_shared()).map(|shown| shown.chunk.size()).sum::<u64>();
        own + self.spare.size()
    }

    /// Takes memory up to `end` bytes from the start.
    pub fn grow(&mut self, end: u64) -> Result<(), Errno> {
        let there = self.end();
        if end <= there {
            return Ok(());
        }
        let step = STEP.max(there / 2).min(self.window.size() - there);
        let more = (end - there).max(step.next_multiple_of(PAGE_SIZE).min(self.window.size() - there));
        self.shown.try_reserve(1).map_err(|_| Errno::ENOMEM)?;
        let shown = Shown::new(self.window, there, Rc::new(Chunk::Own(Store::take(more)?)), false)?;
        self.shown.push(shown);
        Ok(())
    }

    /// Shows the data of an image in a store, before there is anything else.
    pub fn show(&mut self, file: Rc<StoreFile>, stored: Stored) -> Result<(), Errno> {
        if stored.data == 0 {
            return Ok(());
        }
        if stored.data > self.window.size() || !self.shown.is_empty() {
            return Err(Errno::EINVAL);
        }
        self.shown.push(Shown::new(self.window, 0, Rc::new(Chunk::Image(Image::new(file, stored))), true)?);
        Ok(())
    }

    /// Returns true if it shows the image in this half of the store.
    pub fn shows_half(&self, half: u64) -> bool {
        self.shown.iter().any(|shown| shown.chunk.half() == Some(half))
    }

    /// Shows the image that was made of it instead of the one before.
    pub fn point_to(&mut self, stored: Stored) {
        self.shown.iter_mut().for_each(|shown| shown.point_to(stored));
    }

    /// Takes zeroed memory of this size, whole pages: its offset.
    pub fn take(&mut self, size: u64) -> Result<u64, Errno> {
        let offset = self.free.take(size / PAGE_SIZE).ok_or(Errno::ENOMEM)? * PAGE_SIZE;
        let made = self.grow(offset + size).and_then(|()| self.clear(offset, size));
        made.inspect_err(|_| self.give(offset, size)).map(|()| offset)
    }

    /// Gives back the addresses of a piece that nobody sees any more.
    pub fn give(&mut self, offset: u64, size: u64) {
        self.free.give(offset / PAGE_SIZE, size / PAGE_SIZE);
        if self.saving.is_some() {
            // What its pages held is saved when they are opened for others.
            return;
        }
        let end = offset + size;
        let within = |(at, open): (&u64, &Open)| (at + open.size <= end && open.own.is_some()).then_some(*at);
        let all: Vec<u64> = self.open.range(offset..end).filter_map(within).collect();
        for at in all {
            if let Some(run) = self.open.remove(&at).and_then(|open| open.own) {
                self.spare.give(run);
            }
        }
    }

    /// Notes which parts are taken: these ranges, in order, and none over another.
    pub fn set_taken(&mut self, ranges: &[(u64, u64)]) {
        self.free = Extents::new(0);
        let mut start = 0;
        for (offset, size) in ranges.iter().copied().chain([(self.window.size(), 0)]) {
            if offset > start {
                self.free.give(start / PAGE_SIZE, (offset - start) / PAGE_SIZE);
            }
            start = offset + size;
        }
    }

    /// Makes a part zeros.
    pub fn clear(&mut self, offset: u64, size: u64) -> Result<(), Errno> {
        self.open(offset, offset + size, false)?;
        Ok(nacre_sys::memory::clear(self.window.start() + offset, size)?)
    }

    /// Lets somebody write who could not at `offset`, in a piece that lies in `piece`.
    pub fn fault(&mut self, offset: u64, piece: (u64, u64)) -> Result<(), Errno> {
        let Some(shown) = self.shown.iter_mut().find(|shown| (shown.offset..shown.end()).contains(&offset)) else { return Err(Errno::EFAULT) };
        if shown.is_narrow && !shown.is_shared() && self.saving.is_none() && !self.is_tracked {
            // The copies that shared it have ended.
            return shown.narrow(false);
        }
        let first = offset / CLUSTER * CLUSTER;
        self.open(first.max(piece.0), (first + CLUSTER).min(piece.1), true)
    }

    /// Parts of a range in read-only chunks in front of which nothing is open: the number of the
    /// chunk, and where it starts and ends.
    fn closed(&self, start: u64, end: u64) -> Vec<(usize, u64, u64)> {
        let mut closed = Vec::new();
        for (number, shown) in self.shown.iter().enumerate().filter(|(_, shown)| shown.is_narrow) {
            let open = self.open.iter().map(|(at, open)| (*at, at + open.size));
            closed.extend(gaps(open, start.max(shown.offset), end.min(shown.end())).into_iter().map(|(from, to)| (number, from, to)));
        }
        closed
    }

    /// Makes a range writable. With `keeps`, it holds afterwards what it did; otherwise it holds
    /// anything.
    fn open(&mut self, start: u64, end: u64, keeps: bool) -> Result<(), Errno> {
        for (number, from, to) in self.closed(start, end) {
            if self.saving.is_some() {
                let pages = self.filled(from, to);
                self.saving.iter_mut().for_each(|saving| saving.save(self.window, &pages));
            }
            self.open_closed(number, from, to, keeps)?;
        }
        Ok(())
    }

    fn open_closed(&mut self, number: usize, from: u64, to: u64, keeps: bool) -> Result<(), Errno> {
        let (shown, size) = (&self.shown[number], to - from);
        let own = if shown.is_shared() { Some(self.spare.take(size)?) } else { None };
        let made = match &own {
            None => overlay(self.window, from, size, shown.chunk.region(), from - shown.offset),
            Some(run) => {
                let copied = !keeps || self.window.part(from, size).and_then(|old| run.window().copy_pages_from(0, old)).is_some();
                if copied { overlay(self.window, from, size, run.region(), run.offset()) } else { Err(Errno::EFAULT) }
            }
        };
        match made {
            Ok(mapping) => {
                self.open.insert(from, Open { size, _mapping: mapping, own });
                Ok(())
            }
            Err(errno) => {
                own.into_iter().for_each(|run| self.spare.give(run));
                Err(errno)
            }
        }
    }

    /// Makes all chunks read-only that are not.
    fn narrow(&mut self) -> Result<(), Errno> {
        self.shown.iter_mut().filter(|shown| !shown.is_narrow).try_for_each(|shown| shown.narrow(true))
    }

    /// Makes chunks writable again that nobody else has.
    fn widen(&mut self) {
        for shown in self.shown.iter_mut().filter(|shown| shown.is_narrow && !shown.is_shared()) {
            // One that stays read-only is opened page by page.
            if shown.narrow(false).is_ok() {
                let (start, end) = (shown.offset, shown.end());
                self.open.retain(|at, open| !(start..end).contains(at) || open.own.is_some());
            }
        }
    }

    /// Shares the chunks with a copy of this environment, whose data has these addresses: a page is
    /// copied when either writes to it. Pages of either's own are copied at once.
    pub fn share(&mut self, window: Window) -> Result<Data, Errno> {
        if self.open.values().any(|open| open.own.is_none()) {
            // Else we would go on writing to frames that the copy sees.
            return Err(Errno::EBUSY);
        }
        self.narrow()?;
        let mut copy = Data::new(window);
        for shown in &self.shown {
            copy.shown.push(Shown::new(window, shown.offset, shown.chunk.clone(), true)?);
        }
        for (at, open) in &self.open {
            copy.open(*at, at + open.size, false)?;
            let from = self.window.part(*at, open.size);
            from.and_then(|from| copy.window.part(*at, open.size)?.copy_pages_from(0, from)).ok_or(Errno::EFAULT)?;
        }
        Ok(copy)
    }
}

fn overlay(window: Window, offset: u64, size: u64, region: Region, at: u64) -> Result<OwnedMapping, Errno> {
    Ok(OwnedMapping::new(Space::OWN, window.start() + offset, size, region, at, WRITABLE.union(Rights::OVER))?)
}

/// Parts of `start..end` that none of these ranges covers, which are in order and apart.
fn gaps(covered: impl Iterator<Item = (u64, u64)>, start: u64, end: u64) -> Vec<(u64, u64)> {
    let (mut gaps, mut at) = (Vec::new(), start);
    for (from, to) in covered.filter(|(from, to)| *from < end && start < *to) {
        if at < from {
            gaps.push((at, from));
        }
        at = at.max(to);
    }
    if at < end {
        gaps.push((at, end));
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_lie_between_what_is_covered() {
        let covered = [(10, 20), (30, 40), (40, 50)];
        let between = |start, end| gaps(covered.into_iter(), start, end);
        assert_eq!(between(0, 60), [(0, 10), (20, 30), (50, 60)]);
        assert_eq!(between(15, 35), [(20, 30)]);
        assert_eq!(between(32, 48), []);
        assert_eq!(between(20, 30), [(20, 30)]);
        assert_eq!(between(70, 60), []);
    }
}
