//! Slots: places for new objects.

use crate::call_result::wrong;
use crate::frame::unit_mask;
use crate::kernel::{Attempt, Kernel, Stop};
use crate::machine::{Frame, LeafKind, Machine, Physical};
use crate::object::Thread;
use nacre_abi::arguments::Word;
use nacre_abi::{Code, ObjectType, PAGE_SIZE, Rights, Status, USER_END};

impl<M: Machine> Kernel<M> {
    /// Returns the place of a new object, after checking alignment, rights, and that the place is
    /// free.
    pub(crate) fn free_slot(&self, caller: Thread<'_>, place: Word, object: ObjectType) -> Attempt<Physical> {
        let found = self.slot_memory(caller, place, object)?;
        self.slot_checked(place, found, object)
    }

    /// Returns the place of an object, free or not, and its frame.
    #[inline(always)]
    pub(crate) fn slot_memory(&self, caller: Thread<'_>, place: Word, object: ObjectType) -> Attempt<(Physical, &Frame)> {
        if !place.value.is_multiple_of(object.alignment()) {
            return wrong(Code::BadAddress, place);
        }
        let at = self.object_memory(caller, place)?;
        match self.machine.frame(at) {
            Some(frame) => Ok((at, frame)),
            None => wrong(Code::NotObjectMemory, place),
        }
    }

    /// The place that was found, if it is free.
    #[inline(always)]
    pub(crate) fn slot_checked(&self, place: Word, (at, frame): (Physical, &Frame), object: ObjectType) -> Attempt<Physical> {
        if self.is_free(frame, at, object.size()) { Ok(at) } else { wrong(Code::SlotOccupied, place) }
    }

    fn is_free(&self, frame: &Frame, at: Physical, size: u64) -> bool {
        match frame.kind.get() & (PAGE_SIZE - 1) {
            Frame::PLAIN | Frame::SEIZED | Frame::BLANK => true,
            Frame::OBJECTS => frame.units.get() & unit_mask(at, size) == 0,
            _ => false,
        }
    }

    /// The memory at `place`, if objects may be created in it.
    pub(crate) fn object_memory(&self, caller: Thread<'_>, place: Word) -> Attempt<Physical> {
        let needed = Rights::WRITE.union(Rights::OBJECTS);
        let leaf = self.leaf(caller, place.number, place.value, needed).map_err(|stop| self.why_no_memory(caller, place, stop))?;
        if !leaf.rights.contains(needed) || leaf.kind == LeafKind::Device {
            return wrong(Code::NotObjectMemory, place);
        }
        Ok(leaf.physical)
    }

    /// Memory that is there, but without the rights, is told apart from no memory.
    #[cold]
    fn why_no_memory(&self, caller: Thread<'_>, place: Word, stop: Stop) -> Stop {
        let bad = stop == Stop::Status(Status::argument(Code::BadAddress, place.number));
        if bad && place.value < USER_END && self.resolve(self.space(caller.space()), place.value, Rights::NONE).is_ok() {
            return Stop::Status(Status::argument(Code::NotObjectMemory, place.number));
        }
        stop
    }
}
