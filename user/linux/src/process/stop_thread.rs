//! Makes threads look for signals, wherever they are.

use crate::process::Process;
use crate::raw::debugger;
use crate::raw::thread_block::Block;
use crate::raw::thread_position::{Place, place, signal_entry};
use core::sync::atomic::Ordering;
use nacre_abi::state::ThreadState;
use nacre_sys::Thread as KernelThread;

/// Number of times that a thread on its way in or out is given time to pass.
const PATIENCE: u32 = 10_000;

impl Process {
    /// Makes a thread look for signals: wherever it is.
    pub fn alert(&mut self, index: usize) {
        let caller = self.caller;
        let Some(thread) = self.threads.get(index) else { return };
        // A thread that a debugger lets make one instruction looks behind it.
        let is_held = debugger::is_there() && thread.block.has_attention();
        thread.block.set_attention(true);
        if thread.sleeping {
            thread.block.wake();
        } else if index != caller && !is_held {
            disturb(thread.kernel, thread.block);
        }
    }
}

/// Brings a thread that runs, in the program or in the library, to look at its `attention`.
fn disturb(kernel: KernelThread, block: &'static Block) {
    for turn in 0..PATIENCE {
        let own = debugger::Turn::take();
        if debugger::is_there() && kernel.get_state().is_ok() {
            // The debugger has stopped it, and makes it look when it goes on.
            return;
        }
        // A thread that cannot be stopped or read is one that ends.
        let Ok(state) = kernel.stop().and_then(|()| kernel.get_state()) else { return };
        let passes = match place(state.rip) {
            // The agent has its exception, or will: from there it goes on in the library, if there
            // is anything to look at.
            Place::Program if state.fault != 0 => false,
            Place::Program => enter_library(kernel, block, state),
            Place::Waiting(end) => end_wait(kernel, end, turn + 1 == PATIENCE),
            Place::Passing => true,
            Place::Library => false,
        };
        if kernel.start().is_err() || !passes {
            return;
        }
        drop(own);
        KernelThread::yield_now();
    }
}

/// Converts a result of `thread_get_state` into an argument of `thread_set_state`.
fn settable(state: ThreadState) -> ThreadState {
    ThreadState { flags: ThreadState::STOPPED | state.flags & ThreadState::FPU_USED, fpu_size: 0, scheduler_word: 0, ..state }
}

/// Makes a stopped thread enter the library. Returns true if the caller must try again.
fn enter_library(kernel: KernelThread, block: &'static Block, state: ThreadState) -> bool {
    block.resume.store(state.rip, Ordering::Relaxed);
    kernel.set_state(&ThreadState { rip: signal_entry(), ..settable(state) }).is_err()
}

/// A wait of a thread that is stopped in the window ends as if it had been interrupted; whether it
/// is to be tried again. What the thread waits for may have been done already, and the answer be on
/// its way through others: then it comes first. Who never finishes an answer does not keep the
/// signal away for ever.
fn end_wait(kernel: KernelThread, end: u64, is_last: bool) -> bool {
    let ended = if is_last { kernel.interrupt() } else { kernel.interrupt_unserved() };
    let state = ended.and_then(|()| kernel.get_state());
    match state.map(|state| (place(state.rip), state)) {
        // Nobody owes it an answer, and it has not asked for one yet.
        Ok((Place::Waiting(_), state)) => kernel.set_state(&ThreadState { rip: end, ..settable(state) }).is_err(),
        Ok(_) => false,
        Err(_) => true,
    }
}
