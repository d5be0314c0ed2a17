//! Frames of memory and what they are given to: plain memory, object frames, tables. This is where
//! memory becomes the kernel's and where it goes back.
//!
//! A frame turns into an object frame by being taken away from every space that can see it
//! (revocation), so that nobody can write what the kernel reads. That is done before the call
//! that needs it changes anything, so it can be cut off: the frame is *seized* then, and whoever
//! touches it gets it back as it was.
//! When the last object goes it stays an object frame, full of zeros, until somebody touches it
//! (`fill`) or takes it back (`memory_reclaim`): most are used for objects again.
//! A *blank* frame is one that nobody sees and whose bytes count as zeros: the zeros are written
//! when somebody touches it, which for many frames is never.

use crate::kernel::{Attempt, Kernel, ZERO_WORK};
use crate::list;
use crate::machine::{Frame, Machine, Physical, thread_page};
use crate::object::{self, Space};
use crate::object::FPU_USED;
use core::sync::atomic::Ordering;
use nacre_abi::object::UNIT;
use nacre_abi::{Code, ObjectType, PAGE_SIZE, Status};

/// Instructions, roughly, that cutting a link takes, and giving back a page of a pool.
const LINK_WORK: u32 = 40;
pub(crate) const PAGE_WORK: u32 = 100;

/// The units that an object of `size` bytes at `at` occupies, as bits of its frame.
pub(crate) fn unit_mask(at: Physical, size: u64) -> u64 {
    let first = at.0 % PAGE_SIZE / UNIT;
    let count = size / UNIT;
    if count == 64 { u64::MAX } else { ((1 << count) - 1) << first }
}

impl<M: Machine> Kernel<M> {
    /// Changes what a frame of memory is.
    pub(crate) fn frame_set_kind(&self, at: Physical, frame: &Frame, kind: u64) {
        let (was, is) = (frame.kind.get() != Frame::PLAIN, kind != Frame::PLAIN);
        if was != is
            && let Some(count) = self.machine.special_count(at)
        {
            count.fetch_add(u32::from(is).wrapping_sub(u32::from(was)), Ordering::AcqRel);
        }
        frame.kind.set(kind);
    }

    /// Takes a frame without objects away from every space: once this has succeeded nobody sees it,
    /// until somebody touches it and so has it back.
    pub(crate) fn frame_seize(&self, at: Physical, frame: &Frame) -> Attempt<()> {
        match frame.kind.get() {
            Frame::BLANK => Ok(()),
            _ => self.frames_seize(at, 1),
        }
    }

    /// Seizes the frames from `at` on whose bits are set; those that hold something are left out,
    /// and those that nobody sees anyway.
    fn frames_seize(&self, at: Physical, which: u64) -> Attempt<()> {
        let seen = || self.frames_in_row(at, which).filter(|(_, frame)| frame.kind.get() != Frame::BLANK);
        let Some((_, first)) = seen().next() else { return Ok(()) };
        if seen().any(|(_, frame)| frame.kind.get() != Frame::SEIZED || frame.units.get() != first.units.get()) {
            self.revoke_idle()?;
            let (low, high) = (u64::from(which.trailing_zeros()), u64::from(64 - which.leading_zeros()));
            let number = self.revoke_begin(self.kernel_space(), at.0 + low * PAGE_SIZE, at.0 + high * PAGE_SIZE);
            for (at, frame) in seen() {
                self.frame_set_kind(at, frame, Frame::SEIZED);
                frame.units.set(number);
            }
        }
        self.revoke_finish(first.units.get())
    }

    /// Yields the frames from `at` on whose bits are set that hold nothing of the kernel's.
    fn frames_in_row(&self, at: Physical, which: u64) -> impl Iterator<Item = (Physical, &Frame)> {
        let frames = self.machine.frames(at, (u64::BITS - which.leading_zeros()) as usize);
        let mut rest = which;
        let all = core::iter::from_fn(move || {
            let number = rest.trailing_zeros();
            rest &= rest.wrapping_sub(1);
            frames.get(number as usize).map(|frame| (at.add(u64::from(number) * PAGE_SIZE), frame))
        });
        all.filter(|(_, frame)| self.is_vacant(frame))
    }

