//! The threads of the program.

use crate::abi::errno::{EAGAIN, Errno};
use crate::raw::debugger;
use crate::raw::thread_area::AREA_SIZE;
use crate::raw::thread_block::Block;
use crate::state::memory::user_access;
use crate::state::threads::thread::{GETTID, Thread, used_by};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::sync::atomic::Ordering;
use nacre_abi::Rights;
use nacre_rt::memory::{Segment, addresses};
use nacre_sys::{OwnedThread, Space};

/// Maximum number of threads of a process.
const MOST: usize = 1024;

/// A kernel thread that serves no thread of the program at present.
#[derive(Clone, Copy)]
pub struct Spare {
    pub block: &'static Block,
    pub kernel: nacre_sys::Thread,
}

/// All threads.
pub struct Threads {
    pub slots: Vec<Option<Box<Thread>>>,
    pub spare: Vec<Spare>,
    /// The number that the next thread gets, where nobody else gives numbers.
    pub next: u64,
}

impl Threads {
    /// The first thread alone. Its number is that of the process, which is asked for when somebody
    /// wants to know.
    pub fn new(first: Thread) -> Threads {
        first.block.set_quick(GETTID, u64::MAX);
        let next = first.number + 1;
        Threads { slots: alloc::vec![Some(Box::new(first))], spare: Vec::new(), next }
    }

    /// The thread in a place of the table.
    pub fn get(&self, index: usize) -> Option<&Thread> {
        self.slots.get(index).and_then(Option::as_deref)
    }

    /// Returns the thread at `index`, to change it.
    pub fn get_mut(&mut self, index: usize) -> Option<&mut Thread> {
        self.slots.get_mut(index).and_then(Option::as_deref_mut)
    }

    /// Every thread, with its place.
    pub fn all(&self) -> impl Iterator<Item = (usize, &Thread)> {
        self.slots.iter().enumerate().filter_map(|(index, slot)| slot.as_deref().map(|thread| (index, thread)))
    }

    /// Nanoseconds of processors that all have used, those that have ended too.
    pub fn used(&self) -> u64 {
        self.all().map(|(_, thread)| thread.kernel).chain(self.spare.iter().map(|spare| spare.kernel)).map(used_by).sum()
    }

    /// Returns the number of places in the table.
    pub fn places(&self) -> usize {
        self.slots.len()
    }

    /// Returns the number of threads.
    pub fn count(&self) -> usize {
        self.slots.iter().flatten().count()
    }

    /// Returns true if the first thread is, and always was, the only one.
    pub fn is_first_alone(&self) -> bool {
        self.slots.len() == 1 && self.spare.is_empty()
    }

    /// Returns the index of the thread with a number.
    pub fn find(&self, number: u64) -> Option<usize> {
        self.all().find(|(_, thread)| thread.number == number).map(|(index, _)| index)
    }

    /// A kernel thread with a block and stack: one that has ended, or a new one.
    pub fn obtain(&mut self) -> Result<Spare, Errno> {
        if let Some(index) = self.spare.iter().position(|spare| spare.block.parked.load(Ordering::Acquire) != 0) {
            let spare = self.spare.swap_remove(index);
            spare.kernel.stop().map_err(|_| EAGAIN)?;
            spare.block.parked.store(0, Ordering::Relaxed);
            return Ok(spare);
        }
        if self.count() + self.spare.len() >= MOST {
            return Err(EAGAIN);
        }
        let start = addresses(AREA_SIZE as u64).ok_or(EAGAIN)?;
        let area = Segment::map(start, AREA_SIZE as u64, Rights::NONE).map_err(|_| EAGAIN)?;
        let kernel = OwnedThread::make(|slot| nacre_sys::Thread::create(slot, Space::OWN)).map_err(|_| EAGAIN)?.leak();
        debugger::thread_is_made();
        Ok(Spare { block: user_access::block_in(area), kernel })
    }

    /// Takes back a kernel thread that was obtained and never started.
    pub fn give_back(&mut self, spare: Spare) {
        spare.block.parked.store(1, Ordering::Release);
        self.spare.push(spare);
    }

    /// Enters a thread; its place.
    pub fn insert(&mut self, thread: Thread) -> usize {
        let index = self.slots.iter().position(Option::is_none).unwrap_or(self.slots.len());
        if index == self.slots.len() {
            self.slots.push(None);
        }
        thread.block.index.store(index as u32, Ordering::Release);
        self.slots[index] = Some(Box::new(thread));
        index
    }
}

/// The number of the only process that a program knows without a process manager, of its thread,
/// group and session.
pub const PID: u64 = 1;

impl Threads {
    /// The place of the thread whose block is at an address.
    pub fn with_block(&self, address: u64) -> Option<usize> {
        self.all().find(|(_, thread)| thread.block as *const Block as u64 == address).map(|(index, _)| index)
    }
}
