//! Promised memory, which is there where it was touched: what a fork copies of it, and what it
//! leaves out.

use crate::abi::errno::Errno;
use crate::abi::fork_record::{Copy, area};
use crate::raw::memory_words;
use crate::services::segment::{Paging, Segment};
use crate::state::memory::mapped_part::{AtFork, Part};
use crate::state::memory::pageable;
use alloc::rc::Rc;
use alloc::vec::Vec;
use nacre_abi::Rights;
use nacre_rt::fallible;
use nacre_sys::Reference;

/// Parts without memory that are smaller are copied like their neighbours: an area more costs a
/// fork's child as much.
const GAP: u64 = 0x2_0000;

/// The part of a promise that was asked for last, so that many areas over one promise cost one
/// question.
#[derive(Default)]
pub struct KnownPart {
    region: Option<Reference>,
    /// Offset that was asked for, and where the part that was found starts and ends.
    found: (u64, u64, u64),
}

impl KnownPart {
    /// Returns the next part of a segment from `offset` on that may hold something but zeros, as
    /// far as it lies below `end`; an empty one at `end` if there is none.
    fn next(&mut self, segment: &Segment, offset: u64, end: u64) -> (u64, u64) {
        let (from, _, until) = self.found;
        if self.region != Some(segment.region()) || !(from..until).contains(&offset) {
            let (start, until) = segment.next_part(offset);
            let nothing = start >= until;
            *self = KnownPart { region: Some(segment.region()), found: if nothing { (offset, u64::MAX, u64::MAX) } else { (offset, start, until) } };
        }
        let (_, start, until) = self.found;
        (start.max(offset).min(end), until.min(end))
    }
}

/// Cuts `start..end` into pieces that have memory, true, and pieces that have none. `next` gives
/// the next part with memory from an address on, empty if there is none.
fn pieces(start: u64, end: u64, mut next: impl FnMut(u64) -> (u64, u64)) -> Result<Vec<(u64, u64, bool)>, Errno> {
    let mut found: Vec<(u64, u64, bool)> = Vec::new();
    let (mut at, mut done) = (start, start);
    while at < end {
        let (from, to) = next(at);
        if from >= to {
            break;
        }
        if from - done >= GAP {
            fallible::push(&mut found, (done, from, false))?;
            fallible::push(&mut found, (from, to, true))?;
        } else {
            match found.last_mut() {
                Some(last) => last.1 = to,
                None => fallible::push(&mut found, (start, to, true))?,
            }
        }
        (at, done) = (to, to);
    }
    match found.last_mut() {
        Some(last) if end - done < GAP => last.1 = end,
        _ if done < end => fallible::push(&mut found, (done, end, false))?,
        _ => {}
    }
    Ok(found)
}

fn promise(part: &Part) -> Option<&Rc<Segment>> {
    part.segment.as_ref().filter(|segment| segment.paging() == Paging::Comes)
}

/// Copies a part of what is there, whole pages from `start` on, to fresh memory at `to`. What
/// nobody has touched is left out, of promised memory and of pages that a pager brings.
pub fn copy_to_fresh(part: &Part, start: u64, to: u64, size: u64, known: &mut KnownPart) -> Result<(), Errno> {
    if let Some(runs) = pageable::held_runs(part, start, start + size) {
        return runs.into_iter().try_for_each(|(from, end)| memory_words::copy_to_fresh(from, to + (from - start), end - from));
    }
    let Some(segment) = promise(part) else { return memory_words::copy_to_fresh(start, to, size) };
    for (from, end, is_copy) in part.pages.pieces(start, start + size)? {
        match is_copy {
            true => memory_words::copy_to_fresh(from, to + (from - start), end - from)?,
            false => copy_touched(part, segment, (from, end), to + (from - start), known)?,
        }
    }
    Ok(())
}

