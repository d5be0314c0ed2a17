//! Pages that were written since the program asked (`clear_refs`, and bit 55 of `pagemap`).
//!
//! A part that is tracked is shown without the right to write. Who writes to a page of it faults,
//! and the page gets a mapping of its own in front, of the same memory, with the area's rights. So
//! the pages in front are those that were written. What is not tracked counts as written.

use crate::abi::errno::{ENOMEM, Errno};
use crate::state::memory::Memory;
use crate::state::memory::address_map::Area;
use crate::state::memory::mapped_part::{Fill, Part, effective};
use crate::state::memory::page_copies::PageCopy;
use nacre_abi::{PAGE_SIZE, Rights};

impl Part {
    /// Returns true if the process alone has the memory, and may write it.
    fn can_be_tracked(&self) -> bool {
        self.writable && !self.shared && !self.lent && self.registered.is_none()
    }

    /// Notes writes from now on: none of its pages was written.
    fn begin_notes(&mut self, rights: Rights) -> Result<(), Errno> {
        self.segment()?;
        self.tracked = true;
        self.pages.clear();
        self.protect(rights)
    }

    /// Notes no writes any more: all of its pages count as written.
    fn end_notes(&mut self, rights: Rights) -> Result<(), Errno> {
        self.tracked = false;
        self.protect(rights)?;
        self.pages.clear();
        Ok(())
    }

    /// Lets pages of a range, which lies in it, be written, and notes that they are. Returns true
    /// if one of them was not before.
    fn add_written(&mut self, start: u64, end: u64, rights: Rights) -> Result<bool, Errno> {
        let mut is_new = false;
        while let Some((page, _)) = self.pages.gap(start, end) {
            let (segment, offset) = (self.segment()?, self.state.offset + (page - self.state.start));
            let front = PageCopy::of_segment(segment, offset, page, effective(rights), false)?;
            self.pages.insert(page, front);
            is_new = true;
        }
        Ok(is_new)
    }
}

/// The part of an area, if it is tracked.
fn tracked_part(area: &mut Area<Fill>) -> Option<&mut Part> {
    if let Fill::Own(part) = &mut area.backing { Some(part).filter(|part| part.tracked) } else { None }
}

/// Forgets which pages were written, but for areas for which `is_used` is true: somebody is about
/// to write to them.
pub fn clear(memory: &mut Memory, is_used: impl Fn(&Area<Fill>) -> bool) -> Result<(), Errno> {
    // Copies of single pages stand in the way.
    memory.own_all()?;
    memory.tracks = true;
    for area in memory.map.areas_mut() {
        let (rights, used) = (area.rights, is_used(area));
        let Fill::Own(part) = &mut area.backing else { continue };
        if !used && part.can_be_tracked() {
            part.begin_notes(rights)?;
        } else if part.tracked {
            part.end_notes(rights)?;
        }
    }
    Ok(())
}

/// Lets all pages be written, all of which count as written then.
pub fn end_tracking(memory: &mut Memory) -> Result<(), Errno> {
    if !memory.tracks {
        return Ok(());
    }
    for area in memory.map.areas_mut() {
        let rights = area.rights;
        tracked_part(area).map_or(Ok(()), |part| part.end_notes(rights))?;
    }
    memory.tracks = false;
    Ok(())
}

/// Notes that pages of a range are about to be written, where that is allowed. Returns true if one
/// of them was not written before.
pub(super) fn note_written(memory: &mut Memory, start: u64, size: u64) -> Result<bool, Errno> {
    if !memory.tracks {
        return Ok(false);
    }
    let mut is_new = false;
    let end = start.saturating_add(size).checked_next_multiple_of(PAGE_SIZE).ok_or(ENOMEM)?;
    for (from, to) in memory.areas_in(start & !(PAGE_SIZE - 1), end)? {
        let Some(area) = memory.map.area_mut(from).filter(|area| area.rights.contains(Rights::WRITE)) else { continue };
        let rights = area.rights;
        let Some(part) = tracked_part(area) else { continue };
        is_new |= match part.add_written(from, to, rights) {
            Ok(is_new) => is_new,
            // Without memory for notes, all of the area counts as written.
            Err(_) => part.end_notes(rights).map(|()| true)?,
        };
    }
    Ok(is_new)
}

/// Returns true if a page of an area counts as written.
pub fn is_written(area: &Area<Fill>, page: u64) -> bool {
    match &area.backing {
        Fill::Own(part) => !part.tracked || part.pages.get(page).is_some(),
        Fill::Library(_) => false,
        Fill::Reserved | Fill::Beyond(_) => true,
    }
}
