//! What an owner of memory can ask of it: which objects are in it, where one of them is, and to
//! have it all back. All go through the range, skip large parts without anything special in them,
//! and can be cut off: the registers say where to go on.

use crate::call_result::wrong;
use crate::kernel::{Attempt, Done, Kernel, Stop};
use crate::list;
use crate::machine::{Frame, Machine, PageSize, Physical, thread_page::register};
use crate::object::Thread;
use core::sync::atomic::Ordering;
use nacre_abi::arguments;
use nacre_abi::object::UNIT;
use nacre_abi::rights::RECLAIM_CLEAR;
use nacre_abi::state::ObjectEntry;
use nacre_abi::{Code, ObjectType, PAGE_SIZE, Rights, USER_END};

/// Maximum number of entries that one call writes.
const MAX_ENTRIES: u64 = 128;
/// Cost of looking at a page or an object, in instructions.
const LOOK_WORK: u32 = 80;
/// Cost of reclaiming an object, without filling it with zeros, in instructions. A thread's object
/// is a page.
const OBJECT_WORK: u32 = 300;
/// Pages that are cleared together, and what that takes, in instructions.
const ROW: u64 = 32;
const ROW_WORK: u32 = 2000;
/// Cost of coming back to a page whose objects have gone: finding it, and looking at the objects
/// before it, in instructions.
const RETURN_WORK: u32 = 1200;
/// Cost of finding [`ROW`] pages and looking at them, in instructions.
const ROW_LOOK_WORK: u32 = 900;

/// A part of the caller's space that one translation holds for; empty: none is known.
#[derive(Default)]
pub(crate) struct Part {
    pub start: u64,
    pub end: u64,
    pub physical: Physical,
}

impl<M: Machine> Kernel<M> {
    /// The frame around `address` of the caller's space if there may be anything special in it, and
    /// where to go on when it is done with.
    #[inline(always)]
    fn frame_at(&self, caller: Thread<'_>, part: &mut Part, address: u64, end: u64) -> (Option<Physical>, u64) {
        let page = address & !(PAGE_SIZE - 1);
        if page < part.start || page >= part.end {
            match self.part_at(caller, page, end, Rights::NONE) {
                Ok(found) => *part = found,
                Err(next) => return (None, next),
            }
        }
        let at = part.physical.add(page - part.start);
        match self.machine.special_count(at) {
            Some(count) if count.load(Ordering::Relaxed) != 0 => (Some(at), page + PAGE_SIZE),
            _ => (None, page + (PageSize::Large.bytes() - at.0 % PageSize::Large.bytes()).min(part.end - page)),
        }
    }

    /// The part of the caller's space from `page` on that lies in a row and may be used so; if
    /// nothing is there, where the next mapping may start.
    #[inline(never)]
    pub(crate) fn part_at(&self, caller: Thread<'_>, page: u64, end: u64, needed: Rights) -> Result<Part, u64> {
        let space = self.space(caller.space());
        match self.resolve(space, page, needed) {
            Ok(meaning) => Ok(Part { start: page, end: page.saturating_add(meaning.above), physical: meaning.physical }),
            Err(_) => Err(self.next_mapped(space, page, end)),
        }
    }

    /// The first object at or behind `at`, a multiple of a unit, in its frame.
    #[inline(always)]
    fn next_object(&self, at: Physical) -> Option<(ObjectType, Physical)> {
        let frame = self.machine.frame(at).filter(|frame| frame.kind.get() == Frame::OBJECTS)?;
        let mut units = frame.units.get() & (u64::MAX << (at.0 % PAGE_SIZE / UNIT));
        while units != 0 {
            let found = self.object_in_frame(at.frame().add(u64::from(units.trailing_zeros()) * UNIT));
            if found.is_some() {
                return found;
            }
            units &= units - 1;
        }
        None
    }

