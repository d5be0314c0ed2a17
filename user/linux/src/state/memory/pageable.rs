//! Pages of the program's memory that a server may put away: where they are, which stay, and
//! advice about them.

use crate::abi::errno::Errno;
use crate::services::segment::{Paging, Segment};
use crate::services::segment_pages::{advise_pages, page_states, pin_pages, unpin_pages};
use crate::state::memory::Memory;
use crate::state::memory::address_map::Area;
use crate::state::memory::mapped_part::{Fill, Part};
use alloc::rc::Rc;
use alloc::vec::Vec;
use nacre_abi::{PAGE_SIZE, Rights};
use nacre_proto::flags::{PAGE_AWAY, PAGE_HERE};
use nacre_rt::fallible;

/// A range of addresses that shows a part of one segment.
struct Piece {
    start: u64,
    end: u64,
    segment: Rc<Segment>,
    offset: u64,
}

impl Piece {
    fn size(&self) -> u64 {
        self.end - self.start
    }

    /// Adds pages to the last piece if they follow it in its segment, too.
    fn add(self, all: &mut Vec<Piece>) {
        match all.last_mut() {
            Some(last) if last.end == self.start && Rc::ptr_eq(&last.segment, &self.segment) && last.offset + last.size() == self.offset => last.end = self.end,
            _ => all.push(self),
        }
    }
}

/// Adds the pieces of a range whose pages may go, copies of pages among them.
fn add_of_part(part: &Part, start: u64, end: u64, all: &mut Vec<Piece>) {
    let may_go = |segment: &&Rc<Segment>| segment.paging() == Paging::Goes;
    let mut at = start;
    let add_shown = |from: u64, to: u64, all: &mut Vec<Piece>| {
        if let Some(segment) = part.segment.as_ref().filter(may_go).filter(|_| from < to) {
            Piece { start: from, end: to, segment: segment.clone(), offset: part.state.offset + (from - part.state.start) }.add(all);
        }
    };
    for (page, copy) in part.pages.range(start, end) {
        add_shown(at, page, all);
        let (segment, offset) = copy.place();
        if may_go(&segment) {
            Piece { start: page, end: page + PAGE_SIZE, segment: segment.clone(), offset }.add(all);
        }
        at = page + PAGE_SIZE;
    }
    add_shown(at, end, all);
}

/// Returns true if pages of the part may go.
pub fn goes(part: &Part) -> bool {
    part.segment.iter().chain(part.pages.segments()).any(|segment| segment.paging() == Paging::Goes)
}

/// Returns true if the pages of the part go, all of them.
fn goes_whole(part: &Part) -> bool {
    part.segment.is_some() && part.segment.iter().chain(part.pages.segments()).all(|segment| segment.paging() == Paging::Goes)
}

/// Returns the pages of a range that hold something but zeros, in runs: those that are here or
/// away. `None`: that is not known, or not worth a question.
pub fn held_runs(part: &Part, start: u64, end: u64) -> Option<Vec<(u64, u64)>> {
    /// Smallest number of pages that is worth a question.
    const WORTH: u64 = 8;
    if end - start < WORTH * PAGE_SIZE || !goes_whole(part) {
        return None;
    }
    let mut runs = Vec::new();
    add_in_state(part, start, end, (PAGE_HERE | PAGE_AWAY) as u8, &mut runs).then_some(runs)
}

/// Returns true if so few pages of the part hold something that copying them costs less than to
/// notice who writes to them first.
pub fn holds_little(part: &Part) -> bool {
    const LITTLE: u64 = 16 * PAGE_SIZE;
    let runs = held_runs(part, part.state.start, part.state.start + part.state.size);
    runs.is_some_and(|runs| runs.iter().map(|(start, end)| end - start).sum::<u64>() <= LITTLE)
}

/// Adds the pages of a range whose state has one of these bits, in runs. Returns false if no
/// page ever goes.
pub fn add_in_state(part: &Part, start: u64, end: u64, bits: u8, runs: &mut Vec<(u64, u64)>) -> bool {
    if !goes(part) {
        return false;
    }
    let (mut pieces, mut found) = (Vec::new(), Vec::new());
    add_of_part(part, start, end, &mut pieces);
    for piece in &pieces {
        let Some(states) = page_states(&piece.segment, piece.offset, piece.size()) else { return false };
        let pages = (piece.start..piece.end).step_by(PAGE_SIZE as usize).zip(states);
        for (page, _) in pages.filter(|(_, state)| state & bits != 0) {
            match found.last_mut() {
                Some((_, last)) if *last == page => *last = page + PAGE_SIZE,
                _ => found.push((page, page + PAGE_SIZE)),
            }
        }
    }
    runs.append(&mut found);
    true
}

impl Memory {
    fn pieces(&self, start: u64, end: u64) -> Vec<Piece> {
        let mut all = Vec::new();
        for area in self.map.from(start).take_while(|area| area.start < end) {
            if let Fill::Own(part) = &area.backing {
                add_of_part(part, area.start.max(start), area.end.min(end), &mut all);
            }
        }
        all
    }

    /// Keeps the pages of a range in memory, with `later` once somebody has touched them. Pages
    /// that are shared until they are written are copied first. On failure none of those that were
    /// not locked before is kept.
    pub fn pin(&mut self, start: u64, end: u64, later: bool) -> Result<(), Errno> {
        if !self.has_paged {
            return Ok(());
        }
        if !later {
            let writable = |area: &&Area<Fill>| area.rights.contains(Rights::WRITE);
            let areas = self.map.from(start).take_while(|area| area.start < end).filter(writable);
            let parts = fallible::collect(areas.map(|area| (area.start.max(start), area.end.min(end))))?;
            parts.into_iter().try_for_each(|(start, end)| self.own(start, end - start))?;
        }
        let pieces = self.pieces(start, end);
        for (done, piece) in pieces.iter().enumerate() {
            if let Err(error) = pin_pages(&piece.segment, piece.offset, piece.size(), later) {
                pieces[..=done].iter().for_each(|piece| self.unpin_piece(piece));
                return Err(error);
            }
        }
        Ok(())
    }

    /// Lets the pages of a piece go, but for what is locked.
    fn unpin_piece(&self, piece: &Piece) {
        for (start, end) in self.locked.gaps(piece.start, piece.end) {
            unpin_pages(&piece.segment, piece.offset + (start - piece.start), end - start);
        }
    }

    /// Lets the pages of a range go again, which is locked no longer.
    pub fn unpin(&self, start: u64, end: u64) {
        if self.has_paged {
            self.pieces(start, end).iter().for_each(|piece| unpin_pages(&piece.segment, piece.offset, piece.size()));
        }
    }

    /// Passes advice about the pages of a range on to those who may put them away.
    pub fn advise(&self, start: u64, end: u64, advice: u64) {
        if self.has_paged {
            self.pieces(start, end).iter().for_each(|piece| advise_pages(&piece.segment, piece.offset, piece.size(), advice));
        }
    }
}
