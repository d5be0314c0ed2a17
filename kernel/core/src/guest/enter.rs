//! `thread_enter`: a thread runs a guest, or other registers of a user, in another space. It stands
//! at its call all the while, so whatever takes it off its CPU needs to know nothing of guests: the
//! call is made again.

use crate::call_result::wrong;
use crate::compose::TranslationError;
use crate::fault::Fault;
use crate::kernel::{Attempt, Done, Kernel, Next, Stop};
use crate::machine::{GuestEntry, LeafKind, Machine, Physical};
use crate::object::{Space, Thread};
use nacre_abi::arguments::{self, Word};
use nacre_abi::frame::{FRAME_VERSION, event, kind, word};
use nacre_abi::state::SpaceState;
use nacre_abi::{Code, ObjectType, PAGE_SIZE, Rights, Status, USER_END};

/// Objects that a call names.
struct Named<'k> {
    frame: Physical,
    space: Space<'k>,
    /// Space of the upper half of a shadow guest.
    upper: Option<Space<'k>>,
    is_user: bool,
}

impl<M: Machine> Kernel<M> {
    /// The guest enters when this call leaves the kernel, if the caller is still the one to run.
    pub(crate) fn thread_enter(&self, caller: Thread<'_>) -> Attempt<Done> {
        let Named { frame, space, upper, is_user } = self.guest_of(caller)?;
        if self.machine.read_word(frame_word(frame, word::PENDING)) != 0 {
            self.machine.write_word(frame_word(frame, word::EVENT), event::PENDING);
            return Ok(Done::Return);
        }
        let is_hidden = |space: Space<'_>| space.flags() & SpaceState::TIME_HIDDEN != 0;
        let hides_time = is_hidden(self.space(caller.space()));
        let hides_time = if is_user { is_hidden(space) && !hides_time } else { hides_time };
        [Some(space), upper].into_iter().flatten().for_each(|space| space.set_entered(1));
        self.rewind(caller);
        self.machine.guest_enter(GuestEntry { frame, root: space.root(), upper: upper.map(Space::root), hides_time, is_user });
        Ok(Done::Settled)
    }

    /// The frame and the spaces that the call names.
    fn guest_of(&self, caller: Thread<'_>) -> Attempt<Named<'_>> {
        let call: arguments::ThreadEnter = caller.arguments();
        if !call.frame.value.is_multiple_of(PAGE_SIZE) {
            return wrong(Code::BadAddress, call.frame);
        }
        let find = || self.user_memory(caller, call.frame.number, call.frame.value, Rights::READ.union(Rights::WRITE));
        let frame = find()?.frame();
        if self.machine.read_word(frame_word(frame, word::VERSION)) != FRAME_VERSION {
            return wrong(Code::BadVersion, call.frame);
        }
        let kind = self.machine.read_word(frame_word(frame, word::KIND));
        let (is_user, is_shadow) = (kind == kind::USER, kind == kind::SHADOW);
        match kind {
            kind::USER => {}
            _ if !self.machine.has_guests() => return Err(Status::new(Code::UnknownCall).into()),
            kind::NESTED | kind::WATCHED | kind::SHADOW => {}
            _ => return wrong(Code::BadArgument, call.frame),
        }
        let space = self.guest_space(caller, call.frame, frame_word(frame, word::SPACE))?;
        let upper = if is_shadow { Some(self.guest_space(caller, call.frame, frame_word(frame, word::UPPER_SPACE))?) } else { None };
        // Looking for the spaces may have cost the tables what they had of the frame. Whoever takes
        // the page away has to find it there: only then does it wait until the guest is left.
        if find()?.frame() == frame { Ok(Named { frame, space, upper, is_user }) } else { Err(Stop::Again) }
    }

    /// The space that a word of a frame names.
    fn guest_space(&self, caller: Thread<'_>, argument: Word, named: Physical) -> Attempt<Space<'_>> {
        let named = Word { value: self.machine.read_word(named), ..argument };
        let space = self.space(self.controlled(caller, named, ObjectType::Space)?);
        if space.root() == Physical(0) { wrong(Code::Denied, argument) } else { Ok(space) }
    }

    /// The guest of the thread on this CPU was left because its space's tables did not allow an
    /// access; the thread stands at its call. `error` is the access's error code.
    pub fn guest_fault(&self, address: u64, needed: Rights, error: u64) -> Next {
        self.enter_with_fault(|thread| self.take_guest_fault(thread, address, needed, error), |_| {})
    }

    fn take_guest_fault(&self, thread: Thread<'_>, address: u64, needed: Rights, error: u64) {
        // As in the call: what lacks there puts the thread back to it.
        self.unwind(thread);
        let found = self.guest_of(thread);
        if matches!(found, Err(Stop::Wait)) {
            return;
        }
        self.rewind(thread);
        // What is wrong with the call by now, it finds out itself.
        let Ok(Named { frame, space, .. }) = found else { return };
        let found = if address < USER_END { self.fill(space, address, needed) } else { Err(TranslationError::Own) };
        match found {
            Ok(leaf) if leaf.kind != LeafKind::Objects => {}
            Err(TranslationError::Again) => {}
            Err(TranslationError::Region { region, offset }) if self.keeper_of(self.region(region)).is_some() => {
                // The keeper's answer is tried on the caller's own space, where the call's frame
                // lies; the guest tries again by itself.
                let address = thread.arguments::<arguments::ThreadEnter>().frame.value;
                self.report_fault(thread, Fault::Region { region, offset, needed, address });
            }
            _ => {
                let words = [(word::EVENT, event::MEMORY), (word::INFORMATION[0], error), (word::INFORMATION[1], address)];
                words.iter().for_each(|(number, value)| self.machine.write_word(frame_word(frame, *number), *value));
                self.pass_call(thread, Status::new(Code::Ok));
            }
        }
    }

    /// Drops all that a CPU may know of a space's tables, if a guest has ever run in it: before
    /// frames of its tables become something else.
    pub(crate) fn guest_forget(&self, space: Space<'_>) {
        if space.entered() != 0 && space.root() != Physical(0) {
            self.machine.table_reset(space.root());
            self.machine.translations_flush(0, space.root(), 0, USER_END);
        }
    }
}

/// Place of a word of a frame.
pub fn frame_word(frame: Physical, number: usize) -> Physical {
    frame.add(8 * number as u64)
}
