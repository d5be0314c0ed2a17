//! The program's memory as objects: a Mapping for each area, over a segment of the pool, a file's
//! contents, or what the parent filled it from.
//!
//! The mappings of the program, its dynamic linker and its stack were made by the parent, in the
//! library's own object area.

pub mod address_map;
mod copy_on_write;
pub mod locked_pages;
mod managers;
mod page_copies;
pub mod mapped_files;
pub mod mapped_part;
pub mod page_table_pool;
pub mod pageable;
pub mod patched_calls;
pub mod promised;
mod ranges;
pub mod provide_tables;
pub mod registered;
pub mod residence;
mod reuse;
mod shared_by_clone;
pub mod shared_word;
pub mod soft_dirty;
pub mod stack_growth;
#[allow(unsafe_code)]
pub mod user_access;
pub mod user_faults;

use crate::abi::errno::{EACCES, ENOMEM, Errno};
use crate::raw::debugger;
use crate::raw::memory_words;
use crate::services::connections::Services;
use crate::services::segment::{Paging, Segment};
use crate::services::segment_cache::SegmentCache;
use crate::state::files::open_file::OpenFile;
use crate::state::memory::address_map::{Area, Map, round_up};
use crate::state::memory::locked_pages::Locked;
use crate::state::memory::mapped_files::MappedFiles;
use crate::state::memory::mapped_part::{CLEARED_BY_SERVER, Fill, HIGHEST, LOWEST, Lazy, Part};
use crate::state::memory::page_table_pool::Tables;
use crate::state::memory::ranges::Ranges;
use crate::state::memory::registered::Faults;
use alloc::rc::Rc;
use alloc::vec::Vec;
use nacre_abi::Rights;
use nacre_abi::state::MappingState;
use nacre_rt::fallible;

/// Minimum growth of the break's memory in bytes, if there is room. A C library asks for a little
/// first and then for 132 KiB.
const BREAK_STEP: u64 = 0x2_3000;

/// All of the program's memory.
pub struct Memory {
    /// Areas of the address space.
    pub map: Map<Fill>,
    break_start: u64,
    break_end: u64,
    break_mapped: u64,
    stock: SegmentCache,
    /// There are, or were, areas whose pages come when they are touched.
    has_paged: bool,
    /// Copy-on-write state.
    lazy: Lazy,
    /// There are, or were, parts whose writes are noted.
    tracks: bool,
    /// Locked pages.
    pub locked: Locked,
    /// Parts that grow downward when something below them is touched.
    pub growing: Ranges,
    /// Files that areas show.
    pub files: MappedFiles,
    /// Areas whose pages user-fault files bring.
    pub faults: Faults,
    /// Page tables.
    pub tables: Tables,
}

impl Memory {
    /// The memory of a program whose areas are `map`; its break starts at `end`.
    pub fn new(map: Map<Fill>, end: u64, tables: Tables) -> Memory {
        Memory::copied(map, [end; 3], tables)
    }

    /// The memory of a fork's child.
    pub fn copied(map: Map<Fill>, [break_start, break_end, break_mapped]: [u64; 3], tables: Tables) -> Memory {
        let has_paged = map.areas().any(|area| area.backing.is_paged());
        let lazy = Lazy::among(&map);
        Memory { map, break_start, break_end, break_mapped, stock: SegmentCache::default(), has_paged, lazy, tracks: false, locked: Locked::default(), growing: Ranges::default(), files: MappedFiles::default(), faults: Faults::default(), tables }
    }

    /// Returns the start of the break, its present end, and the end of the memory behind it.
    pub fn break_words(&self) -> [u64; 3] {
        [self.break_start, self.break_end, self.break_mapped]
    }

    /// Makes an area shared, so that forks' children see what is written to it.
    pub fn share(&mut self, start: u64, end: u64) -> Result<(), Errno> {
        for area in self.map.within(start, end)? {
            if let Fill::Own(part) = &mut area.backing {
                part.shared = true;
            }
        }
        Ok(())
    }

    /// Bytes in all areas.
    pub fn size(&self) -> u64 {
        self.map.areas().filter(|area| area.rights != Rights::NONE).map(|area| area.end - area.start).sum()
    }

    /// Returns the bytes beyond the end of the break, which make it grow less often.
    fn break_surplus(&self) -> u64 {
        self.break_mapped.saturating_sub(round_up(self.break_end).unwrap_or(self.break_mapped))
    }

    /// Bytes of addresses that are taken, as `RLIMIT_AS` counts them.
    pub fn addresses(&self) -> u64 {
        let areas = self.map.areas().filter(|area| !matches!(area.backing, Fill::Library(_)));
        areas.map(|area| area.end - area.start).sum::<u64>().saturating_sub(self.break_surplus())
    }

    /// Bytes that may be written and are the process's own, but for its stack, as `RLIMIT_DATA`
    /// counts them.
    pub fn data(&self) -> u64 {
        let is_data = |area: &&Area<Fill>| area.rights.contains(Rights::WRITE) && area.start < HIGHEST && !area.backing.is_shared();
        self.map.areas().filter(is_data).map(|area| area.end - area.start).sum::<u64>().saturating_sub(self.break_surplus())
    }

