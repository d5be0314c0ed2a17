//! The bank: which page is where.
//!
//! A page is nowhere (nobody has touched it), *here* (in a frame), *away* (in the store) or *blank*
//! (it left, and was all zeros). A page that came back unchanged is here and away, until somebody
//! writes to it: then it can leave at no cost.

mod contents;
mod frames;
mod origin;
mod passing;
mod pins;
mod saving;
mod together;

use crate::homes::{Access, Homes};
use crate::hands::{Hands, Refused, Shown};
use crate::policy::{Choice, Policy, Standing};
use crate::store::{Lost, Store};
use crate::{PAGE, Page};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::Range;
use frames::{Frames, Held};
use passing::Passing;
use pins::Pins;

pub use pins::Whereabouts;

/// Frames that were brought last do not leave: an instruction or a call of the kernel needs so many
/// pages at once, and several threads make them.
const RECENT: usize = 32;
/// Fewest frames that a bank can work with.
pub const MIN_FRAMES: usize = 2 * RECENT;
/// Pages that come together: those that nobody has touched yet, if there are frames for them, and
/// those that left together.
pub(crate) const CLUSTER: u64 = 8;
/// Frames of a bank for each page that leaves together with another one, and most such pages.
const FRAMES_AHEAD: usize = 256;
const MOST_AHEAD: usize = 32;
/// Frames that are tried before the store is taken for full.
const TRIES: usize = 64;

/// Reason why a page cannot be brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Full store: no frame can be freed.
    Full,
    /// Lost page: its stored copy is gone.
    Lost,
    /// The machine refused.
    Refused,
}

impl From<Lost> for Trouble {
    fn from(_: Lost) -> Trouble {
        Trouble::Lost
    }
}

impl From<Refused> for Trouble {
    fn from(_: Refused) -> Trouble {
        Trouble::Refused
    }
}

/// Counts of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Times that somebody lacked a page.
    pub faults: u64,
    /// Faults at pages that were here, and only hidden or read-only.
    pub shown_again: u64,
    /// Pages that were touched for the first time.
    pub fresh: u64,
    /// Pages that came back from the store.
    pub brought: u64,
    /// Pages among them that nobody had touched yet: they came along with one that left together
    /// with them.
    pub along: u64,
    /// Pages that were put away.
    pub put_away: u64,
    /// Pages that left without: they were all zeros, or in the store already.
    pub left: u64,
    /// Faults that found no frame and no place in the store.
    pub full: u64,
    /// Faults at pages whose stored copies were gone.
    pub lost: u64,
    /// Faults that the machine refused to answer.
    pub refused: u64,
}

impl Counts {
    /// Counts a fault that could not be answered.
    fn note(&mut self, trouble: Trouble) {
        *match trouble {
            Trouble::Full => &mut self.full,
            Trouble::Lost => &mut self.lost,
            Trouble::Refused => &mut self.refused,
        } += 1;
    }
}

/// Place of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Here(usize),
    /// The page's number in the store, and how many pages had left before it.
    Away(u64, u64),
    /// The page is known to be all zeros. It hides what a source of its dataspace has there.
    Blank,
}

/// The frames, and who has them.
pub struct Bank<H, S, P> {
    hands: H,
    store: S,
    policy: P,
    frames: Frames,
    free: Vec<usize>,
    /// Frames whose pages have left before anybody needed them.
    ahead: Vec<usize>,
    places: BTreeMap<u64, Place>,
    /// Pages that were brought last, in a ring.
    recent: [usize; RECENT],
    next_recent: usize,
    buffer: Box<Page>,
    promised: u64,
    counts: Counts,
    /// Frames that belong to pages for good. Then no page leaves, and no frame is in `free`.
    homes: Option<Homes>,
    /// Pages that go to another bank.
    passing: Passing,
    /// Pages that do not leave.
    pins: Pins,
}

/// Absence of a frame.
const NONE: usize = usize::MAX;

