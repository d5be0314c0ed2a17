//! The program's memory as objects: a Mapping for each area that the program makes, over a segment of the pool or a part of one.
//!
//! Areas that the parent mapped (the program, its stack) are known but not the library's to change, other than to forbid itself access.

use crate::errno::{EACCES, ENOMEM, Errno};
use crate::map::{Area, Backing, Map, round_up};
use crate::services::{Segment, Services};
use crate::stock::Stock;
use alloc::rc::Rc;
use nacre_abi::state::MappingState;
use nacre_abi::Rights;
use nacre_sys::{OwnedMapping, Region, Space};

/// Lowest address that a program may map.
pub const LOWEST: u64 = 0x1_0000;
/// Where areas are put, from here downward.
pub const HIGHEST: u64 = 0x7000_0000_0000;
/// Least bytes by which the break's memory grows, if there is room: a C library asks for a little first and then for 132 KiB.
const BREAK_STEP: u64 = 0x2_8000;

/// What fills an area of the program.
pub enum Fill {
    /// Mapped by the parent, with these rights.
    Parent(Rights),
    /// Nothing: addresses that are only kept.
    Reserved,
    /// A part of a segment, or of a file.
    Own(Part),
}

/// A mapping and what it shows.
pub struct Part {
    mapping: OwnedMapping,
    segment: Rc<Segment>,
    state: MappingState,
}

impl Part {
    /// Maps `size` bytes of a segment from `offset` on at `start`.
    fn create(segment: Rc<Segment>, start: u64, size: u64, offset: u64, rights: Rights) -> Result<Part, Errno> {
        let region = Region::through(segment.region());
        let mapping = OwnedMapping::new(Space::OWN, start, size, region, offset, rights).map_err(|_| ENOMEM)?;
        let state = MappingState { start, size, offset, rights: rights.0, ..MappingState::default() };
        Ok(Part { mapping, segment, state })
    }

    fn set(&mut self, state: MappingState) -> Result<(), Errno> {
        self.mapping.set_state(&state).map_err(|_| ENOMEM)?;
        self.state = state;
        Ok(())
    }

    fn move_to(&mut self, start: u64) -> Result<(), Errno> {
        self.set(MappingState { start, ..self.state })
    }

    fn protect(&mut self, rights: Rights) -> Result<(), Errno> {
        if rights.contains(Rights::WRITE) && !self.segment.is_writable() {
            return Err(EACCES);
        }
        self.set(MappingState { rights: rights.0, ..self.state })
    }
}

impl Backing for Fill {
    fn split(&mut self, offset: u64) -> Result<Fill, Errno> {
        let part = match self {
            Fill::Parent(rights) => return Ok(Fill::Parent(*rights)),
            Fill::Reserved => return Ok(Fill::Reserved),
            Fill::Own(part) => part,
        };
        let before = part.state;
        part.set(MappingState { size: offset, ..before })?;
        let second = Part::create(part.segment.clone(), before.start + offset, before.size - offset, before.offset + offset, Rights(before.rights));
        if second.is_err() {
            part.set(before)?;
        }
        second.map(Fill::Own)
    }
}

/// What a processor can tell apart: what may be written or executed may be read.
pub fn effective(rights: Rights) -> Rights {
    if rights == Rights::NONE { rights } else { rights.union(Rights::READ) }
}

/// All of the program's memory.
pub struct Memory {
    /// Its areas.
    pub map: Map<Fill>,
    break_start: u64,
    break_end: u64,
    break_mapped: u64,
    stock: Stock,
}

impl Memory {
    /// The memory of a program whose areas are `map`; its break starts at `end`.
    pub fn new(map: Map<Fill>, end: u64) -> Memory {
        Memory { map, break_start: end, break_end: end, break_mapped: end, stock: Stock::default() }
    }

    /// Bytes in all areas.
    pub fn size(&self) -> u64 {
        self.map.areas().filter(|area| area.rights != Rights::NONE).map(|area| area.end - area.start).sum()
    }

    /// Fills free addresses with fresh zeroed memory.
    pub fn add(&mut self, services: &mut Services, start: u64, size: u64, rights: Rights) -> Result<(), Errno> {
        let (segment, offset) = self.stock.take(services, size)?;
        self.add_part(segment, start, size, offset, rights)
    }

    /// Fills free addresses with a part of a segment or file.
    pub fn add_part(&mut self, segment: Rc<Segment>, start: u64, size: u64, offset: u64, rights: Rights) -> Result<(), Errno> {
        let part = Part::create(segment, start, size, offset, rights)?;
        self.map.insert(Area { start, end: start + size, rights, backing: Fill::Own(part) })
    }

    /// Keeps free addresses without memory behind them.
    pub fn reserve(&mut self, start: u64, size: u64) -> Result<(), Errno> {
        self.map.insert(Area { start, end: start + size, rights: Rights::NONE, backing: Fill::Reserved })
    }

    /// Takes a range away. What the parent mapped stays there, out of the program's calls' reach, so that nothing else is put there.
    pub fn remove(&mut self, start: u64, end: u64) -> Result<(), Errno> {
        for area in self.map.take(start, end)? {
            if matches!(area.backing, Fill::Parent(_)) {
                self.map.insert(Area { rights: Rights::NONE, ..area })?;
            }
        }
        Ok(())
    }

    /// Changes what may be done with a range, which must be covered whole.
    pub fn protect(&mut self, services: &mut Services, start: u64, end: u64, rights: Rights) -> Result<(), Errno> {
        for area in self.map.within(start, end)? {
            match &mut area.backing {
                Fill::Parent(most) if !most.contains(rights) => return Err(EACCES),
                Fill::Parent(_) => {}
                Fill::Reserved if rights == Rights::NONE => {}
                Fill::Reserved => {
                    let size = area.end - area.start;
                    let (segment, offset) = self.stock.take(services, size)?;
                    area.backing = Fill::Own(Part::create(segment, area.start, size, offset, rights)?);
                }
                Fill::Own(part) => part.protect(rights)?,
            }
            area.rights = rights;
        }
        Ok(())
    }

    /// Moves the areas of a range, all of them the library's own, to where there is room for them.
    pub fn move_range(&mut self, start: u64, end: u64, to: u64) -> Result<(), Errno> {
        let parents = |area: &Area<Fill>| matches!(area.backing, Fill::Parent(_));
        if self.map.within(start, end)?.any(|area| parents(area)) {
            return Err(ENOMEM);
        }
        for mut area in self.map.take(start, end)? {
            let moved = to + (area.start - start);
            if let Fill::Own(part) = &mut area.backing {
                part.move_to(moved)?;
            }
            self.map.insert(Area { end: moved + (area.end - area.start), start: moved, ..area })?;
        }
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
        let size = if fits(generous) { generous } else if fits(least) { least } else { return Err(ENOMEM) };
        self.add(services, from, size, rights).or_else(|error| if size == least { Err(error) } else { self.add(services, from, least, rights) })?;
        self.break_mapped = self.map.area(from).map_or(from, |area| area.end);
        Ok(())
    }
}