    /// Fills free addresses with fresh zeroed memory.
    pub fn add(&mut self, services: &mut Services, start: u64, size: u64, rights: Rights) -> Result<(), Errno> {
        let (segment, offset) = self.stock.take(services, size)?;
        self.add_part(segment, start, size, offset, rights)
    }

    /// Makes a private part of an area fresh again, where it is: if much, by the hand of the
    /// memory's server, so that nobody touches what nobody has touched.
    pub fn renew(&mut self, start: u64, end: u64) -> Result<(), Errno> {
        let Some(area) = self.map.area(start) else { return Ok(()) };
        let Fill::Own(part) = &area.backing else { return Ok(()) };
        if part.is_lazy() {
            return self.replace(start, end, false);
        }
        if part.registered.is_some() {
            return self.empty(start, end);
        }
        let offset = part.state.offset + (start - area.start);
        let port = part.segment.as_ref().filter(|_| end - start >= CLEARED_BY_SERVER).and_then(|segment| segment.port());
        if let Some(port) = port
            && nacre_proto::segment::clear(port, offset, end - start).is_ok()
        {
            return Ok(());
        }
        if part.writable && area.rights.contains(Rights::WRITE) { self.clear(start, end - start) } else { Ok(()) }
    }

    /// Fills free addresses with memory that may be more than there is: who touches it finds out.
    pub fn add_overcommitted(&mut self, start: u64, size: u64, rights: Rights) -> Result<(), Errno> {
        self.add_part(Segment::overcommitted(size)?, start, size, 0, rights)
    }

    /// Fills free addresses with a part of a segment or file.
    pub fn add_part(&mut self, segment: Rc<Segment>, start: u64, size: u64, offset: u64, rights: Rights) -> Result<(), Errno> {
        self.has_paged |= segment.is_paged();
        if segment.paging() == Paging::Comes {
            self.promise_tables(size);
        }
        let part = Part::create(segment, start, size, offset, rights)?;
        self.map.insert(Area { start, end: start + size, rights, backing: Fill::Own(part) })?;
        self.provide_tables(start, start + size);
        Ok(())
    }

    /// Keeps free addresses without memory behind them.
    pub fn reserve(&mut self, start: u64, size: u64) -> Result<(), Errno> {
        self.map.insert(Area { start, end: start + size, rights: Rights::NONE, backing: Fill::Reserved })
    }

    /// Keeps addresses behind a file's end, which could be used with `rights` if it were longer.
    pub fn keep_beyond(&mut self, start: u64, size: u64, rights: Rights) -> Result<(), Errno> {
        self.map.insert(Area { start, end: start + size, rights: Rights::NONE, backing: Fill::Beyond(rights) })
    }

    /// Returns true if pages in the range may be brought when they are touched.
    pub fn is_paged(&self, start: u64, size: u64) -> bool {
        self.has_paged && self.map.from(start).take_while(|area| area.start < start.saturating_add(size)).any(|area| area.backing.is_paged())
    }

    /// The shared memory that an address lies in, and where in it.
    pub fn meeting_place(&self, address: u64) -> Option<(Rc<Segment>, u64)> {
        let area = self.map.area(address)?;
        let Fill::Own(part) = &area.backing else { return None };
        part.meeting_place().map(|(segment, offset)| (segment, offset + (address - area.start)))
    }

    /// Notes what file a private copy was made of.
    pub fn set_origin(&mut self, start: u64, file: &Rc<OpenFile>, offset: u64) {
        if let Some(Area { backing: Fill::Own(part), .. }) = self.map.areas_mut().find(|area| area.start == start) {
            part.origin = Some((file.clone(), offset));
        }
    }

    /// The file that the area at `start` is a private copy of, and where in it.
    pub fn origin(&self, start: u64) -> Option<(Rc<OpenFile>, u64)> {
        let Fill::Own(part) = &self.map.area(start)?.backing else { return None };
        part.origin.clone()
    }

    /// Returns the rights of the program at an address if there were a page, or `None` if the
    /// address is not the program's.
    pub fn usable(&self, address: u64) -> Option<Rights> {
        let area = self.map.area(address)?;
        Some(if let Fill::Beyond(rights) = area.backing { rights } else { area.rights })
    }

    /// Returns true if a page is missing that was promised, and that may be used so: there is no
    /// memory.
    pub fn is_short_at(&self, address: u64, access: Rights) -> bool {
        let area = self.map.area(address).filter(|area| area.rights.contains(access));
        area.is_some_and(|area| matches!(&area.backing, Fill::Own(part) if part.may_be_short()))
    }

    /// Takes a range away, but for what is the library's own.
    pub fn remove(&mut self, start: u64, end: u64) -> Result<(), Errno> {
        debugger::change_begins();
        if self.locked.touches(start, end) {
            self.unpin(start, end);
            self.locked.forget(start, end);
        }
        self.growing.forget(start, end);
        self.files.forget(start, end);
        for area in self.map.take(start, end)? {
            if matches!(area.backing, Fill::Library(_)) {
                self.map.insert(area)?;
            }
        }
        Ok(())
    }