impl<H: Hands, S: Store, P: Policy> Bank<H, S, P> {
    /// A bank of so many frames, at least [`MIN_FRAMES`].
    pub fn new(hands: H, store: S, policy: P, frames: usize) -> Bank<H, S, P> {
        Bank {
            hands,
            store,
            policy,
            frames: Frames::new(frames),
            free: (0..frames).rev().collect(),
            ahead: Vec::new(),
            places: BTreeMap::new(),
            recent: [NONE; RECENT],
            next_recent: 0,
            buffer: Box::new([0; PAGE]),
            promised: 0,
            counts: Counts::default(),
            homes: None,
            passing: Passing::default(),
            pins: Pins::default(),
        }
    }

    /// A bank of so many frames, where each dataspace has one run of them.
    pub fn with_homes(hands: H, store: S, policy: P, frames: usize, access: Access) -> Bank<H, S, P> {
        Bank { free: Vec::new(), homes: Some(Homes::new(frames, access)), ..Bank::new(hands, store, policy, frames) }
    }

    /// Takes frames for the pages of a new dataspace, where they belong to pages for good. Returns
    /// false if there is no run of them.
    pub fn begin_home(&mut self, pages: Range<u64>) -> bool {
        self.homes.as_mut().is_none_or(|homes| homes.begin(pages))
    }

    /// Takes frames for pages that a dataspace gets at its end.
    pub fn extend_home(&mut self, pages: Range<u64>) -> bool {
        self.homes.as_mut().is_none_or(|homes| homes.take(pages))
    }

    /// Frames of pages that no dataspace has any more, and that nobody sees, are free.
    pub fn end_home(&mut self, pages: Range<u64>) {
        if let Some(homes) = &mut self.homes {
            homes.give(pages);
        }
    }

    /// Returns true if frames belong to pages for good.
    pub fn has_homes(&self) -> bool {
        self.homes.is_some()
    }

    /// The frame that a page is in; `None` if it is in none now.
    pub fn frame_of(&self, page: u64) -> Option<usize> {
        match self.places.get(&page) {
            Some(Place::Here(frame)) => Some(*frame),
            _ => None,
        }
    }

    /// A frame for a page.
    fn frame_for(&mut self, page: u64) -> Result<usize, Trouble> {
        match &self.homes {
            Some(homes) => homes.frame(page).ok_or(Trouble::Full),
            None => self.room(),
        }
    }

    /// A frame for a page that nobody has touched, if that costs no other page its frame.
    fn spare_frame(&mut self, page: u64) -> Option<usize> {
        match &self.homes {
            _ if self.places.contains_key(&page) => None,
            Some(homes) => homes.frame(page),
            None => self.free.pop(),
        }
    }

    /// A frame holds no page any more.
    fn free_frame(&mut self, frame: usize) {
        if self.homes.is_none() {
            self.free.push(frame);
        }
    }

    fn access(&self) -> Access {
        self.homes.as_ref().map_or(Access::Memory, Homes::access)
    }

    /// Returns the counts of events so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The machine's side.
    pub fn machine(&self) -> &H {
        &self.hands
    }

    /// Returns the store to which pages go.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// Returns the maximum number of pages that can be promised. Without a store no page ever
    /// leaves, so each frame is good for one page.
    pub fn most(&self) -> u64 {
        if self.store.capacity() == 0 {
            return self.frames.len() as u64;
        }
        if self.store.keeps_all() {
            return self.store.capacity();
        }
        self.store.capacity() + (self.frames.len() - MIN_FRAMES / 2) as u64
    }

    /// Promises that `count` more pages can all be touched and written; false: they might not find
    /// a place.
    pub fn promise(&mut self, count: u64) -> bool {
        let promised = self.promised.saturating_add(count);
        let kept = promised <= self.most();
        if kept {
            self.promised = promised;
        }
        kept
    }

    /// `count` pages that were promised are wanted no longer.
    pub fn release(&mut self, count: u64) {
        self.promised -= count;
    }

