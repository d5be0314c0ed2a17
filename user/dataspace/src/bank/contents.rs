//! Pages that come from elsewhere and go there: what a bank is given, and gives up.

use super::{Bank, CLUSTER, Held, Place, Trouble};
use crate::hands::{Hands, Shown};
use crate::policy::Policy;
use crate::store::Store;
use crate::{PAGE, Page};
use core::ops::Range;

impl<H: Hands, S: Store, P: Policy> Bank<H, S, P> {
    /// Returns true if the bank knows what the page holds.
    pub fn has(&self, page: u64) -> bool {
        self.places.contains_key(&page)
    }

    /// Takes over a page that is nowhere, with what it holds. Nobody sees it until there is a
    /// fault.
    pub fn adopt(&mut self, page: u64, from: &Page) -> Result<(), Trouble> {
        if *from == [0; PAGE] {
            self.places.insert(page, Place::Blank);
            return Ok(());
        }
        let frame = self.frame_for(page)?;
        self.hands.write(frame, from);
        self.hold(frame, Held { page, shown: Shown::No, copy: None });
        Ok(())
    }

    /// Marks a page that is nowhere as all zeros.
    pub fn adopt_blank(&mut self, page: u64) {
        self.places.insert(page, Place::Blank);
    }

    /// All pages of a range are zeros again, and nowhere.
    pub fn forget(&mut self, range: Range<u64>) -> Result<(), Trouble> {
        self.conceal(range.clone())?;
        // Frames are taken in order later if they are given back in reverse.
        let (mut freed, mut count) = ([0; CLUSTER as usize], 0);
        while let Some((page, place)) = self.places.range(range.clone()).next().map(|(page, place)| (*page, *place)) {
            match place {
                Place::Away(number, _) => self.store.drop(number),
                Place::Blank => {}
                Place::Here(frame) => {
                    self.unkeep(page, frame);
                    if let Some(number) = self.frames.take(frame).and_then(|held| held.copy) {
                        self.store.drop(number);
                    }
                    (freed[count], count) = (frame, count + 1);
                }
            }
            self.places.remove(&page);
            if count == freed.len() {
                freed.iter().rev().for_each(|frame| self.free_frame(*frame));
                count = 0;
            }
        }
        freed[..count].iter().rev().for_each(|frame| self.free_frame(*frame));
        Ok(())
    }
}
