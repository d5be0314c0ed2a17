//! The part that a debugger plays in the delivery of signals, and in changes of the program's
//! mappings while it watches memory. It writes to the library's memory, and puts breakpoints at the
//! gates (`nacre_nest::library`).

use crate::abi::signal_info::bit;
use core::arch::naked_asm;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use nacre_proto::landing;

/// Signals that pass the gate before they are delivered. 0: no debugger is there.
pub static STOPPING: AtomicU64 = AtomicU64::new(0);

/// Returns true if a debugger wants to see a signal.
#[inline]
pub fn sees(signal: u64) -> bool {
    STOPPING.load(Ordering::Relaxed) & bit(signal) != 0
}

/// Returns true if a debugger wants to see any signal.
pub fn is_there() -> bool {
    STOPPING.load(Ordering::Relaxed) != 0
}

/// 1 from the first change of the program's mappings on until the library's lock is given up.
pub static CHANGING: AtomicU32 = AtomicU32::new(0);

/// Events at the gate of changes.
#[repr(u64)]
enum Event {
    /// Mappings of the program are about to change: nothing may stand in front of its memory.
    Begins = 0,
    /// Mappings stay as they are.
    Ends = 1,
    /// A thread was made, which does not run yet.
    Thread = 2,
}

/// Gate of changes, where a debugger stops the thread.
#[unsafe(naked)]
extern "C" fn changes(event: u64) {
    naked_asm!(".globl nacre_changes, nacre_changes_next", "nacre_changes: mov rax, rdi", "nacre_changes_next: ret")
}

/// Names the gate, so that its labels are there.
#[used]
static GATE: extern "C" fn(u64) = changes;

/// Says that mappings of the program are about to change. Called with the library's lock.
pub fn change_begins() {
    if CHANGING.load(Ordering::Relaxed) == 0 {
        CHANGING.store(1, Ordering::SeqCst);
        tell(Event::Begins);
    }
}

/// Says that mappings stay as they are. Called before the library's lock is given up.
#[inline(always)]
pub fn changes_end() {
    if CHANGING.load(Ordering::Relaxed) != 0 {
        CHANGING.store(0, Ordering::SeqCst);
        tell(Event::Ends);
    }
}

/// Says that a thread was made.
pub fn thread_is_made() {
    tell(Event::Thread);
}

fn tell(event: Event) {
    if landing::is_watched() {
        changes(event as u64);
    }
}
