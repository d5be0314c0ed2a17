//! Pages that outlive the program, and bytes of pages that are read and written by message.

use super::{Bank, CLUSTER, Place, Trouble};
use crate::hands::{Hands, Shown};
use crate::policy::Policy;
use crate::store::Store;
use crate::{PAGE, Page};
use alloc::vec::Vec;
use core::ops::Range;

impl<H: Hands, S: Store, P: Policy> Bank<H, S, P> {
    /// Frames of a range whose pages the store does not have.
    pub(super) fn unsaved(&self, range: Range<u64>) -> Vec<usize> {
        let frame = |place: &Place| if let Place::Here(frame) = place { Some(*frame) } else { None };
        self.places.range(range).filter_map(|(_, place)| frame(place)).filter(|frame| self.frames.get(*frame).is_some_and(|held| held.copy.is_none())).collect()
    }

    /// Hides all pages of a range that the store does not have. What fails is hidden in part.
    pub fn conceal_unsaved(&mut self, range: Range<u64>) -> Result<(), Trouble> {
        self.unsaved(range).into_iter().try_for_each(|frame| self.hide(frame))
    }

    /// Writes all pages of a range to the store, and hides those that it did not have: pages that
    /// are not zeros, in order, with their numbers.
    /// They stay where they are, and numbers stay until the pages are written or dropped.
    pub fn save(&mut self, range: Range<u64>) -> Result<Vec<(u64, u64)>, Trouble> {
        for frame in self.unsaved(range.clone()) {
            self.hide(frame)?;
            let Some(held) = self.frames.get(frame) else { continue };
            self.hands.read(frame, &mut self.buffer);
            if self.is_blank() && !self.is_pinned(held.page) {
                self.places.insert(held.page, Place::Blank);
                self.frames.take(frame);
                self.free.push(frame);
            } else {
                let number = self.store.put_for(held.page, &self.buffer).map_err(|_| Trouble::Full)?;
                self.frames.put(frame, super::Held { shown: Shown::No, copy: Some(number), ..held });
            }
        }
        let number = |place: &Place| match place {
            Place::Away(number, _) => Some(*number),
            Place::Here(frame) => self.frames.get(*frame).and_then(|held| held.copy),
            Place::Blank => None,
        };
        Ok(self.places.range(range).filter_map(|(page, place)| Some((*page, number(place)?))).collect())
    }

    /// A page that is nowhere is in the store, at this number.
    pub fn restore(&mut self, page: u64, number: u64) {
        self.places.insert(page, Place::Away(number, self.departures()));
    }

    /// Makes generations of dataspaces, if the store does.
    pub fn lasting(&mut self) -> Option<&mut dyn crate::store::Lasting> {
        self.store.lasting()
    }

    /// Changes a page that the bank has shown to be written. It is hidden meanwhile and afterwards,
    /// so nobody else writes to it.
    pub fn edit(&mut self, page: u64, change: impl FnOnce(&mut Page)) -> Result<(), Trouble> {
        let Some(Place::Here(frame)) = self.places.get(&page).copied() else { return Err(Trouble::Lost) };
        self.hide(frame)?;
        self.hands.read(frame, &mut self.buffer);
        change(&mut self.buffer);
        self.hands.write(frame, &self.buffer);
        Ok(())
    }

    /// Hides all pages of a range. Some may be hidden when this fails, which costs a fault each.
    pub fn conceal(&mut self, range: Range<u64>) -> Result<(), Trouble> {
        let mut from = range.start;
        while let Some((page, frame)) = self.next_shown(from..range.end) {
            // As many in a row as may have been shown at once.
            let most = (CLUSTER - page % CLUSTER).min(range.end - page);
            let count = (1..most).find(|more| !self.shows(page + more, frame + *more as usize)).unwrap_or(most) as usize;
            let hidden = self.hands.hide_run(page, frame, count);
            for frame in frame..frame + hidden {
                if let Some(held) = self.frames.get(frame) {
                    self.frames.put(frame, super::Held { shown: Shown::No, ..held });
                }
            }
            if hidden < count {
                return Err(Trouble::Refused);
            }
            from = page + count as u64;
        }
        Ok(())
    }

    /// Returns true if a page is shown in a frame.
    fn shows(&self, page: u64, frame: usize) -> bool {
        self.places.get(&page) == Some(&Place::Here(frame)) && self.frames.get(frame).is_some_and(|held| held.shown != Shown::No)
    }

    /// The first page of a range that is shown, and its frame.
    fn next_shown(&self, range: Range<u64>) -> Option<(u64, usize)> {
        let here = |(page, place): (&u64, &Place)| if let Place::Here(frame) = place { Some((*page, *frame)) } else { None };
        self.places.range(range).filter_map(here).find(|(page, frame)| self.shows(*page, *frame))
    }

    /// Gives the known pages of a concealed range other numbers: those from `start` on, which are
    /// nowhere.
    pub fn rename(&mut self, range: Range<u64>, start: u64) {
        let first = range.start;
        while let Some((page, place)) = self.places.range(range.clone()).next().map(|(page, place)| (*page, *place)) {
            self.places.remove(&page);
            if let Place::Here(frame) = place {
                self.unkeep(page, frame);
            }
            let page = page - first + start;
            self.places.insert(page, place);
            if let Place::Here(frame) = place
                && let Some(held) = self.frames.get(frame)
            {
                self.frames.put(frame, super::Held { page, ..held });
            }
        }
    }

    /// Reads a page that the bank has, and hides it if it is here. Returns false if it is nowhere.
    pub fn peek(&mut self, page: u64, into: &mut Page) -> Result<bool, Trouble> {
        match self.places.get(&page) {
            None => match self.store.origin(page) {
                Some(number) => self.store.get(number, into)?,
                None => return Ok(false),
            },
            Some(Place::Blank) => *into = [0; PAGE],
            Some(Place::Away(number, _)) => self.store.get(*number, into)?,
            Some(Place::Here(frame)) => {
                let frame = *frame;
                self.hide(frame)?;
                self.hands.read(frame, into);
            }
        }
        Ok(true)
    }

    /// Pages of a range that the bank knows, in order.
    pub fn known(&self, range: Range<u64>) -> impl Iterator<Item = u64> + '_ {
        self.places.range(range).map(|(page, _)| *page)
    }
}
