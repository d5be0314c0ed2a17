//! What a program had for itself alone and only its maker can give back: when another program takes its place, that one gets it, full of zeros.

use super::{AtFork, Fill, Memory, Part};
use crate::errno::Errno;
use crate::map::{Area, Map};
use crate::services::Services;
use alloc::vec::Vec;
use nacre_abi::state::MappingState;
use nacre_abi::{PAGE_SIZE, Rights};
use nacre_sys::memory;

/// Of more pages it costs more to clear them than what is gained.
const MOST_TOUCHED: u64 = 32;

/// Parts that nobody uses any more, each still where it was.
#[derive(Default)]
pub struct Leftovers {
    parts: Vec<Part>,
}

impl Part {
    /// Whether it shows memory that was laid out with the environment, which nobody else sees.
    fn is_left_over(&self) -> bool {
        let is_of_pool = self.segment.as_ref().is_some_and(|segment| segment.port().is_some());
        self.writable && !self.shared && self.at_fork == AtFork::Copied && !is_of_pool
    }

    fn range(&self) -> (u64, u64) {
        (self.state.start, self.state.start + self.state.size)
    }

    /// Shows the first `size` bytes at `start`, to be read and written.
    fn show_at(&mut self, start: u64, size: u64) -> Result<(), Errno> {
        let rights = Rights::READ.union(Rights::WRITE).0;
        let state = MappingState { start, size, rights, ..self.state };
        if (state.start, state.size, state.rights) == (self.state.start, self.state.size, self.state.rights) {
            return Ok(());
        }
        self.segment()?;
        self.set(MappingState { offset: self.state.offset, ..state })
    }
}

/// Fills what may have been written with zeros; whether there was so little that it is worth it.
fn wipe(part: &mut Part) -> Result<bool, Errno> {
    let (start, end) = part.range();
    let (mut at, mut left) = (start, MOST_TOUCHED * PAGE_SIZE);
    while let Some(touched) = memory::touched(at, end) {
        let size = touched.end.min(end) - touched.start;
        if size > left {
            return Ok(false);
        }
        part.protect(Rights::READ.union(Rights::WRITE))?;
        crate::user::wipe(touched.start, size);
        (at, left) = (touched.start + size, left - size);
    }
    Ok(true)
}

impl Leftovers {
    /// Of everything in a map, what can be used again.
    fn of(map: Map<Fill>) -> Leftovers {
        let parts = map.into_areas().filter_map(|area| match area.backing {
            Fill::Own(part) if part.is_left_over() => Some(part),
            _ => None,
        });
        Leftovers { parts: parts.collect() }
    }

    /// The smallest part that has `size` bytes, but one that lies at `start` before all others.
    fn take(&mut self, start: u64, size: u64) -> Option<Part> {
        let fits = self.parts.iter().enumerate().filter(|(_, part)| part.state.size >= size);
        let (index, _) = fits.min_by_key(|(_, part)| (part.state.start != start, part.state.size))?;
        let mut part = self.parts.swap_remove(index);
        let is_clear = wipe(&mut part).is_ok_and(|is_clear| is_clear);
        is_clear.then_some(part)
    }
}

impl Memory {
    /// Everything goes, but for what can be used again.
    pub fn give_up(self) -> Leftovers {
        Leftovers::of(self.map)
    }

    /// Adds an area of zeros that may be read and written: of what is left, or fresh.
    pub fn add_again(&mut self, services: &mut Services, leftovers: &mut Leftovers, start: u64, size: u64) -> Result<(), Errno> {
        let rights = Rights::READ.union(Rights::WRITE);
        let found = leftovers.take(start, size);
        // What else lies there makes room.
        leftovers.parts.retain(|other| !overlap(other.range(), (start, start + size)));
        let Some(mut part) = found else { return self.add(services, start, size, rights) };
        part.show_at(start, size)?;
        self.map.insert(Area { start, end: start + size, rights, backing: Fill::Own(part) })
    }
}

fn overlap(one: (u64, u64), other: (u64, u64)) -> bool {
    one.0 < other.1 && other.0 < one.1
}
