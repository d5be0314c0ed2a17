//! Slots: places for new objects.

use crate::frame::unit_mask;
use crate::kernel::{Attempt, Kernel, Stop};
use crate::machine::{Frame, LeafKind, Machine, Physical};
use crate::object::Thread;
use nacre_abi::{Code, ObjectType, PAGE_SIZE, Rights, Status, USER_END};

impl<M: Machine> Kernel<M> {
    /// Returns the place of a new object at `address`, after checking alignment, rights, and that
    /// the place is free.
    pub(crate) fn free_slot(&self, caller: Thread<'_>, argument: u8, address: u64, object: ObjectType) -> Attempt<Physical> {
        let found = self.slot_memory(caller, argument, address, object)?;
        self.slot_checked(argument, found, object)
    }

    /// Returns the place of an object at `address`, free or not, and its frame.
    #[inline(always)]
    pub(crate) fn slot_memory(&self, caller: Thread<'_>, argument: u8, address: u64, object: ObjectType) -> Attempt<(Physical, &Frame)> {
        if !address.is_multiple_of(object.alignment()) {
            return Err(Status::argument(Code::BadAddress, argument).into());
        }
        let at = self.object_memory(caller, argument, address)?;
        match self.machine.frame(at) {
            Some(frame) => Ok((at, frame)),
            None => Err(Status::argument(Code::NotObjectMemory, argument).into()),
        }
    }

    /// The place that was found, if it is free.
    #[inline(always)]
    pub(crate) fn slot_checked(&self, argument: u8, (at, frame): (Physical, &Frame), object: ObjectType) -> Attempt<Physical> {
        if self.is_free(frame, at, object.size()) { Ok(at) } else { Err(Status::argument(Code::SlotOccupied, argument).into()) }
    }

    fn is_free(&self, frame: &Frame, at: Physical, size: u64) -> bool {
        match frame.kind.get() & (PAGE_SIZE - 1) {
            Frame::PLAIN | Frame::SEIZED | Frame::BLANK => true,
            Frame::OBJECTS => frame.units.get() & unit_mask(at, size) == 0,
            _ => false,
        }
    }

    /// The memory at `address`, if objects may be created in it.
    pub(crate) fn object_memory(&self, caller: Thread<'_>, argument: u8, address: u64) -> Attempt<Physical> {
        let needed = Rights::WRITE.union(Rights::OBJECTS);
        let leaf = self.leaf(caller, argument, address, needed).map_err(|stop| self.why_no_memory(caller, argument, address, stop))?;
        if !leaf.rights.contains(needed) || leaf.kind == LeafKind::Device {
            return Err(Status::argument(Code::NotObjectMemory, argument).into());
        }
        Ok(leaf.physical)
    }

    /// Memory that is there, but without the rights, is told apart from no memory.
    #[cold]
    fn why_no_memory(&self, caller: Thread<'_>, argument: u8, address: u64, stop: Stop) -> Stop {
        let bad = stop == Stop::Status(Status::argument(Code::BadAddress, argument));
        if bad && address < USER_END && self.resolve(self.space(caller.space()), address, Rights::NONE).is_ok() {
            return Stop::Status(Status::argument(Code::NotObjectMemory, argument));
        }
        stop
    }
}
