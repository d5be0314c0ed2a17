//! Threads of a native program, beside the first.

use alloc::sync::Arc;
use core::arch::naked_asm;
use core::sync::atomic::{AtomicU32, Ordering};

use nacre_abi::Rights;
use nacre_abi::state::ThreadState;
use nacre_proto::Errno;
use nacre_sys::{Condition, Owned, OwnedCondition, OwnedThread, Space, Thread};

use crate::memory::{self, Segment};

/// Bytes of stack that a thread has.
pub(crate) const STACK_SIZE: u64 = 64 << 10;
/// Flags of a fresh thread: interrupts on, and the bit that is always set.
pub(crate) const FLAGS: u64 = 0x202;

/// Says that a thread has returned from its function.
struct Finish {
    done: AtomicU32,
    condition: OwnedCondition,
}

/// Start of a thread. It lies at the end of the thread's stack, so that a thread that is destroyed
/// before it has begun holds nothing of the program's, least of all the heap's lock.
#[repr(align(16))]
struct Start {
    function: fn(usize),
    argument: usize,
    finish: Arc<Finish>,
}

/// A thread that was started. If this is dropped without [`Handle::join`], the thread goes on, and
/// its memory is never given back.
pub struct Handle {
    thread: Option<OwnedThread>,
    stack: Option<Segment>,
    finish: Arc<Finish>,
}

/// Starts a thread that runs `function(argument)`.
pub fn spawn(function: fn(usize), argument: usize) -> Result<Handle, Errno> {
    let start = memory::addresses(STACK_SIZE).ok_or(Errno::ENOMEM)?;
    let stack = Segment::map(start, STACK_SIZE, Rights::NONE)?;
    let finish = Arc::new(Finish { done: AtomicU32::new(0), condition: Owned::make(Condition::create)? });
    let thread = OwnedThread::make(|slot| Thread::create(slot, Space::OWN))?;
    let begin = stack.start() + stack.size() - size_of::<Start>() as u64;
    // SAFETY: the end of the stack is mapped, aligned, and nobody else's.
    unsafe { (begin as *mut Start).write(Start { function, argument, finish: finish.clone() }) };
    if let Err(errno) = set_off(thread.handle(), begin) {
        // SAFETY: written above, and the thread that was to take it never runs.
        drop(unsafe { (begin as *mut Start).read() });
        return Err(errno);
    }
    Ok(Handle { thread: Some(thread), stack: Some(stack), finish })
}

/// `begin` leads to its [`Start`], below which its stack is.
fn set_off(thread: Thread, begin: u64) -> Result<(), Errno> {
    let flags = ThreadState::STOPPED;
    let state = ThreadState { flags, rdi: begin, rsp: begin, rip: enter as *const () as u64, rflags: FLAGS, ..ThreadState::default() };
    thread.set_state(&state)?;
    Ok(thread.start()?)
}

impl Handle {
    /// The thread.
    pub fn thread(&self) -> Option<Thread> {
        self.thread.as_ref().map(Owned::handle)
    }

    /// Waits until the thread's function has returned, and takes back what the thread had.
    pub fn join(mut self) {
        while self.finish.done.load(Ordering::Acquire) == 0 {
            // Whatever ended the wait, the word is looked at again.
            let _ = self.finish.condition.wait(&self.finish.done, 0, nacre_sys::FOREVER);
        }
        // First the thread, which may still be on its way out, then its stack.
        self.thread = None;
        self.stack = None;
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        core::mem::forget(self.thread.take());
        core::mem::forget(self.stack.take());
    }
}

/// First instructions of a thread: `rdi` leads to its [`Start`], as does `rsp`, which is a multiple
/// of 16.
#[unsafe(naked)]
unsafe extern "C" fn enter() -> ! {
    naked_asm!("xor ebp, ebp", "call {run}", "ud2", run = sym run)
}

extern "C" fn run(start: *mut Start) -> ! {
    // SAFETY: `spawn` wrote it, for this thread alone, which reads it once.
    let start = unsafe { start.read() };
    (start.function)(start.argument);
    finish(start.finish);
    loop {
        // However the wait ends, it begins again, until whoever joins destroys the thread.
        let _ = Thread::sleep(u64::MAX);
    }
}

fn finish(finish: Arc<Finish>) {
    // Taken before the word changes: after that the condition may go at any moment, which the
    // signal survives.
    let condition = finish.condition.handle();
    finish.done.store(1, Ordering::Release);
    drop(finish);
    let _ = condition.signal(u64::MAX);
}