fn copy_touched(part: &Part, segment: &Segment, (start, end): (u64, u64), to: u64, known: &mut KnownPart) -> Result<(), Errno> {
    let first = part.state.offset + (start - part.state.start);
    let (mut at, end) = (first, first + (end - start));
    while at < end {
        let (from, until) = known.next(segment, at, end);
        if from >= until {
            break;
        }
        memory_words::copy_to_fresh(start + (from - first), to + (from - first), until - from)?;
        at = until;
    }
    Ok(())
}

/// Pieces of `start..end` for a fork's child, with true if they are to be copied. The others
/// are fresh memory.
fn pieces_of(part: &Part, segment: &Segment, (start, end): (u64, u64), known: &mut KnownPart) -> Result<Vec<(u64, u64, bool)>, Errno> {
    if part.at_fork == AtFork::Wiped {
        return Ok(fallible::collect([(start, end, false)])?);
    }
    let offset = part.state.offset.wrapping_sub(part.state.start);
    pieces(start, end, |at| {
        let (from, until) = known.next(segment, at.wrapping_add(offset), end.wrapping_add(offset));
        (from.wrapping_sub(offset), until.wrapping_sub(offset))
    })
}

/// Gives a fork's child its own memory for `start..end`: what is copied, and what is fresh.
pub fn add_pieces(part: &Part, (start, end): (u64, u64), rights: Rights, copy: &mut Copy, fork: &mut Copies<'_>) -> Result<(), Errno> {
    match promise(part) {
        None => add_piece(part, (start, end, true), rights, copy, fork),
        Some(segment) => pieces_of(part, segment, (start, end), fork.known)?.into_iter().try_for_each(|piece| add_piece(part, piece, rights, copy, fork)),
    }
}

fn add_piece(part: &Part, (start, end, is_copied): (u64, u64, bool), rights: Rights, copy: &mut Copy, fork: &mut Copies<'_>) -> Result<(), Errno> {
    let fill = if is_copied { area::Fill::Own } else { area::Fill::Fresh };
    fallible::push(&mut copy.areas, area::Area { start, end, rights: rights.0, fill })?;
    if !is_copied {
        return Ok(());
    }
    if part.at_fork != AtFork::Wiped {
        fallible::push(fork.copies, (fork.areas.len(), start, end))?;
    }
    fallible::push(fork.areas, nacre_nest::Area { start, size: end - start, rights, shows: None })?;
    Ok(())
}

/// Memory of a fork's child, as it is collected.
pub struct Copies<'a> {
    /// Areas that the child is born with.
    pub areas: &'a mut Vec<nacre_nest::Area>,
    /// Areas to copy: index into `areas`, first address, and first address behind.
    pub copies: &'a mut Vec<(usize, u64, u64)>,
    /// The part of a promise that is known.
    pub known: &'a mut KnownPart,
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1 << 10;

    fn cut(end: u64, parts: &[(u64, u64)]) -> Vec<(u64, u64, bool)> {
        let found = pieces(0, end * KIB, |at| parts.iter().map(|(from, to)| ((from * KIB).max(at), to * KIB)).find(|(from, to)| from < to).unwrap_or((end * KIB, end * KIB))).unwrap();
        found.into_iter().map(|(from, to, is_copied)| (from / KIB, to / KIB, is_copied)).collect()
    }

    #[test]
    fn only_what_was_touched_is_copied() {
        assert_eq!(cut(1000, &[]), [(0, 1000, false)]);
        assert_eq!(cut(1000, &[(0, 1000)]), [(0, 1000, true)]);
        assert_eq!(cut(1000, &[(984, 1000)]), [(0, 984, false), (984, 1000, true)]);
        assert_eq!(cut(1000, &[(16, 32), (48, 64), (500, 516)]), [(0, 64, true), (64, 500, false), (500, 516, true), (516, 1000, false)]);
        assert_eq!(cut(60, &[(16, 32)]), [(0, 60, true)]);
        assert_eq!(cut(16, &[]), [(0, 16, false)]);
    }
}
