//! The frames of a bank, and what each holds.

use crate::hands::Shown;
use alloc::vec::Vec;

/// A frame that holds a page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    pub(super) page: u64,
    pub(super) shown: Shown,
    /// Place of an equal copy in the store.
    pub(super) copy: Option<u64>,
}

/// All frames, and a list of those that hold a page: chance chooses among these, however many are
/// free.
pub(super) struct Frames {
    frames: Vec<Option<Held>>,
    /// Frames that hold a page, in any order.
    occupied: Vec<usize>,
    /// Place of each frame in that list, if it is there.
    places: Vec<usize>,
    /// Number of frames whose page has an equal copy in the store.
    copies: usize,
    /// Frame at which the next search for such a copy begins.
    hand: usize,
}

impl Frames {
    pub(super) fn new(count: usize) -> Frames {
        Frames { frames: alloc::vec![None; count], occupied: Vec::with_capacity(count), places: alloc::vec![0; count], copies: 0, hand: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.frames.len()
    }

    pub(super) fn get(&self, frame: usize) -> Option<Held> {
        self.frames[frame]
    }

    /// Frames that hold a page.
    pub(super) fn occupied(&self) -> &[usize] {
        &self.occupied
    }

    /// Puts a page into a frame, or changes what is noted of it.
    pub(super) fn put(&mut self, frame: usize, held: Held) {
        self.copies += usize::from(held.copy.is_some());
        match self.frames[frame].replace(held) {
            Some(before) => self.copies -= usize::from(before.copy.is_some()),
            None => {
                self.places[frame] = self.occupied.len();
                self.occupied.push(frame);
            }
        }
    }

    /// Takes the page out of a frame.
    pub(super) fn take(&mut self, frame: usize) -> Option<Held> {
        let held = self.frames[frame].take()?;
        self.copies -= usize::from(held.copy.is_some());
        let place = self.places[frame];
        self.occupied.swap_remove(place);
        if let Some(moved) = self.occupied.get(place) {
            self.places[*moved] = place;
        }
        Some(held)
    }

    /// Gives up the copy of a page that is here as well: its place in the store.
    pub(super) fn take_copy(&mut self) -> Option<u64> {
        let rounds = if self.copies == 0 { 0 } else { self.len() };
        for _ in 0..rounds {
            let frame = self.hand;
            self.hand = (frame + 1) % self.len();
            if let Some(held) = &mut self.frames[frame]
                && let Some(number) = held.copy.take()
            {
                self.copies -= 1;
                return Some(number);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Random;
    use std::collections::BTreeSet;

    #[test]
    fn the_list_names_frames_that_hold_a_page_and_no_others() {
        let (mut random, mut frames, mut expected) = (Random::new(1), Frames::new(40), BTreeSet::new());
        for step in 0..2000 {
            let frame = random.below(40);
            match random.below(2) {
                0 => {
                    frames.put(frame, Held { page: step, shown: Shown::No, copy: None });
                    expected.insert(frame);
                }
                _ => assert_eq!(frames.take(frame).is_some(), expected.remove(&frame)),
            }
            let mut occupied = frames.occupied().to_vec();
            occupied.sort();
            assert!(occupied.into_iter().eq(expected.iter().copied()));
            assert!((0..40).all(|frame| frames.get(frame).is_some() == expected.contains(&frame)));
        }
    }

    #[test]
    fn each_copy_is_given_up_once() {
        let (mut random, mut frames, mut copies) = (Random::new(2), Frames::new(40), BTreeSet::new());
        for number in 0..4000 {
            let frame = random.below(40);
            match random.below(4) {
                0 => assert!(frames.take(frame).and_then(|held| held.copy).is_none_or(|copy| copies.remove(&copy))),
                1 => {
                    let expected = (!copies.is_empty()).then_some(true);
                    assert_eq!(frames.take_copy().map(|copy| copies.remove(&copy)), expected);
                }
                _ => {
                    let copy = (random.below(2) == 0).then_some(number);
                    copies.extend(copy);
                    if let Some(before) = frames.get(frame).and_then(|held| held.copy) {
                        copies.remove(&before);
                    }
                    frames.put(frame, Held { page: number, shown: Shown::No, copy });
                }
            }
        }
    }
}