    pub(crate) fn memory_objects(&self, caller: Thread<'_>) -> Attempt<Done> {
        let call: arguments::MemoryObjects = caller.arguments();
        let (start, size, capacity) = (call.start.value, call.size.value, call.capacity.value.min(MAX_ENTRIES));
        if start % UNIT != 0 || start >= USER_END || size > USER_END - start {
            return wrong(Code::BadRange, call.start);
        }
        if call.buffer.value % 8 != 0 {
            return wrong(Code::BadAddress, call.buffer);
        }
        let entry_size = size_of::<ObjectEntry>() as u64;
        let span = self.span(caller, call.buffer.number, call.buffer.value, capacity * entry_size, Rights::WRITE)?;
        self.work_check(call.buffer.number)?;
        let end = start + size;
        let (mut part, mut address, mut count) = (Part::default(), start, 0);
        while address < end && count < capacity {
            // What is shown so far is a result: the caller asks on from where this ended.
            if address != start && self.work(LOOK_WORK).is_err() {
                break;
            }
            let (frame, next) = self.frame_at(caller, &mut part, address, end);
            let Some((object, at)) = frame.and_then(|frame| self.next_object(frame.add(address % PAGE_SIZE))) else {
                address = next;
                continue;
            };
            address = (address & !(PAGE_SIZE - 1)) + at.0 % PAGE_SIZE;
            if address < end {
                self.span_write(&span, count * entry_size, &[address, object as u64]);
                count += 1;
                address += object.size();
            }
        }
        caller.set_register(register::RESULT_1, count);
        caller.set_register(register::RESULT_2, if address >= end { 0 } else { address });
        Ok(Done::Return)
    }

    pub(crate) fn memory_reclaim(&self, caller: Thread<'_>) -> Attempt<Done> {
        let call: arguments::MemoryReclaim = caller.arguments();
        let (start, flags) = (call.start.value, call.flags.value);
        if flags & !RECLAIM_CLEAR != 0 {
            return wrong(Code::BadArgument, call.flags);
        }
        if call.size.value == 0 {
            return Ok(Done::Return);
        }
        self.page_range(call.start, call.size, USER_END)?;
        let end = start + call.size.value;
        let (mut part, mut address) = (Part::default(), start);
        while address < end {
            let (next, work) = match flags {
                0 => (self.reclaim_page(caller, &mut part, address, end)?, LOOK_WORK),
                _ => self.reclaim_row(caller, &mut part, address, end)?,
            };
            address = next.min(end);
            caller.set_register(register::ARGUMENT_1, address);
            caller.set_register(register::ARGUMENT_2, end - address);
            self.work(work)?;
        }
        Ok(Done::Return)
    }

    /// Lists pages that may hold something for programs. A page that was not touched since the
    /// kernel cleared it holds zeros, and one with kernel objects or tables can be read by nobody.
    pub(crate) fn memory_touched(&self, caller: Thread<'_>) -> Attempt<Done> {
        let call: arguments::MemoryTouched = caller.arguments();
        let (start, size) = (call.start.value, call.size.value);
        if size != 0 {
            self.page_range(call.start, call.size, USER_END)?;
        }
        let end = start.saturating_add(size);
        let (mut part, mut address, mut first) = (Part::default(), start, end);
        while address < end {
            let (blank, next) = self.blank_pages(caller, &mut part, address, end);
            if blank && first < end {
                break;
            }
            first = if blank { first } else { first.min(address) };
            address = next.min(end);
            if self.work(ROW_LOOK_WORK).is_err() {
                if first < end {
                    // Others behind these are asked for next.
                    break;
                }
                caller.set_register(register::ARGUMENT_1, address);
                caller.set_register(register::ARGUMENT_2, end - address);
                return Err(Stop::Again);
            }
        }
        caller.set_register(register::RESULT_1, first);
        caller.set_register(register::RESULT_2, if first < end { address } else { end });
        Ok(Done::Return)
    }

    /// Returns true if the page at `address` holds nothing for programs, and how many of the pages
    /// behind it are equal to it in that, as far as one look goes.
    fn blank_pages(&self, caller: Thread<'_>, part: &mut Part, address: u64, end: u64) -> (bool, u64) {
        if address >= part.end {
            match self.part_at(caller, address, end, Rights::READ) {
                Ok(found) => *part = found,
                Err(next) => return (false, next),
            }
        }
        let is_blank = |page: u64| {
            let frame = self.machine.frame(part.physical.add(page - part.start));
            frame.is_some_and(|frame| matches!(frame.kind.get() % PAGE_SIZE, Frame::BLANK | Frame::OBJECTS | Frame::TABLE))
        };
        let (blank, last) = (is_blank(address), part.end.min(end).min(address + ROW * PAGE_SIZE));
        let mut next = address + PAGE_SIZE;
        while next < last && is_blank(next) == blank {
            next += PAGE_SIZE;
        }
        (blank, next)
    }

