//! What an owner of memory can ask of it: which objects are in it, and to have it all back. Both go through the range page by page, skip large parts
//! without anything special in them, and can be cut off: the registers say where to go on.

use crate::compose::Meaning;
use crate::decode::wrong;
use crate::kernel::{Attempt, Done, Kernel};
use crate::list;
use crate::machine::{Frame, Machine, PageSize, Physical, thread_page::register};
use crate::object::Thread;
use nacre_abi::object::UNIT;
use nacre_abi::state::ObjectEntry;
use nacre_abi::{Code, ObjectType, PAGE_SIZE, Rights, USER_END};

/// Most entries that one call writes.
const MOST_ENTRIES: u64 = 128;
/// Most parts of a range that `reference_reveal` looks through.
const MOST_PARTS: u32 = 64;
/// What looking at a page takes, in instructions.
const OBJECT_WORK: u32 = 200;

impl<M: Machine> Kernel<M> {
    /// What the page at `address` of the caller's space is, and how many bytes from there on need not be looked at one by one.
    fn page_at(&self, caller: Thread<'_>, address: u64, end: u64) -> (Option<Meaning>, u64) {
        let space = self.space(caller.space());
        let Ok(meaning) = self.resolve(space, address, Rights::NONE) else {
            // Nothing is here: go on where the next mapping may start.
            let next = self.mappings(space).first(address, end).map_or(end, |node| node.start().max(address + PAGE_SIZE));
            return (None, next - address);
        };
        let large = PageSize::Large.bytes();
        let rest = large - meaning.physical.0 % large;
        match self.machine.special_count(meaning.physical) {
            Some(count) if count.get() != 0 => (Some(meaning), PAGE_SIZE),
            _ => (None, rest.min(meaning.above)),
        }
    }

    /// The object that stands at `address` in a frame: its type.
    fn entry_at(&self, at: Physical) -> Option<ObjectType> {
        let frame = self.machine.frame(at)?;
        if frame.kind.get() != Frame::OBJECTS || frame.units.get() >> (at.0 % PAGE_SIZE / UNIT) & 1 == 0 {
            return None;
        }
        self.object_in_frame(at).map(|(object, _)| object)
    }

    /// The first object at or behind `at` in its frame.
    fn next_object(&self, at: Physical) -> Option<(ObjectType, Physical)> {
        let end = at.frame().0 + PAGE_SIZE;
        (at.0..end).step_by(UNIT as usize).find_map(|at| self.entry_at(Physical(at)).map(|object| (object, Physical(at))))
    }

    pub(crate) fn memory_objects(&self, caller: Thread<'_>) -> Attempt<Done> {
        let (start, size) = (caller.argument(1), caller.argument(2));
        let (buffer, capacity) = (caller.argument(3), caller.argument(4).min(MOST_ENTRIES));
        if start % UNIT != 0 || start >= USER_END || size > USER_END - start {
            return wrong(Code::BadRange, 1);
        }
        if buffer % 8 != 0 {
            return wrong(Code::BadAddress, 3);
        }
        let entry_size = size_of::<ObjectEntry>() as u64;
        let span = self.span(caller, 3, buffer, capacity * entry_size, Rights::WRITE)?;
        let end = start + size;
        let (mut address, mut count) = (start, 0);
        while address < end && count < capacity {
            // What is shown so far is a result: the caller asks on from where this ended.
            if address != start && self.work(OBJECT_WORK).is_err() {
                break;
            }
            let page = address & !(PAGE_SIZE - 1);
            let (meaning, skip) = self.page_at(caller, page, end);
            let next = page.saturating_add(skip);
            let found = meaning.and_then(|meaning| self.next_object(meaning.physical.frame().add(address % PAGE_SIZE)));
            let Some((object, at)) = found else {
                address = next;
                continue;
            };
            address = page + at.0 % PAGE_SIZE;
            if address < end {
                self.span_write(&span, count * entry_size, &[address, object as u64]);
                count += 1;
                address += object.size();
            }
        }
        caller.set_register(register::RDX, count);
        caller.set_register(register::R8, if address >= end { 0 } else { address });
        Ok(Done::Return)
    }