    /// Takes the frames from `at` on whose bits are set away from every space, those that hold
    /// something left out. They are zeros for who touches them next.
    pub(crate) fn frames_blank(&self, at: Physical, which: u64) -> Attempt<()> {
        self.frames_seize(at, which)?;
        for (at, frame) in self.frames_in_row(at, which) {
            frame.units.set(0);
            self.frame_set_kind(at, frame, Frame::BLANK);
        }
        Ok(())
    }

    /// Fills a blank frame with zeros and makes it plain memory. This CPU's own lock is enough:
    /// returns false if the frame is not blank, or another CPU is at it.
    pub(crate) fn blank_open(&self, at: Physical, frame: &Frame) -> bool {
        let blank = frame.kind.get() == Frame::BLANK && frame.kind.change(Frame::BLANK, Frame::CLEARING);
        if blank {
            self.machine.zero(at, PAGE_SIZE);
            self.frame_set_kind(at, frame, Frame::PLAIN);
        }
        blank
    }

    /// Makes a frame without objects plain memory.
    pub(crate) fn frame_open(&self, at: Physical, frame: &Frame) -> Attempt<()> {
        if self.blank_open(at, frame) {
            self.work_followed(ZERO_WORK);
            return self.work(0);
        }
        self.frame_seize(at, frame)?;
        frame.units.set(0);
        self.frame_set_kind(at, frame, Frame::PLAIN);
        Ok(())
    }

    /// Makes sure that objects can be put into the frame around `at`: nobody sees it as memory. The
    /// last part of decoding: nothing of the frame changes yet.
    pub(crate) fn frame_prepare(&self, at: Physical) -> Attempt<()> {
        match self.machine.frame(at) {
            Some(frame) if matches!(frame.kind.get(), Frame::PLAIN | Frame::SEIZED) => self.frame_seize(at.frame(), frame),
            _ => Ok(()),
        }
    }

    /// Makes an object of type `object` at `at`, where decoding found room: its words are zero but
    /// for the header.
    pub(crate) fn object_place(&self, at: Physical, object: ObjectType) -> Attempt<()> {
        match self.machine.frame(at) {
            // What stands in a thread's frame is the user's: nobody may know it any more as a frame
            // of smaller objects.
            Some(frame) if object == ObjectType::Thread => self.frame_seize(at, frame)?,
            Some(frame) if frame.kind.get() == Frame::OBJECTS => {
                self.object_begin(at, object, frame);
                return Ok(());
            }
            _ => self.frame_prepare(at)?,
        }
        self.object_put(at, object);
        Ok(())
    }

    /// Makes an object in a frame that was prepared (at boot: that nobody has seen).
    pub(crate) fn object_put(&self, at: Physical, object: ObjectType) {
        if let Some(frame) = self.machine.frame(at) {
            if matches!(frame.kind.get(), Frame::PLAIN | Frame::SEIZED | Frame::BLANK) {
                frame.units.set(0);
                self.frame_set_kind(at, frame, Frame::OBJECTS);
                self.machine.zero(at.frame(), PAGE_SIZE);
            }
            return self.object_begin(at, object, frame);
        }
        self.machine.words::<1>(at)[0].set(object::header(object));
    }

    /// The words at `at`, zeros in an object frame, are an object from now on.
    #[inline(always)]
    fn object_begin(&self, at: Physical, object: ObjectType, frame: &Frame) {
        frame.units.set(frame.units.get() | unit_mask(at, object.size()));
        self.machine.words::<1>(at)[0].set(object::header(object));
    }

    /// Returns how many bytes of an object are not zero: a thread that never used the FPU leaves
    /// the state of that as it was made.
    pub(crate) fn object_extent(&self, at: Physical, object: ObjectType) -> u64 {
        match object {
            ObjectType::Thread if self.thread(at).machine_word() & FPU_USED == 0 => 8 * thread_page::FPU as u64,
            _ => object.size(),
        }
    }

    /// Frees the memory of an object that nothing is linked to any more.
    pub(crate) fn object_erase(&self, at: Physical, object: ObjectType) {
        self.machine.zero(at, self.object_extent(at, object));
        if let Some(frame) = self.machine.frame(at)
            && frame.kind.get() == Frame::OBJECTS
        {
            // The last one leaves an empty object frame, which is plain memory for whoever touches
            // it: only then is it taken from those that know it as one of objects.
            frame.units.set(frame.units.get() & !unit_mask(at, object.size()));
        }
    }

