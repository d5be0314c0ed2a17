//! Memory whose pages the program brings itself (`userfaultfd`).
//!
//! Of an area that is registered for missing pages, the mapping is hidden, and each page that is
//! there stands in front of it by a mapping of its own, as copies of pages do. A page that is not
//! there holds zeros. A page that may not be written has a mapping of its own in any registered
//! area.
//!
//! A page of shared memory is there once it holds something, whoever has put that there; it is
//! shown when it is touched, or, if the file wants to hear of that, when the program says so.
//!
//! Who touches what is hidden faults, and the library has the thread wait. What the library itself
//! touches for a call it looks up here before: then the call waits, and is made again.

use crate::abi::errno::{EAWAITS_PAGE, EBUSY, EEXIST, EFAULT, EINVAL, ENOENT, ENOMEM, Errno};
use crate::raw::memory_words;
use crate::services::connections::Services;
use crate::services::segment::Segment;
use crate::state::memory::Memory;
use crate::state::memory::address_map::Area;
use crate::state::memory::mapped_part::{Fill, Part};
use crate::state::memory::page_copies::PageCopy;
use crate::state::memory::residence;
use crate::state::memory::registered::{Found, GROWTH, Lacking, Registered};
use crate::state::memory::soft_dirty;
use alloc::rc::Rc;
use alloc::vec::Vec;
use nacre_abi::state::MappingState;
use nacre_abi::{PAGE_SIZE, Rights};
use nacre_nest::places::Place;
use nacre_rt::fallible;

impl Part {
    /// Returns true if it can be registered: memory that is no copy of a file, and, for pages that
    /// others have, is shared.
    fn can_be_registered(&self, minor: bool) -> bool {
        let has_port = || self.segment.as_ref().is_some_and(|segment| segment.port().is_some());
        let is_kind = if self.shared { self.writable } else { !minor && (self.writable || has_port()) };
        is_kind && !self.lent && self.origin.is_none()
    }

    /// The segment of a page, and where in it the page is.
    fn place_of(&mut self, page: u64) -> Result<(Rc<Segment>, u64), Errno> {
        Ok((self.segment()?, self.state.offset + (page - self.state.start)))
    }

    /// Returns true if a page of shared memory holds something.
    fn is_held(&mut self, page: u64) -> Result<bool, Errno> {
        let (segment, offset) = self.place_of(page)?;
        let place = Place::take(PAGE_SIZE).ok_or(ENOMEM)?;
        let _shown = PageCopy::prepare(segment, offset, place.window().start())?;
        Ok(!memory_words::is_zero(place.window().start()))
    }

    /// Shows a page in front.
    fn show(&mut self, page: u64, rights: Rights, is_protected: bool) -> Result<(), Errno> {
        let (segment, offset) = self.place_of(page)?;
        let copy = PageCopy::of_segment(segment, offset, page, rights, is_protected)?;
        self.pages.insert(page, copy);
        Ok(())
    }

    fn begin_telling(&mut self, registered: Registered) -> Result<(), Errno> {
        self.segment()?;
        let (start, end) = (self.state.start, self.state.start + self.state.size);
        let was_hidden = self.is_telling();
        if registered.hides() && !was_hidden && !self.shared {
            let held = self.while_readable(|part| held(part, start, end))?;
            for page in held {
                if self.pages.get(page).is_none() {
                    self.show(page, registered.rights, false)?;
                }
            }
        }
        self.registered = Some(registered);
        self.set(MappingState { rights: registered.shown().0, ..self.state })
    }

    fn end_telling(&mut self) -> Result<(), Errno> {
        let Some(registered) = self.registered else { return Ok(()) };
        self.set(MappingState { rights: registered.rights.0, ..self.state })?;
        self.registered = None;
        self.pages.clear();
        Ok(())
    }

