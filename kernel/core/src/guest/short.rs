//! The commonest course of `thread_enter`: a frame of kind USER that the caller's tables show, in a
//! space that was entered before. It changes nothing but the caller, and reads what is written
//! under all locks only. Where anything is out of the ordinary, `enter.rs` decides.

use super::enter::frame_word;
use crate::kernel::Kernel;
use crate::machine::{GuestEntry, LeafKind, Machine, Physical, thread_page::register};
use crate::object::{self, Space, Thread};
use nacre_abi::frame::{FRAME_VERSION, kind, word};
use nacre_abi::rights::REFERENCE_CONTROL;
use nacre_abi::state::SpaceState;
use nacre_abi::{ObjectType, PAGE_SIZE, Rights, USER_END};

impl<M: Machine> Kernel<M> {
    /// `thread_enter`.
    #[inline(always)]
    pub(crate) fn fast_enter(&self, caller: Thread<'_>) -> Option<()> {
        let outer = self.space(caller.space());
        let frame = self.fast_frame(outer, caller.register(register::ARGUMENT_1))?;
        let word = |number| self.machine.read_word(frame_word(frame, number));
        if word(word::VERSION) != FRAME_VERSION || word(word::KIND) != kind::USER || word(word::PENDING) != 0 {
            return None;
        }
        let space = self.fast_space(caller, word(word::SPACE))?;
        if space.entered() == 0 || space.root() == Physical(0) || space.flags() & SpaceState::TIME_HIDDEN != 0 {
            return None;
        }
        self.rewind(caller);
        self.machine.guest_enter(GuestEntry { frame, root: space.root(), upper: None, hides_time: false, is_user: true });
        Some(())
    }

    /// The page that the caller's tables show at an address, if it can be a frame.
    #[inline(always)]
    fn fast_frame(&self, outer: Space<'_>, address: u64) -> Option<Physical> {
        if address % PAGE_SIZE != 0 || address >= USER_END {
            return None;
        }
        let leaf = self.machine.table_lookup(outer.root(), address)?;
        let is_plain = leaf.kind == LeafKind::Memory && leaf.rights.contains(Rights::READ.union(Rights::WRITE));
        is_plain.then_some(leaf.physical)
    }

    /// The space of this name, if the caller controls it.
    #[inline(always)]
    fn fast_space(&self, caller: Thread<'_>, address: u64) -> Option<Space<'_>> {
        let own = self.space(caller.space());
        let is_named = caller.named() == address && caller.named_generation() == own.generation();
        let at = if is_named { caller.named_at() } else { self.fast_lookup(caller, own, address)? };
        let header = self.machine.words::<1>(at)[0].get();
        if header == object::header(ObjectType::Space) {
            return Some(self.space(at));
        }
        if header != object::header(ObjectType::Reference) {
            return None;
        }
        let reference = self.reference(at);
        let target = reference.object(&self.machine, ObjectType::Space)?;
        (reference.rights() & REFERENCE_CONTROL != 0).then(|| self.space(target))
    }
}