    /// Somebody touches `page`, to write to it or not; pages from it on up to `end` belong to the
    /// same segment. When this returns the page is shown so.
    pub fn fault(&mut self, page: u64, written: bool, end: u64) -> Result<(), Trouble> {
        self.counts.faults += 1;
        let done = match self.places.get(&page) {
            Some(Place::Here(frame)) => self.show_again(*frame, written),
            Some(Place::Away(number, left)) => {
                let (number, left) = (*number, *left);
                self.bring(page, number, written).map(|()| self.bring_along(page, left, end))
            }
            Some(Place::Blank) => self.begin(page, page + 1),
            None => match self.store.origin(page) {
                Some(number) => self.bring_first(page, number, written, end),
                None => self.begin(page, end),
            },
        };
        done.inspect_err(|trouble| self.note_unanswered(*trouble))
    }

    /// Counts a fault that was not answered.
    pub fn note_unanswered(&mut self, trouble: Trouble) {
        self.counts.note(trouble);
    }

    fn show_again(&mut self, frame: usize, written: bool) -> Result<(), Trouble> {
        let Some(mut held) = self.frames.get(frame) else { return Err(Trouble::Lost) };
        self.counts.shown_again += 1;
        let reads_alone = self.access() == Access::ReadOnlyDevice;
        if reads_alone && written {
            return Err(Trouble::Refused);
        }
        let wanted = if reads_alone {
            Shown::Read
        } else if written || held.copy.is_none() {
            Shown::Written
        } else {
            Shown::Read
        };
        if held.shown == wanted || held.shown == Shown::Written {
            // Another thread has asked for it meanwhile.
            return Ok(self.hands.check_shown(held.page, frame, held.shown == Shown::Written)?);
        }
        if held.shown != Shown::No {
            self.hands.hide(held.page, frame)?;
            held.shown = Shown::No;
            self.frames.put(frame, held);
        }
        self.hands.show(held.page, frame, wanted == Shown::Written)?;
        if wanted == Shown::Written
            && let Some(number) = held.copy.take()
        {
            self.store.drop(number);
        }
        self.frames.put(frame, Held { shown: wanted, ..held });
        self.note(frame);
        Ok(())
    }

    /// A page comes back from the store.
    fn bring(&mut self, page: u64, number: u64, written: bool) -> Result<(), Trouble> {
        let frame = self.frame_for(page)?;
        // What had to leave for it went through the same buffer, so it is read now.
        let shown = self.store.get(number, &mut self.buffer).map_err(Trouble::from).and_then(|()| {
            self.hands.write(frame, &self.buffer);
            Ok(self.hands.show(page, frame, written)?)
        });
        if let Err(trouble) = shown {
            self.free_frame(frame);
            return Err(trouble);
        }
        self.counts.brought += 1;
        if written {
            self.store.drop(number);
        }
        let (shown, copy) = if written { (Shown::Written, None) } else { (Shown::Read, Some(number)) };
        self.hold(frame, Held { page, shown, copy });
        Ok(())
    }

    /// A page is touched for the first time; some behind it come along if that costs nobody a
    /// frame. Frames in a row are shown at once.
    fn begin(&mut self, page: u64, end: u64) -> Result<(), Trouble> {
        let (mut first, mut frame, mut count) = (page, self.frame_for(page)?, 1);
        for next in page + 1..end.min((page / CLUSTER + 1) * CLUSTER) {
            let Some(found) = self.spare_frame(next) else { break };
            if found == frame + count {
                count += 1;
                continue;
            }
            if let Err(trouble) = self.begin_in(frame, first, count) {
                self.free_frame(found);
                // Nobody waits for pages but the first one.
                return if first == page { Err(trouble) } else { Ok(()) };
            }
            (first, frame, count) = (next, found, 1);
        }
        let done = self.begin_in(frame, first, count);
        if first == page { done } else { Ok(()) }
    }

    /// Shows frames in a row at pages that nobody has touched, or the first ones of them.
    fn begin_in(&mut self, frame: usize, page: u64, count: usize) -> Result<(), Trouble> {
        let access = self.access();
        if access == Access::Memory {
            (frame..frame + count).for_each(|frame| self.hands.clear(frame));
        }
        let shown = if access == Access::ReadOnlyDevice { Shown::Read } else { Shown::Written };
        let done = self.hands.show_run(page, frame, count, shown == Shown::Written);
        (done..count).rev().for_each(|index| self.free_frame(frame + index));
        for index in 0..done {
            self.counts.fresh += 1;
            self.hold(frame + index, Held { page: page + index as u64, shown, copy: None });
        }
        if done == 0 { Err(Trouble::Refused) } else { Ok(()) }
    }