    /// Returns what is lacking for an access to `start..end`, which lies in it.
    fn lacks(&self, start: u64, end: u64, access: Rights) -> Option<Lacking> {
        let registered = self.registered?;
        let is_write = access.contains(Rights::WRITE);
        let lacking = |page, is_protected| Lacking { file: registered.file, page, is_write, is_protected };
        let first = start & !(PAGE_SIZE - 1);
        let gap = if registered.hides() { self.pages.gap(first, end.next_multiple_of(PAGE_SIZE)) } else { None };
        let protected = self.pages.range(first, end).find(|(_, copy)| is_write && copy.is_protected).map(|(page, _)| page);
        match (gap, protected) {
            (Some((missing, _)), Some(protected)) if protected < missing => Some(lacking(protected, true)),
            (Some((missing, _)), _) => Some(lacking(missing, false)),
            (None, protected) => Some(lacking(protected?, true)),
        }
    }
}

/// Pages of a range, which may be read, that hold something but zeros. Pages beside one that was
/// touched are filled with it, so that they are looked at.
fn held(part: &Part, start: u64, end: u64) -> Vec<u64> {
    let mut pages = Vec::new();
    for (from, to) in residence::part_runs(part, start, end) {
        pages.extend((from..to).step_by(PAGE_SIZE as usize).filter(|page| !memory_words::is_zero(*page)));
    }
    pages
}

/// A private area.
fn own_part(area: &mut Area<Fill>) -> Option<&mut Part> {
    if let Fill::Own(part) = &mut area.backing { Some(part) } else { None }
}

/// Returns what must be brought or let be written before `size` bytes can be used so, at an address
/// where the map allows it.
pub fn lacking(memory: &Memory, address: u64, size: u64, access: Rights) -> Option<Lacking> {
    if !memory.faults.any {
        return None;
    }
    let end = address.saturating_add(size);
    for area in memory.map.from(address).take_while(|area| area.start < end) {
        if let Fill::Own(part) = &area.backing
            && area.rights.contains(access)
            && let Some(lacking) = part.lacks(address.max(area.start), end.min(area.end), access)
        {
            return Some(lacking);
        }
    }
    None
}

/// Has a file told of faults in a range.
pub fn register(memory: &mut Memory, start: u64, end: u64, registered: Registered) -> Result<(), Errno> {
    memory.check_registered(start, end, registered.file, registered.minor)?;
    soft_dirty::end_tracking(memory)?;
    memory.faults.any = true;
    for (start, end) in memory.areas_in(start, end)? {
        let area = memory.map.within(start, end)?.next().ok_or(ENOMEM)?;
        let (rights, is_shown) = (area.rights, own_part(area).is_some_and(|part| !part.writable));
        if is_shown {
            memory.replace(start, end, true)?;
        }
        if let Some(part) = memory.map.area_mut(start).and_then(own_part) {
            part.begin_telling(Registered { rights, ..registered })?;
        }
    }
    Ok(())
}

/// Ends the telling of faults in a range. `None`: whatever the file.
pub fn unregister(memory: &mut Memory, start: u64, end: u64, file: Option<u64>) -> Result<(), Errno> {
    if !memory.faults.any {
        return Ok(());
    }
    for (start, end) in memory.areas_in(start, end)? {
        let Some(Area { backing: Fill::Own(part), .. }) = memory.map.area(start) else { continue };
        if part.registered.is_some_and(|registered| file.is_none_or(|file| file == registered.file)) {
            let area = memory.map.within(start, end)?.next().ok_or(ENOMEM)?;
            own_part(area).map_or(Ok(()), |part| part.end_telling())?;
        }
    }
    Ok(())
}

impl Memory {
    /// Returns the start and the rights of what grows downward above an address where nothing is.
    pub fn growing_above(&self, address: u64) -> Option<(u64, Rights)> {
        if self.growing.is_empty() {
            return None;
        }
        let area = self.map.from(address).next().filter(|area| area.start > address)?;
        self.growing.touches(area.start, area.start + 1).then_some((area.start, area.rights))
    }