    /// Changes what may be done with a range, which must be covered whole.
    pub fn protect(&mut self, services: &mut Services, start: u64, end: u64, rights: Rights) -> Result<(), Errno> {
        if rights.contains(Rights::WRITE) {
            if self.map.within(start, end)?.any(|area| matches!(&area.backing, Fill::Own(part) if part.shared && !part.writable)) {
                return Err(EACCES);
            }
            self.make_writable(services, start, end)?;
        }
        let mut filled = Vec::new();
        for area in self.map.within(start, end)? {
            match &mut area.backing {
                Fill::Library(most) if !most.contains(rights) => return Err(EACCES),
                Fill::Library(_) => {}
                Fill::Beyond(kept) => {
                    *kept = rights;
                    continue;
                }
                Fill::Reserved if rights == Rights::NONE => {}
                Fill::Reserved => {
                    let size = area.end - area.start;
                    filled.try_reserve(1)?;
                    let (segment, offset) = self.stock.take(services, size)?;
                    area.backing = Fill::Own(Part::create(segment, area.start, size, offset, rights)?);
                    filled.push((area.start, area.end));
                }
                Fill::Own(part) => part.protect(rights)?,
            }
            area.rights = rights;
        }
        filled.into_iter().for_each(|(start, end)| self.provide_tables(start, end));
        Ok(())
    }

    /// Gives the range memory of its own where it shows what others do too.
    fn make_writable(&mut self, services: &mut Services, start: u64, end: u64) -> Result<(), Errno> {
        let shows_others = |area: &&mut Area<Fill>| matches!(&area.backing, Fill::Own(part) if !part.writable && !part.is_lazy());
        let found = fallible::collect(self.map.within(start, end)?.filter(shows_others).map(|area| (area.start, area.end)))?;
        found.into_iter().try_for_each(|(start, end)| self.make_own(services, start, end))
    }

    /// Replaces an area by a copy of it.
    fn make_own(&mut self, services: &mut Services, start: u64, end: u64) -> Result<(), Errno> {
        let size = end - start;
        let away = self.map.find_free(size, LOWEST, HIGHEST).ok_or(ENOMEM)?;
        let (segment, offset) = self.stock.take(services, size)?;
        let mut copy = Part::create(segment, away, size, offset, Rights::READ.union(Rights::WRITE))?;
        let area = self.map.within(start, end)?.next().ok_or(ENOMEM)?;
        let Fill::Own(part) = &mut area.backing else { return Err(ENOMEM) };
        part.protect(Rights::READ)?;
        memory_words::copy_to_fresh(start, away, size)?;
        let rights = part.state.rights;
        area.backing = Fill::Reserved;
        copy.set(MappingState { start, rights, ..copy.state })?;
        area.backing = Fill::Own(copy);
        Ok(())
    }

    /// Moves the areas of a range, all of them the library's own, to where there is room for them.
    pub fn move_range(&mut self, start: u64, end: u64, to: u64) -> Result<(), Errno> {
        if self.map.within(start, end)?.any(|area| matches!(area.backing, Fill::Library(_))) {
            return Err(ENOMEM);
        }
        for mut area in self.map.take(start, end)? {
            let moved = to + (area.start - start);
            if let Fill::Own(part) = &mut area.backing {
                part.move_to(moved)?;
            }
            self.map.insert(Area { end: moved + (area.end - area.start), start: moved, ..area })?;
        }
        self.locked.follow(start, end, to);
        self.growing.follow(start, end, to);
        self.files.follow(start, end, to);
        Ok(())
    }

    /// The break: where the memory behind the program ends.
    pub fn break_end(&self) -> u64 {
        self.break_end
    }

    /// Moves the break. An error changes nothing.
    pub fn set_break(&mut self, services: &mut Services, end: u64) -> Result<(), Errno> {
        let mapped = round_up(end).filter(|_| end >= self.break_start).ok_or(ENOMEM)?;
        if end < self.break_end {
            self.remove(mapped, self.break_mapped)?;
            self.break_mapped = mapped;
        } else if mapped > self.break_mapped {
            self.grow_break(services, mapped)?;
        }
        self.break_end = end;
        Ok(())
    }

    fn grow_break(&mut self, services: &mut Services, mapped: u64) -> Result<(), Errno> {
        let rights = Rights::READ.union(Rights::WRITE);
        let least = mapped - self.break_mapped;
        let generous = least.max(BREAK_STEP);
        let from = self.break_mapped;
        let fits = |size: u64| from + size <= HIGHEST && self.map.is_free(from, from + size);
        let size = if fits(generous) {
            generous
        } else if fits(least) {
            least
        } else {
            return Err(ENOMEM);
        };
        self.add(services, from, size, rights).or_else(|error| if size == least { Err(error) } else { self.add(services, from, least, rights) })?;
        self.break_mapped = self.map.area(from).map_or(from, |area| area.end);
        Ok(())
    }
}
