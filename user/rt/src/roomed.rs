//! Threads that stay as long as the program, with all that they need in one segment of a pool: the
//! thread's object, slots for references, a stack, and memory of the caller's.

use core::arch::naked_asm;

use nacre_abi::state::ThreadState;
use nacre_abi::{ObjectType, PAGE_SIZE};
use nacre_proto::Errno;
use nacre_sys::{Reference, Space, Thread, Window};

use crate::memory::{self, Segment};
use crate::thread::{FLAGS, STACK_SIZE};

/// Bytes before the stack: a page of slots, and the thread's object, which nobody can write to, so
/// that the stack ends there.
const OBJECTS_SIZE: u64 = 2 * PAGE_SIZE;
/// Bytes before the caller's memory.
const OWN_SIZE: u64 = OBJECTS_SIZE + STACK_SIZE;

const _: () = assert!(ObjectType::Thread.size() == PAGE_SIZE);

/// Memory for one such thread. Dropping it gives it back.
#[derive(Debug)]
pub struct Room(Segment);

impl Room {
    /// Takes memory of `pool`, with `more` bytes for the caller.
    pub fn take(pool: Reference, more: u64) -> Result<Room, Errno> {
        let size = more.checked_add(OWN_SIZE).ok_or(Errno::ENOMEM)?;
        let start = memory::addresses(size).ok_or(Errno::ENOMEM)?;
        let segment = Segment::map_from(pool, start, size)?;
        // More than was asked for could reach into what lies behind.
        if segment.size() == size { Ok(Room(segment)) } else { Err(Errno::ENOMEM) }
    }

    /// Returns the slot for a reference with this number; none if there are not so many.
    pub fn slot(&self, number: u64) -> Option<Reference> {
        let size = ObjectType::Reference.size();
        (number < PAGE_SIZE / size).then(|| Reference(self.0.start() + number * size))
    }

    /// Returns the caller's memory. Nothing may be done with it when the room has been dropped.
    pub fn rest(&self) -> Window {
        // SAFETY: this part of the segment is mapped, and no reference of Rust leads there.
        unsafe { Window::anywhere(self.0.start() + OWN_SIZE, self.0.size() - OWN_SIZE) }
    }

    /// Starts the thread with `function(argument)`. On an error the room is returned.
    pub fn start(self, function: fn(usize), argument: usize) -> Result<(), Room> {
        match self.set_off(function, argument) {
            Ok(()) => {
                self.0.leak();
                Ok(())
            }
            Err(_) => Err(self),
        }
    }

    fn set_off(&self, function: fn(usize), argument: usize) -> Result<(), Errno> {
        let thread = Thread::create(self.0.start() + PAGE_SIZE, Space::OWN)?;
        let started = begin(thread, self.0.start() + OWN_SIZE, function, argument);
        if started.is_err() {
            // It was made above, and has not run.
            let _ = thread.destroy();
        }
        started
    }
}

fn begin(thread: Thread, stack_end: u64, function: fn(usize), argument: usize) -> Result<(), Errno> {
    let (rdi, rsi) = (argument as u64, function as *const () as u64);
    let rip = enter as *const () as u64;
    thread.set_state(&ThreadState { flags: ThreadState::STOPPED, rdi, rsi, rsp: stack_end, rip, rflags: FLAGS, ..ThreadState::default() })?;
    Ok(thread.start()?)
}

/// First instructions of a thread: `rdi` is the argument, `rsi` the function, and `rsp` a multiple
/// of 16.
#[unsafe(naked)]
unsafe extern "C" fn enter() -> ! {
    naked_asm!("xor ebp, ebp", "call {run}", "ud2", run = sym run)
}

extern "C" fn run(argument: usize, function: usize) -> ! {
    // SAFETY: `set_off` passed a function of this type.
    let function = unsafe { core::mem::transmute::<usize, fn(usize)>(function) };
    function(argument);
    loop {
        // However the wait ends, it begins again: nobody joins this thread.
        let _ = Thread::sleep(u64::MAX);
    }
}