    fn hold(&mut self, frame: usize, held: Held) {
        self.places.insert(held.page, Place::Here(frame));
        self.frames.put(frame, held);
        self.keep_if_pinned(held.page, frame);
        self.note(frame);
    }

    fn note(&mut self, frame: usize) {
        self.recent[self.next_recent] = frame;
        self.next_recent = (self.next_recent + 1) % RECENT;
    }

    /// A frame without a page. Where there are many frames, several pages leave at once: each time
    /// that one is hidden, a guest machine above forgets all that it knows of its memory.
    fn room(&mut self) -> Result<usize, Trouble> {
        if let Some(frame) = self.free.pop().or_else(|| self.ahead.pop()) {
            return Ok(frame);
        }
        let frame = self.empty_one()?;
        for _ in 1..(self.frames.len() / FRAMES_AHEAD).min(MOST_AHEAD) {
            let Ok(frame) = self.empty_one() else { break };
            self.ahead.push(frame);
        }
        Ok(frame)
    }

    /// The page of a frame leaves; the frame.
    fn empty_one(&mut self) -> Result<usize, Trouble> {
        let mut tries = 0;
        while tries < TRIES {
            let (frames, recent, pins) = (&self.frames, &self.recent, &self.pins);
            let choice = self.policy.next(frames.len(), &|frame| standing(frames, recent, pins, frame));
            match choice.ok_or(Trouble::Full)? {
                Choice::Hide(frame) => self.hide(frame)?,
                Choice::Leave(frame) => match self.leave(frame) {
                    Ok(()) => return self.free.pop().ok_or(Trouble::Full),
                    Err(_) => tries += 1,
                },
            }
        }
        Err(Trouble::Full)
    }

    fn hide(&mut self, frame: usize) -> Result<(), Trouble> {
        if let Some(held) = self.frames.get(frame).filter(|held| held.shown != Shown::No) {
            self.hands.hide(held.page, frame)?;
            self.frames.put(frame, Held { shown: Shown::No, ..held });
        }
        Ok(())
    }

    /// The page of a frame leaves, and the frame is free.
    fn leave(&mut self, frame: usize) -> Result<(), Trouble> {
        self.hide(frame)?;
        let Some(held) = self.frames.get(frame) else { return Err(Trouble::Full) };
        if let Some(number) = held.copy {
            self.counts.left += 1;
            self.places.insert(held.page, Place::Away(number, self.departures()));
        } else {
            self.hands.read(frame, &mut self.buffer);
            if self.is_blank() {
                self.counts.left += 1;
                self.places.insert(held.page, Place::Blank);
            } else if self.passing.take(held.page, &self.buffer) {
                self.counts.put_away += 1;
                self.places.remove(&held.page);
            } else {
                // If it must stay it is hidden, and shown again when somebody asks for it.
                let number = self.keep(held.page)?;
                self.counts.put_away += 1;
                self.places.insert(held.page, Place::Away(number, self.departures()));
            }
        }
        self.frames.take(frame);
        self.free.push(frame);
        Ok(())
    }

    /// Returns the numbers of pages here and away.
    pub fn population(&self) -> (usize, usize) {
        let here = if self.homes.is_some() { self.places.len() } else { self.frames.occupied().len() };
        (here, self.places.len() - here)
    }

    /// Pages that are promised.
    pub fn promised(&self) -> u64 {
        self.promised
    }

    /// The store, to be told what is in it.
    pub fn store_mut(&mut self) -> &mut S {
        &mut self.store
    }

    /// The machine's side, for tests.
    #[cfg(test)]
    pub fn hands(&mut self) -> &mut H {
        &mut self.hands
    }
}

fn standing(frames: &Frames, recent: &[usize], pins: &Pins, frame: usize) -> Standing {
    match frames.get(frame) {
        Some(held) if recent.contains(&frame) || pins.has(held.page) => Standing::Fixed,
        Some(held) if held.shown == Shown::No => Standing::Idle,
        Some(_) => Standing::Shown,
        None => Standing::Fixed,
    }
}
