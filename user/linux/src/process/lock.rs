//! The process of this program, and the lock that guards it.

use crate::abi::errno::Errno;
use crate::process::Process;
use crate::raw::debugger;
use crate::raw::global::Global;
use crate::raw::thread_block::Block;
use core::hint::black_box;
use core::sync::atomic::Ordering;

static PROCESS: Global<Process> = Global::new();

/// Keeps the process's state for the calls to come, once `complete` has made it what it has to be.
#[inline(always)]
pub fn set_process(process: Process, complete: impl FnOnce(&mut Process) -> Result<(), Errno>) -> Result<(), Errno> {
    PROCESS.set(process, |process| {
        complete(process)?;
        process.lock = Some(PROCESS.lock());
        Ok(())
    })
}

/// Gives the library's lock up while `wait` runs, which may take long. Nothing of the process may
/// be used meanwhile but what `wait` brought with it.
#[inline]
pub fn unlocked<R>(process: &mut Process, wait: impl FnOnce() -> R) -> R {
    let Some(lock) = process.lock else { return wait() };
    let caller = process.caller;
    // Other threads change the process through the static meanwhile: nothing of it may be kept in
    // registers.
    black_box(&mut *process);
    debugger::changes_end();
    lock.unlock();
    let result = wait();
    lock.lock();
    black_box(&mut *process).caller = caller;
    result
}

/// Runs `work` with the process, as thread `index`.
pub fn with_process<R>(index: usize, work: impl FnOnce(&mut Process) -> R) -> Option<R> {
    PROCESS.with(|process| {
        process.caller = index;
        let result = work(process);
        debugger::changes_end();
        result
    })
}

/// The end of a thread: it holds the lock, which it frees, and waits for ever, or until it is used
/// again.
pub fn park(block: &'static Block) -> ! {
    debugger::changes_end();
    PROCESS.lock().unlock();
    block.parked.store(1, Ordering::Release);
    loop {
        block.wait(block.seen(), nacre_sys::FOREVER);
    }
}
