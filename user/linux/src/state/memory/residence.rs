//! Which pages of the program's memory are there, as far as the kernel knows.
//!
//! A page that nobody has touched since it was zeros takes no work to be there, and counts as not
//! there, as on Linux. Where pages may go, their server knows which are there.

use crate::state::memory::Memory;
use crate::state::memory::address_map::Area;
use crate::state::memory::mapped_part::{Fill, Part};
use crate::state::memory::pageable;
use alloc::vec::Vec;
use nacre_abi::{PAGE_SIZE, Rights};
use nacre_proto::flags::{PAGE_AWAY, PAGE_HERE};
use nacre_sys::memory;

/// Adds the pages of an area between two addresses that are there, in runs.
fn add_runs(runs: &mut Vec<(u64, u64)>, area: &Area<Fill>, start: u64, end: u64) {
    match &area.backing {
        Fill::Reserved | Fill::Beyond(_) => {}
        Fill::Own(part) if part.is_telling() => {
            runs.extend(part.present(start, end).map(|page| (page, page + PAGE_SIZE)));
        }
        Fill::Own(part) if pageable::add_in_state(part, start, end, PAGE_HERE as u8, runs) => {}
        Fill::Own(part) => runs.extend(part_runs(part, start, end)),
        Fill::Library(_) => add_touched(runs, start, end),
    }
}

/// Adds the pages of a range that somebody has touched, in runs.
fn add_touched(runs: &mut Vec<(u64, u64)>, start: u64, end: u64) {
    let mut at = start;
    while let Some(touched) = memory::touched(at, end) {
        runs.push((touched.start, touched.end.min(end)));
        at = touched.end;
    }
}

/// Returns the pages of a part between two addresses that somebody has touched, in runs. Of
/// promised memory its server knows which parts may be there.
pub(super) fn part_runs(part: &Part, start: u64, end: u64) -> Vec<(u64, u64)> {
    let (mut runs, mut at) = (Vec::new(), start);
    while at < end {
        let offset = part.state.offset + (at - part.state.start);
        let (from, to) = part.segment.as_ref().map_or((offset, u64::MAX), |segment| segment.next_part(offset));
        if from >= to {
            break;
        }
        let first = at.saturating_add(from.saturating_sub(offset)).min(end);
        let last = at.saturating_add(to - offset.min(to)).min(end);
        add_touched(&mut runs, first, last);
        at = last.max(at + PAGE_SIZE);
    }
    runs
}

/// Returns the pages of a range that are there, in runs.
pub fn resident(memory: &Memory, start: u64, end: u64) -> Vec<(u64, u64)> {
    let mut runs = Vec::new();
    for area in memory.map.from(start).take_while(|area| area.start < end) {
        add_runs(&mut runs, area, area.start.max(start), area.end.min(end));
    }
    runs
}

/// Returns the pages of a range that were put away, in runs.
pub fn put_away(memory: &Memory, start: u64, end: u64) -> Vec<(u64, u64)> {
    let mut runs = Vec::new();
    for area in memory.map.from(start).take_while(|area| area.start < end) {
        if let Fill::Own(part) = &area.backing {
            pageable::add_in_state(part, area.start.max(start), area.end.min(end), PAGE_AWAY as u8, &mut runs);
        }
    }
    runs
}

/// Returns the number of bytes of a range that were put away.
pub fn away_bytes(memory: &Memory, start: u64, end: u64) -> u64 {
    put_away(memory, start, end).iter().map(|(start, end)| end - start).sum()
}

/// Returns the number of bytes of a range that are there.
pub fn resident_bytes(memory: &Memory, start: u64, end: u64) -> u64 {
    resident(memory, start, end).iter().map(|(start, end)| end - start).sum()
}

/// Returns the number of bytes of the program's memory that are there.
pub fn all_resident(memory: &Memory) -> u64 {
    let own = memory.map.areas().filter(|area| !matches!(area.backing, Fill::Library(_)));
    own.map(|area| resident_bytes(memory, area.start, area.end)).sum()
}

/// Returns the parts of a range that are private memory of the program's own, which may be read,
/// and whose pages no user-fault file brings.
pub fn own_parts(memory: &Memory, start: u64, end: u64) -> Vec<(u64, u64)> {
    let is_own = |area: &&Area<Fill>| {
        let is_private = matches!(&area.backing, Fill::Own(part) if part.is_writable() && !part.shared && !part.is_telling());
        is_private && area.rights.contains(Rights::READ)
    };
    let areas = memory.map.from(start).take_while(|area| area.start < end).filter(is_own);
    areas.map(|area| (area.start.max(start), area.end.min(end))).collect()
}