    /// `EFAULT` unless a range may be used so; `EAWAITS_PAGE`: it may be once what lies above has
    /// grown, which is noted.
    pub fn check_allowed(&self, address: u64, size: u64, access: Rights) -> Result<(), Errno> {
        if self.map.allows(address, size, access) {
            return Ok(());
        }
        let page = address.saturating_add(self.map.extent(address, size, access));
        self.growing_above(page).ok_or(EFAULT)?;
        self.faults.awaited.set(Some(Lacking { file: GROWTH, page, is_write: access.contains(Rights::WRITE), is_protected: false }));
        Err(EAWAITS_PAGE)
    }

    /// `EAWAITS_PAGE`: something is lacking, which is noted.
    pub(super) fn need(&self, address: u64, size: u64, access: Rights) -> Result<(), Errno> {
        let Some(lacking) = lacking(self, address, size, access) else { return Ok(()) };
        self.faults.awaited.set(Some(lacking));
        Err(EAWAITS_PAGE)
    }

    /// Registered parts of a range: first address, end, and what is told.
    pub fn registered_in(&self, start: u64, end: u64) -> Vec<(u64, u64, Registered)> {
        let areas = self.map.from(start).take_while(|area| area.start < end);
        let told = |area: &Area<Fill>| match &area.backing {
            Fill::Own(part) => Some((area.start.max(start), area.end.min(end), part.registered?)),
            _ => None,
        };
        areas.filter_map(told).collect()
    }

    /// Areas of a range, which may have gaps, as first and last address.
    pub(super) fn areas_in(&self, start: u64, end: u64) -> Result<Vec<(u64, u64)>, Errno> {
        let areas = self.map.from(start).take_while(|area| area.start < end);
        Ok(fallible::collect(areas.map(|area| (area.start.max(start), area.end.min(end))))?)
    }

    /// Refuses to register a range. `ENOMEM`: there is nothing from there on; `EINVAL`: nothing, or
    /// memory that cannot be; `EBUSY`: another file's.
    fn check_registered(&self, start: u64, end: u64, file: u64, minor: bool) -> Result<(), Errno> {
        if self.map.from(start).next().ok_or(ENOMEM)?.start >= end {
            return Err(EINVAL);
        }
        for area in self.map.from(start).take_while(|area| area.start < end) {
            match &area.backing {
                Fill::Own(part) if part.registered.is_some_and(|other| other.file != file) => return Err(EBUSY),
                Fill::Own(part) if part.can_be_registered(minor) => {}
                _ => return Err(EINVAL),
            }
        }
        Ok(())
    }

    /// Puts memory behind addresses that are only kept, which may be used no more than before.
    pub fn fill_reserved(&mut self, services: &mut Services, start: u64, end: u64) -> Result<(), Errno> {
        for (start, end) in self.areas_in(start, end)? {
            if self.map.area(start).is_some_and(|area| matches!(area.backing, Fill::Reserved)) {
                self.protect(services, start, end, Rights::READ.union(Rights::WRITE))?;
                self.protect(services, start, end, Rights::NONE)?;
            }
        }
        Ok(())
    }

    /// The registered part that a range lies in, whole. `ENOENT`: there is none.
    fn registered_part(&mut self, start: u64, end: u64) -> Result<(&mut Part, Registered), Errno> {
        // A range may have been cut in areas without being two: Linux would see one.
        let area = self.map.area_mut(start).filter(|area| end <= area.end).ok_or(ENOENT)?;
        let part = own_part(area).ok_or(ENOENT)?;
        let registered = part.registered.ok_or(ENOENT)?;
        Ok((part, registered))
    }

    /// Checks that pages can be brought to a range.
    pub fn check_supplied(&mut self, start: u64, end: u64, is_protected: bool) -> Result<(), Errno> {
        let mut at = start;
        while at < end {
            let until = self.map.area(at).map_or(end, |area| area.end.min(end));
            let (_, registered) = self.registered_part(at, until)?;
            if is_protected && !registered.protect {
                return Err(EINVAL);
            }
            at = until;
        }
        Ok(())
    }

