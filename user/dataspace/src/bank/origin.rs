//! Pages that have their places in the store from the start: those of files.

use super::{Bank, CLUSTER, Trouble};
use crate::PAGE;
use crate::hands::Hands;
use crate::policy::Policy;
use crate::store::Store;
use core::ops::Range;

impl<H: Hands, S: Store, P: Policy> Bank<H, S, P> {
    /// Returns true if the page in the buffer is all zeros, and the store need not have it.
    pub(super) fn is_blank(&self) -> bool {
        !self.store.is_origin() && *self.buffer == [0; PAGE]
    }

    /// Puts a page, which is in the buffer, into the store. Where that is full, copies of pages
    /// that are here as well make room.
    pub(super) fn keep(&mut self, page: u64) -> Result<u64, Trouble> {
        loop {
            match self.store.put_for(page, &self.buffer) {
                Ok(number) => return Ok(number),
                Err(_) if self.store.is_origin() => return Err(Trouble::Full),
                Err(_) => {}
            }
            let number = self.frames.take_copy().ok_or(Trouble::Full)?;
            self.store.drop(number);
        }
    }

    /// A page comes from the store for the first time. Those behind it come along, up to `end`, if
    /// that costs nobody a frame.
    pub(super) fn bring_first(&mut self, page: u64, number: u64, written: bool, end: u64) -> Result<(), Trouble> {
        self.bring(page, number, written)?;
        for page in page + 1..end.min((page / CLUSTER + 1) * CLUSTER) {
            let is_free = !self.free.is_empty() && !self.places.contains_key(&page);
            let Some(number) = self.store.origin(page).filter(|_| is_free) else { break };
            // Without them nobody lacks anything.
            if self.bring(page, number, false).is_err() {
                break;
            }
            self.counts.along += 1;
        }
        Ok(())
    }

    /// Writes what was changed in a range to where it has its place. Returns false if nothing was.
    /// On failure the rest stays here, changed.
    pub fn write_back(&mut self, range: Range<u64>) -> Result<bool, Trouble> {
        let is_changed = !self.unsaved(range.clone()).is_empty();
        if is_changed {
            self.save(range)?;
        }
        Ok(is_changed)
    }
}