    /// Returns true if a frame holds nothing of the kernel's.
    pub(crate) fn is_vacant(&self, frame: &Frame) -> bool {
        match frame.kind.get() & (PAGE_SIZE - 1) {
            Frame::PLAIN | Frame::SEIZED | Frame::BLANK => true,
            Frame::OBJECTS => frame.units.get() == 0,
            _ => false,
        }
    }

    /// Checks that the frame at `at` can be donated.
    pub(crate) fn check_donation(&self, at: Physical, argument: u8) -> Attempt<()> {
        match self.machine.frame(at) {
            Some(frame) if self.is_vacant(frame) => Ok(()),
            Some(_) => Err(Status::argument(Code::Busy, argument).into()),
            None => Err(Status::argument(Code::NotObjectMemory, argument).into()),
        }
    }

    /// Takes frames that can be donated away from every space, those in a row at once.
    pub(crate) fn donation_seize(&self, frames: &[Physical]) -> Attempt<()> {
        for row in frames.chunk_by(|one, next| one.add(PAGE_SIZE) == *next) {
            self.frames_seize(row[0], (1 << row.len()) - 1)?;
        }
        Ok(())
    }

    /// Adds a frame that nobody sees to a space's pool, unless it is in one. The first one becomes
    /// its root table.
    pub(crate) fn pool_add(&self, space: Space<'_>, at: Physical) {
        let Some(frame) = self.machine.frame(at) else { return };
        if !self.is_vacant(frame) {
            return;
        }
        self.frame_set_kind(at, frame, Frame::TABLE);
        frame.units.set(space.root().0);
        space.set_pool_pages(space.pool_pages() + 1);
        if space.root() == Physical(0) {
            frame.units.set(space.at.0);
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

    /// Gives one frame of a dying space's pool back; false when there is none left. The root goes
    /// last.
    pub(crate) fn pool_give_back(&self, space: Space<'_>) -> bool {
        let root = space.root();
        let next = self.chain_next(root);
        let at = if next != Physical(0) { next } else { root };
        if at == Physical(0) {
            return false;
        }
        // Between two steps the space may still be used: what is left of its pool must be whole,
        // and nothing else be taken for a table.
        space.set_pool_cursor(Physical(0));
        space.set_pool_pages(space.pool_pages() - 1);
        self.guest_forget(space);
        if at == root {
            space.set_root(Physical(0));
        } else {
            self.chain_set(root, self.chain_next(at));
            if space.pool_last() == at {
                space.set_pool_last(root);
            }
        }
        if let Some(frame) = self.machine.frame(at) {
            // No table shows a frame of a table: nothing is to be revoked.
            frame.units.set(0);
            self.frame_set_kind(at, frame, Frame::BLANK);
        }
        at != root
    }

    /// Returns the identity by which the parts of a space know it: the frame of its root table,
    /// which does not move with the space. The kernel's own space has the frame of globals instead.
    pub(crate) fn home_of(&self, space: Space<'_>) -> Physical {
        if space.root() == Physical(0) { self.globals.get() } else { space.root() }
    }

    /// The space whose home this is.
    #[inline(always)]
    pub(crate) fn space_at_home(&self, home: Physical) -> Space<'_> {
        self.space(Physical(self.machine.frame(home).map_or(0, |frame| frame.units.get())))
    }

    /// Says where the space is that has this home.
    pub(crate) fn home_set(&self, home: Physical, space: Physical) {
        if let Some(frame) = self.machine.frame(home) {
            frame.units.set(space.0);
        }
    }

    /// The space whose pool a frame of tables is in: a root table's frame names it, any other names
    /// that.
    pub(crate) fn pool_owner(&self, space_or_home: Physical) -> Physical {
        match self.machine.frame(space_or_home) {
            Some(frame) if frame.kind.get() % PAGE_SIZE == Frame::TABLE => Physical(frame.units.get()),
            _ => space_or_home,
        }
    }

    /// Makes every link on a ring null; a step each.
    pub(crate) fn links_cut(&self, anchor: Physical) -> Attempt<()> {
        while let Some(node) = list::first(&self.machine, anchor) {
            list::link_clear(&self.machine, Physical(node.0 - 8));
            self.work(LINK_WORK)?;
        }
        Ok(())
    }
}