    pub(crate) fn memory_reclaim(&self, caller: Thread<'_>) -> Attempt<Done> {
        let (start, size) = (caller.argument(1), caller.argument(2));
        if size == 0 {
            return Ok(Done::Return);
        }
        self.page_range(start, size, USER_END, [1, 2])?;
        let end = start + size;
        let mut address = start;
        while address < end {
            let (meaning, skip) = self.page_at(caller, address, end);
            if let Some(meaning) = meaning {
                self.reclaim_frame(caller, meaning.physical.frame())?;
            }
            address = address.saturating_add(skip).min(end);
            caller.set_register(register::RDI, address);
            caller.set_register(register::RSI, end - address);
            self.work(OBJECT_WORK)?;
        }
        Ok(Done::Return)
    }

    /// Makes a frame plain memory again: its objects are destroyed, or the space whose table it is.
    fn reclaim_frame(&self, caller: Thread<'_>, at: Physical) -> Attempt<()> {
        let Some(frame) = self.machine.frame(at) else { return Ok(()) };
        match frame.kind.get() & (PAGE_SIZE - 1) {
            Frame::OBJECTS => {
                while let Some((object, at)) = self.next_object(at) {
                    self.reclaim_object(caller, object, at)?;
                    self.step()?;
                }
                if self.is_vacant(frame) { self.frame_open(at, frame) } else { Ok(()) }
            }
            Frame::SEIZED => self.frame_open(at, frame),
            Frame::TABLE => self.reclaim_object(caller, ObjectType::Space, Physical(frame.units.get())),
            _ => Ok(()),
        }
    }

    fn reclaim_object(&self, caller: Thread<'_>, object: ObjectType, at: Physical) -> Attempt<()> {
        let own = at == caller.at || at == caller.space() || at == self.kernel_space().at;
        if own {
            return wrong(Code::Busy, 1);
        }
        self.destroy(object, at, caller)
    }

    pub(crate) fn reference_reveal(&self, caller: Thread<'_>) -> Attempt<Done> {
        let reference = self.reference(self.reference_argument(caller, 1)?);
        let (start, size) = (caller.argument(2), caller.argument(3));
        if start >= USER_END || size > USER_END - start {
            return wrong(Code::BadRange, 2);
        }
        let target = list::link_target(&self.machine, reference.target());
        let found = match target {
            Some(target) => self.address_of(caller, target, start, start + size)?,
            None => 0,
        };
        caller.set_register(register::RDX, found);
        caller.set_register(register::R8, if found == 0 { 0 } else { reference.kind() });
        Ok(Done::Return)
    }

    /// Where in `start..end` of its space the caller has the memory at `wanted`; 0 = nowhere.
    fn address_of(&self, caller: Thread<'_>, wanted: Physical, start: u64, end: u64) -> Attempt<u64> {
        let space = self.space(caller.space());
        let mappings = self.mappings(space);
        let mut parts = 0;
        let mut next = mappings.first(start, end);
        while let Some(node) = next {
            let mut address = node.start().max(start);
            while address < node.end().min(end) {
                let Ok(meaning) = self.resolve(space, address, Rights::NONE) else {
                    address = (address | (PAGE_SIZE - 1)) + 1;
                    searched(&mut parts)?;
                    continue;
                };
                let offset = wanted.0.wrapping_sub(meaning.physical.0);
                if offset < meaning.above.min(end - address) {
                    return Ok(address + offset);
                }
                address = address.saturating_add(meaning.above);
                searched(&mut parts)?;
            }
            next = mappings.next(node, start, end);
        }
        Ok(0)
    }
}

/// One more part of a search that has no way to go on later: too scattered a range is refused.
fn searched(parts: &mut u32) -> Attempt<()> {
    *parts += 1;
    if *parts > MOST_PARTS { wrong(Code::BadRange, 3) } else { Ok(()) }
}
