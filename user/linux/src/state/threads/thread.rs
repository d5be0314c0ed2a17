//! A thread of the program.

use crate::raw::thread_block::Block;
use crate::state::signals::pending::Pending;
use crate::state::memory::mapped_part::Late;
use crate::state::threads::awaited_page::AwaitedPage;
use crate::state::threads::futex_wait::{Several, Wait};
use core::sync::atomic::Ordering;

pub const GETTID: usize = 186;

/// State of one thread.
pub struct Thread {
    /// Linux's number of it.
    pub number: u64,
    /// Block of the thread, above its library stack.
    pub block: &'static Block,
    /// The kernel's thread.
    pub kernel: nacre_sys::Thread,
    /// Signals that it does not take.
    pub mask: u64,
    /// The mask that holds again when the call that it is in has ended.
    pub saved_mask: Option<u64>,
    /// Signals that it waits for in a call, though it blocks them.
    pub waits_for: u64,
    /// Signals for this thread alone.
    pub pending: Pending,
    /// Start and size of its alternate signal stack; size 0: none.
    pub alternate: [u64; 2],
    /// Flags that the alternate stack was set with.
    pub alternate_flags: u64,
    /// Address at which 0 is written, and a waiter woken, when the thread ends.
    pub clear_number: u64,
    /// Head of its list of robust futexes.
    pub robust: u64,
    /// Name of the thread.
    pub name: [u8; 16],
    /// Base of `fs`.
    pub fs_base: u64,
    /// Set while the thread sleeps at its block, where others wake it.
    pub sleeping: bool,
    /// Wait for a futex in the process: see [`futex`](crate::calls::ipc::futex).
    pub awaits: Option<Wait>,
    /// Words that it waits for at once.
    pub awaits_several: Several,
    /// Set while the thread waits for a change of a file in the process, or of one that the signal
    /// thread hears of.
    pub awaits_pipe: bool,
    /// Files that the thread found watched, and not told of, when it looked last, or half as many
    /// as before.
    pub quiet: u32,
    /// Set while such a file is known to have nothing: the agent has counted all that was told.
    pub knows_quiet: bool,
    /// Set while the thread may take files for quiet of which the board has not told.
    pub knows_board: bool,
    /// The page of the program's that it waits for, as a user-fault file is told.
    pub awaits_page: Option<AwaitedPage>,
    /// Faults of the thread at pages that are there.
    pub late: Late,
    /// Error and kind of its last exception, as a handler's frame shows them.
    pub trap: [u64; 2],
    /// Start and end of where the answer goes that it waits for without the lock.
    pub answer: (u64, u64),
    /// The processors that it was to run on, a bit for each; 0: on any.
    pub processors: u64,
    /// Deadline of a sleep that was interrupted and is made again.
    pub deadline: Option<u64>,
    /// CPU time that the kernel's thread had used when it became this one.
    used_before: u64,
}

impl Thread {
    /// A thread with this number, block and kernel thread.
    pub fn new(number: u64, block: &'static Block, kernel: nacre_sys::Thread) -> Thread {
        block.set_quick(GETTID, number);
        block.sender.store(0, Ordering::Relaxed);
        Thread {
            number,
            block,
            kernel,
            mask: 0,
            saved_mask: None,
            waits_for: 0,
            pending: Pending::new(),
            alternate: [0; 2],
            alternate_flags: 0,
            clear_number: 0,
            robust: 0,
            name: [0; 16],
            fs_base: 0,
            sleeping: false,
            awaits: None,
            awaits_several: Default::default(),
            awaits_pipe: false,
            quiet: 0,
            knows_quiet: false,
            knows_board: false,
            awaits_page: None,
            late: Late::default(),
            trap: [0; 2],
            answer: (0, 0),
            processors: 0,
            deadline: None,
            used_before: used_by(kernel),
        }
    }
}

impl Thread {
    /// Resets the state that belongs to the old program's memory, for an exec.
    pub fn renew(&mut self) {
        let fresh = Thread::new(self.number, self.block, self.kernel);
        *self = Thread { mask: self.mask, name: self.name, processors: self.processors, used_before: self.used_before, ..fresh };
    }

    /// Nanoseconds of processors that it has used.
    pub fn used(&self) -> u64 {
        used_by(self.kernel).saturating_sub(self.used_before)
    }

    /// Gives it another number.
    pub fn set_number(&mut self, number: u64) {
        self.number = number;
        self.block.set_quick(GETTID, number);
    }
}

/// Nanoseconds of processors; one that is not there any more tells nothing.
pub fn used_by(kernel: nacre_sys::Thread) -> u64 {
    kernel.time().unwrap_or(0)
}
