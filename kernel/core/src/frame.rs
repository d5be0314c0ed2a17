//! Frames of memory and what they are given to: plain memory, object frames, tables. This is where memory becomes the kernel's and where it goes back.
//!
//! A frame is an object frame exactly while an object is in it. It turns into one by being taken away from every space that can see it (revocation), so that nobody can write
//! what the kernel reads; it turns back, zeroed, when the last object goes.

use crate::kernel::{Attempt, Kernel};
use crate::list;
use crate::machine::{Frame, Machine, Physical};
use crate::object::{self, Space};
use nacre_abi::object::UNIT;
use nacre_abi::{Code, ObjectType, PAGE_SIZE, Status};

/// The units that an object of `size` bytes at `at` occupies, as bits of its frame.
pub(crate) fn unit_mask(at: Physical, size: u64) -> u64 {
    let first = at.0 % PAGE_SIZE / UNIT;
    let count = size / UNIT;
    if count == 64 { u64::MAX } else { ((1 << count) - 1) << first }
}

impl<M: Machine> Kernel<M> {
    /// Changes what a frame of memory is.
    fn frame_set_kind(&self, at: Physical, frame: &Frame, kind: u64) {
        if let Some(count) = self.machine.special_count(at) {
            let was = u32::from(frame.kind.get() != Frame::PLAIN);
            let is = u32::from(kind != Frame::PLAIN);
            count.set(count.get() + is - was);
        }
        frame.kind.set(kind);
    }

    /// Takes a plain frame away from every space and fills it with zeros.
    fn frame_seize(&self, at: Physical, frame: &Frame, kind: u64) {
        self.frame_set_kind(at, frame, kind);
        self.revoke_physical(at, PAGE_SIZE);
        self.machine.zero(at, PAGE_SIZE);
    }

    /// Gives a frame back as plain memory, filled with zeros.
    fn frame_release(&self, at: Physical, frame: &Frame) {
        frame.units.set(0);
        self.machine.zero(at, PAGE_SIZE);
        self.frame_set_kind(at, frame, Frame::PLAIN);
        self.revoke_physical(at, PAGE_SIZE);
    }

    /// Makes an object of type `object` at `at`, where decoding found room: its words are zero but for the header.
    pub(crate) fn object_place(&self, at: Physical, object: ObjectType) {
        if let Some(frame) = self.machine.frame(at) {
            if frame.kind.get() == Frame::PLAIN {
                self.frame_seize(at.frame(), frame, Frame::OBJECTS);
            }
            frame.units.set(frame.units.get() | unit_mask(at, object.size()));
        }
        self.machine.words::<1>(at)[0].set(object::header(object));
    }

    /// Frees the memory of an object that nothing is linked to any more.
    pub(crate) fn object_erase(&self, at: Physical, object: ObjectType) {
        let Some(frame) = self.machine.frame(at) else { return };
        if frame.kind.get() != Frame::OBJECTS {
            // One of root's first objects: its frame was never anybody's to have back.
            return self.machine.zero(at, object.size());
        }
        let left = frame.units.get() & !unit_mask(at, object.size());
        frame.units.set(left);
        if left == 0 {
            self.frame_release(at.frame(), frame);
        } else {
            self.machine.zero(at, object.size());
        }
    }

    /// Whether `count` plain frames, one for each address that `frame_at` gives, can be donated: checked before any is.
    pub(crate) fn check_donation(&self, at: Physical, argument: u8) -> Attempt<()> {
        match self.machine.frame(at) {
            Some(frame) if frame.kind.get() == Frame::PLAIN => Ok(()),
            Some(_) => Err(Status::argument(Code::Busy, argument).into()),
            None => Err(Status::argument(Code::NotObjectMemory, argument).into()),
        }
    }

    /// Adds a plain frame to a space's pool. The first one becomes its root table.
    pub(crate) fn pool_add(&self, space: Space<'_>, at: Physical) {
        let Some(frame) = self.machine.frame(at) else { return };
        if frame.kind.get() != Frame::PLAIN {
            return;
        }
        self.frame_seize(at, frame, Frame::TABLE);
        frame.units.set(space.at.0);
        space.set_pool_pages(space.pool_pages() + 1);
        if space.root() == Physical(0) {
            space.set_root(at);
            space.set_pool_last(at);
            self.machine.table_create(at);
            return;
        }
        self.chain_set(space.pool_last(), at);
        space.set_pool_last(at);
        if space.pool_cursor() == Physical(0) {
            space.set_pool_cursor(at);
        }
    }

    fn chain_next(&self, at: Physical) -> Physical {
        Physical(self.machine.frame(at).map_or(0, |frame| frame.kind.get() & !(PAGE_SIZE - 1)))
    }

    fn chain_set(&self, at: Physical, next: Physical) {
        if let Some(frame) = self.machine.frame(at) {
            frame.kind.set(Frame::TABLE | next.0);
        }
    }

    /// Takes the next frame of a pool for a table.
    pub(crate) fn pool_take(&self, space: Space<'_>) -> Option<Physical> {
        let at = space.pool_cursor();
        if at == Physical(0) {
            return None;
        }
        space.set_pool_cursor(self.chain_next(at));
        Some(at)
    }

    /// Throws all tables of a space away but the root, so that its pool is whole again.
    pub(crate) fn pool_reset(&self, space: Space<'_>) {
        self.machine.table_reset(space.root());
        space.set_generation(space.generation() + 1);
        self.machine.translations_flush(space.active(), space.root(), 0, nacre_abi::USER_END);
        space.set_pool_cursor(self.chain_next(space.root()));
    }

    /// Gives one frame of a dying space's pool back; false when there is none left. The root goes last.
    pub(crate) fn pool_give_back(&self, space: Space<'_>) -> bool {
        let root = space.root();
        let next = self.chain_next(root);
        let at = if next != Physical(0) { next } else { root };
        if at == Physical(0) {
            return false;
        }
        // Between two steps the space may still be used: what is left of its pool must be whole, and nothing else be taken for a table.
        space.set_pool_cursor(Physical(0));
        space.set_pool_pages(space.pool_pages() - 1);
        if at == root {
            space.set_root(Physical(0));
        } else {
            self.chain_set(root, self.chain_next(at));
            if space.pool_last() == at {
                space.set_pool_last(root);
            }
        }
        if let Some(frame) = self.machine.frame(at) {
            self.frame_release(at, frame);
        }
        at != root
    }

    /// A space has moved: the frames of its pool are told.
    pub(crate) fn pool_moved(&self, space: Space<'_>) {
        let mut at = space.root();
        while let Some(frame) = self.machine.frame(at).filter(|_| at != Physical(0)) {
            frame.units.set(space.at.0);
            at = self.chain_next(at);
        }
    }

    /// Makes every link on a ring null; a step each.
    pub(crate) fn links_cut(&self, anchor: Physical) -> Attempt<()> {
        while let Some(node) = list::first(&self.machine, anchor) {
            list::link_clear(&self.machine, Physical(node.0 - 8));
            self.step()?;
        }
        Ok(())
    }
}
