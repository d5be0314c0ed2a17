//! Copies of whole pages inside the caller's space: what forks are made of. A frame that nobody has
//! touched is not cleared first, only to be written over.

use crate::kernel::{Attempt, Done, Kernel};
use crate::machine::{Frame, Machine, Physical, thread_page::register};
use crate::memory_calls::Part;
use crate::object::Thread;
use nacre_abi::arguments;
use nacre_abi::{PAGE_SIZE, Rights, USER_END};

/// Costs of finding two pages and copying one onto the other, and of finding that nothing is to be
/// copied, in instructions. An instruction that moves a word takes less time than others.
const COPY_WORK: u32 = 350;
const LOOK_WORK: u32 = 100;

/// Range of a copy, source or destination: the part in use, the argument that named it, and the
/// page that was found last.
struct Side {
    needed: Rights,
    argument: u8,
    part: Part,
}

impl<M: Machine> Kernel<M> {
    pub(crate) fn memory_copy(&self, caller: Thread<'_>) -> Attempt<Done> {
        let call: arguments::MemoryCopy = caller.arguments();
        if call.size.value == 0 {
            return Ok(Done::Return);
        }
        self.page_range(call.from, call.size, USER_END)?;
        self.page_range(call.to, call.size, USER_END)?;
        let mut source = Side { needed: Rights::READ, argument: call.from.number, part: Part::default() };
        let mut target = Side { needed: Rights::WRITE, argument: call.to.number, part: Part::default() };
        let (mut from, mut to, mut size) = (call.from.value, call.to.value, call.size.value);
        while size != 0 {
            let work = self.copy_page(caller, (&mut source, from), (&mut target, to))?;
            (from, to, size) = (from + PAGE_SIZE, to + PAGE_SIZE, size - PAGE_SIZE);
            caller.set_register(register::ARGUMENT_1, from);
            caller.set_register(register::ARGUMENT_2, to);
            caller.set_register(register::ARGUMENT_3, size);
            self.work(work)?;
        }
        Ok(Done::Return)
    }

    /// Copies one page; what that took.
    fn copy_page(&self, caller: Thread<'_>, (source, from): (&mut Side, u64), (target, to): (&mut Side, u64)) -> Attempt<u32> {
        if let (Some((read, known)), Some((written, fresh))) = (self.page_known(caller, source, from), self.page_known(caller, target, to)) {
            match (known.kind.get(), fresh.kind.get()) {
                (Frame::BLANK, Frame::BLANK) => return Ok(LOOK_WORK),
                (Frame::PLAIN, Frame::BLANK) => {
                    self.frame_set_kind(written, fresh, Frame::PLAIN);
                    self.machine.copy(read, written, PAGE_SIZE);
                    return Ok(COPY_WORK);
                }
                _ => {}
            }
        }
        // Whatever else it is: as the caller itself would find it.
        let read = self.user_memory(caller, source.argument, from, source.needed)?;
        let written = self.user_memory(caller, target.argument, to, target.needed)?;
        self.machine.copy(read, written, PAGE_SIZE);
        Ok(COPY_WORK)
    }

    /// The frame at `address`, if there is one at once.
    fn page_known(&self, caller: Thread<'_>, side: &mut Side, address: u64) -> Option<(Physical, &Frame)> {
        if address >= side.part.end {
            side.part = self.part_at(caller, address, USER_END, side.needed).ok()?;
        }
        let at = side.part.physical.add(address - side.part.start);
        self.machine.frame(at).map(|frame| (at, frame))
    }
}
