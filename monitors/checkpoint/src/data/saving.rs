//! Data that is being written into an image while its environment runs: what pages held when it was
//! frozen is saved before somebody can write to them.

use super::{Data, gaps};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use nacre_abi::PAGE_SIZE;
use nacre_proto::Errno;
use nacre_sys::{Window, memory};

/// Pieces that are being written, and pages of them that may be written to.
pub struct Saving {
    /// Offsets of the first byte of each piece, and of the first one behind it, in order.
    pieces: Vec<(u64, u64)>,
    /// Contents of pages that may have changed.
    saved: BTreeMap<u64, Vec<u8>>,
    /// Set if there was no memory to save a page.
    is_short: bool,
}

impl Saving {
    /// Saves what those of these pages hold that belong to a piece.
    pub fn save(&mut self, window: Window, pages: &[u64]) {
        let has = |page: u64| self.pieces.iter().any(|(from, to)| (*from..*to).contains(&page));
        let pages: Vec<u64> = pages.iter().copied().filter(|page| has(*page)).collect();
        for page in pages {
            let mut bytes = Vec::new();
            if bytes.try_reserve_exact(PAGE_SIZE as usize).is_err() {
                self.is_short = true;
                return;
            }
            bytes.resize(PAGE_SIZE as usize, 0);
            window.read(page, &mut bytes);
            self.saved.insert(page, bytes);
        }
    }
}

/// Pages of a range that may hold anything but zeros.
fn touched(window: Window, start: u64, end: u64) -> Vec<u64> {
    let (mut pages, mut at, end) = (Vec::new(), window.start() + start, window.start() + end);
    while at < end
        && let Some(some) = memory::touched(at, end)
    {
        at = some.end;
        pages.extend(some.step_by(PAGE_SIZE as usize).map(|page| page - window.start()));
    }
    pages
}

impl Data {
    /// Keeps what these pieces hold now until [`end_saving`](Data::end_saving), whoever writes to
    /// them. They are in order.
    pub fn begin_saving(&mut self, pieces: Vec<(u64, u64)>) -> Result<(), Errno> {
        let mut saving = Saving { pieces, saved: BTreeMap::new(), is_short: false };
        // Pages of its own can be written to: they are few.
        for (at, open) in &self.open {
            saving.save(self.window, &touched(self.window, *at, at + open.size));
        }
        let narrowed = if saving.is_short { Err(Errno::ENOMEM) } else { self.narrow() };
        if let Err(errno) = narrowed {
            self.widen();
            return Err(errno);
        }
        self.saving = Some(saving);
        Ok(())
    }

    /// Pages of a range that may hold anything but zeros.
    pub(super) fn filled(&self, start: u64, end: u64) -> Vec<u64> {
        let images = self.shown.iter().filter_map(|shown| Some((shown, shown.chunk.image()?)));
        let mut pages = Vec::new();
        let mut at = start;
        for (shown, image) in images.filter(|(shown, _)| shown.offset < end && start < shown.end()) {
            let (from, to) = (shown.offset.max(start), shown.end().min(end));
            pages.extend(touched(self.window, at, from));
            pages.extend(image.filled(from - shown.offset, to - shown.offset).into_iter().map(|page| page + shown.offset));
            // What is open before it may hold more.
            let open = self.open.range(..to).filter(|(at, open)| from < *at + open.size);
            pages.extend(open.flat_map(|(at, open)| touched(self.window, (*at).max(from), (at + open.size).min(to))));
            at = to;
        }
        pages.extend(touched(self.window, at, end));
        pages.sort_unstable();
        pages.dedup();
        pages
    }

    /// Lets its contents change again.
    pub fn end_saving(&mut self) {
        if self.saving.take().is_some() && !self.is_tracked {
            self.widen();
        }
    }

    /// Pages of these pieces that may have held anything but zeros when they were frozen, in order.
    pub fn frozen_pages(&self, pieces: &[(u64, u64)]) -> Vec<u64> {
        let open = || self.open.iter().filter(|_| self.saving.is_some()).map(|(at, open)| (*at, at + open.size));
        let closed = pieces.iter().flat_map(|(start, end)| gaps(open(), *start, *end));
        let mut pages: Vec<u64> = closed.flat_map(|(start, end)| self.filled(start, end)).collect();
        pages.extend(self.saving.iter().flat_map(|saving| saving.saved.keys()));
        pages.sort_unstable();
        pages.dedup();
        pages
    }

    /// Reads what a page held when it was frozen.
    pub fn read_frozen(&self, page: u64, into: &mut [u8]) -> Result<(), Errno> {
        match self.saving.as_ref() {
            Some(saving) if saving.is_short => Err(Errno::ENOMEM),
            Some(Saving { saved, .. }) if saved.contains_key(&page) => {
                saved.get(&page).into_iter().for_each(|bytes| into.copy_from_slice(bytes));
                Ok(())
            }
            _ => self.window.read(page, into).ok_or(Errno::EFAULT),
        }
    }
}