    /// Brings a page that is missing, with these bytes in it or zeros. `EEXIST`: it is there.
    pub fn supply(&mut self, page: u64, bytes: Option<&[u8]>, is_protected: bool) -> Result<(), Errno> {
        let (part, registered) = self.registered_part(page, page + PAGE_SIZE)?;
        if !registered.hides() || part.pages.get(page).is_some() || part.shared && part.is_held(page)? {
            return Err(EEXIST);
        }
        let Some(bytes) = bytes else { return part.show(page, registered.rights, is_protected) };
        let (segment, offset) = part.place_of(page)?;
        let place = Place::take(PAGE_SIZE).ok_or(ENOMEM)?;
        let mut copy = PageCopy::prepare(segment, offset, place.window().start())?;
        memory_words::put(place.window().start(), bytes);
        copy.show(page, registered.rights, is_protected)?;
        part.pages.insert(page, copy);
        Ok(())
    }

    /// Looks for a page that somebody lacks. What nobody wants to hear of is shown.
    pub fn look_for(&mut self, page: u64) -> Result<Found, Errno> {
        let (part, registered) = self.registered_part(page, page + PAGE_SIZE)?;
        if !part.shared {
            return Ok(Found::Missing);
        }
        let is_held = part.is_held(page)?;
        match is_held {
            true if registered.minor => Ok(Found::Minor),
            false if registered.missing => Ok(Found::Missing),
            _ => part.show(page, registered.rights, false).map(|()| Found::Shown),
        }
    }

    /// Shows a page that others have. `EINVAL`: the memory is not shared; `EEXIST`: the page was
    /// shown before; `EFAULT`: nobody has it, or no faults of it are told.
    pub fn go_on(&mut self, page: u64) -> Result<(), Errno> {
        let (part, registered) = self.registered_part(page, page + PAGE_SIZE)?;
        if !part.shared {
            return Err(EINVAL);
        }
        if part.pages.get(page).is_some() {
            return Err(EEXIST);
        }
        if !registered.hides() || !part.is_held(page)? {
            return Err(EFAULT);
        }
        part.show(page, registered.rights, false)
    }

    /// Lets pages of a range be written, or not. `ENOENT`: the range is not registered for that.
    pub fn write_protect(&mut self, start: u64, end: u64, is_protected: bool) -> Result<(), Errno> {
        for page in (start..end).step_by(PAGE_SIZE as usize) {
            let (part, registered) = self.registered_part(page, page + PAGE_SIZE)?;
            if !registered.protect {
                return Err(ENOENT);
            }
            let known = part.pages.set_protected(page, is_protected, registered.rights);
            if known.is_none() && is_protected && (!registered.hides() || part.shared && part.is_held(page)?) {
                part.show(page, registered.rights, true)?;
            }
            known.unwrap_or(Ok(()))?;
        }
        Ok(())
    }

    /// Hides pages of shared memory, which stay what they are, until they are touched again.
    pub fn hide(&mut self, start: u64, end: u64) {
        if let Some(Area { backing: Fill::Own(part), .. }) = self.map.area_mut(start)
            && part.shared
            && part.is_telling()
        {
            part.pages.forget(start, end);
        }
    }

    /// Makes pages of one registered area zeros that are missing again, if its file brings them.
    pub(super) fn empty(&mut self, start: u64, end: u64) -> Result<(), Errno> {
        let (part, _) = self.registered_part(start, end)?;
        let (segment, offset) = (part.segment()?, part.state.offset + (start - part.state.start));
        part.pages.forget(start, end);
        let is_cleared = segment.port().is_some_and(|port| nacre_proto::segment::clear(port, offset, end - start).is_ok());
        if is_cleared {
            return Ok(());
        }
        for offset in (offset..offset + (end - start)).step_by(PAGE_SIZE as usize) {
            let place = Place::take(PAGE_SIZE).ok_or(ENOMEM)?;
            let _shown = PageCopy::prepare(segment.clone(), offset, place.window().start())?;
            memory_words::put(place.window().start(), &[0; PAGE_SIZE as usize]);
        }
        Ok(())
    }
}