    /// Makes the page at `address` plain memory again; where to go on.
    fn reclaim_page(&self, caller: Thread<'_>, part: &mut Part, address: u64, end: u64) -> Attempt<u64> {
        let (found, next) = self.frame_at(caller, part, address, end);
        let Some((at, frame)) = found.and_then(|at| Some((at, self.machine.frame(at)?))) else { return Ok(next) };
        if self.reclaim_frame(caller, at, frame)? {
            // One of the objects may have been what showed the caller this memory.
            *part = Part::default();
        }
        if matches!(frame.kind.get(), Frame::OBJECTS | Frame::SEIZED) && self.is_vacant(frame) {
            self.frame_open(at, frame)?;
        }
        Ok(next)
    }

    /// Makes some pages from `address` on, in which the caller may make objects, zeros, which
    /// nobody sees until they are touched; where to go on, and what it took.
    fn reclaim_row(&self, caller: Thread<'_>, part: &mut Part, address: u64, end: u64) -> Attempt<(u64, u32)> {
        if address >= part.end {
            match self.part_at(caller, address, end, Rights::WRITE.union(Rights::OBJECTS)) {
                Ok(found) => *part = found,
                Err(next) => return Ok((next, LOOK_WORK)),
            }
        }
        let (first, last) = (part.physical.add(address - part.start), part.end.min(end).min(address + ROW * PAGE_SIZE));
        let mut used = 0;
        for (number, frame) in self.machine.frames(first, ((last - address) / PAGE_SIZE) as usize).iter().enumerate() {
            let kind = frame.kind.get();
            if kind == Frame::BLANK {
                continue;
            }
            if !matches!(kind, Frame::PLAIN | Frame::SEIZED) && self.reclaim_frame(caller, first.add(number as u64 * PAGE_SIZE), frame)? {
                // One of the objects may have been what showed the caller this memory: it is looked
                // up again.
                *part = Part::default();
                return Ok((address, RETURN_WORK));
            }
            used |= 1 << number;
        }
        self.frames_blank(first, used)?;
        Ok((last, ROW_WORK))
    }

    /// Destroys the objects in a frame, or the space whose table it is. Whether there were any.
    fn reclaim_frame(&self, caller: Thread<'_>, at: Physical, frame: &Frame) -> Attempt<bool> {
        let mut found = false;
        match frame.kind.get() & (PAGE_SIZE - 1) {
            Frame::OBJECTS => {
                while let Some((object, at)) = self.next_object(at) {
                    self.reclaim_object(caller, object, at)?;
                    found = true;
                    self.work(OBJECT_WORK + object.size() as u32 / 4)?;
                }
            }
            Frame::TABLE => {
                self.reclaim_object(caller, ObjectType::Space, self.pool_owner(Physical(frame.units.get())))?;
                found = true;
            }
            _ => {}
        }
        Ok(found)
    }

    fn reclaim_object(&self, caller: Thread<'_>, object: ObjectType, at: Physical) -> Attempt<()> {
        let own = at == caller.at || at == caller.space() || at == self.kernel_space().at;
        if own {
            return wrong(Code::Busy, caller.arguments::<arguments::MemoryReclaim>().start);
        }
        self.destroy(object, at, caller)
    }

    pub(crate) fn reference_reveal(&self, caller: Thread<'_>) -> Attempt<Done> {
        let call: arguments::ReferenceReveal = caller.arguments();
        let reference = self.reference(self.reference_argument(caller, call.reference)?);
        let (start, size) = (call.start.value, call.size.value);
        if start >= USER_END || size > USER_END - start {
            return wrong(Code::BadRange, call.start);
        }
        let target = list::link_target(&self.machine, reference.target());
        let found = match target {
            Some(target) => self.address_of(caller, target, start, start + size)?,
            None => 0,
        };
        caller.set_register(register::RESULT_1, found);
        caller.set_register(register::RESULT_2, if found == 0 { 0 } else { reference.kind() });
        Ok(Done::Return)
    }

    /// Returns the address in `start..end` at which the caller's space has the memory at `wanted`,
    /// or 0.
    fn address_of(&self, caller: Thread<'_>, wanted: Physical, start: u64, end: u64) -> Attempt<u64> {
        let mut address = start;
        while address < end {
            match self.part_at(caller, address & !(PAGE_SIZE - 1), end, Rights::NONE) {
                Ok(part) => {
                    let offset = wanted.0.wrapping_sub(part.physical.0);
                    let found = part.start.wrapping_add(offset);
                    if offset < part.end - part.start && (start..end).contains(&found) {
                        return Ok(found);
                    }
                    address = part.end.min(end);
                }
                Err(next) => address = next.min(end),
            }
            caller.set_register(register::ARGUMENT_2, address);
            caller.set_register(register::ARGUMENT_3, end - address);
            self.work(LOOK_WORK)?;
        }
        Ok(0)
    }
}
