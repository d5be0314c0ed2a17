//! The part that a debugger plays in the delivery of signals, and in changes of the program's
//! mappings while it watches memory. It writes to the library's memory, and puts breakpoints at the
//! gates (`nacre_nest::library`).

use crate::abi::signal_info::bit;
use core::arch::naked_asm;
use core::mem::offset_of;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use nacre_nest::library::{DEBUGGER_BUSY, TURN_TAKEN};
use nacre_proto::landing;
use nacre_sys::Thread;

/// Words that a debugger reads and writes, which knows how far apart they lie.
#[repr(C)]
pub struct Shared {
    /// Signals that pass the gate before they are delivered. 0: no debugger is there.
    stopping: AtomicU64,
    /// 1 while a debugger stops threads, or lets them go on.
    is_busy: AtomicU32,
    /// 1 while a thread of the library has the [`Turn`].
    is_taken: AtomicU32,
}

/// Words that a debugger reads and writes.
pub static SHARED: Shared = Shared { stopping: AtomicU64::new(0), is_busy: AtomicU32::new(0), is_taken: AtomicU32::new(0) };

/// Number of sleeps, and nanoseconds of each, after which a debugger that is busy has gone.
const PATIENCE: u32 = 50_000;
const PAUSE: u64 = 100_000;

/// Returns true if a debugger wants to see a signal.
#[inline]
pub fn sees(signal: u64) -> bool {
    SHARED.stopping.load(Ordering::Relaxed) & bit(signal) != 0
}

/// Returns true if a debugger wants to see any signal.
pub fn is_there() -> bool {
    SHARED.stopping.load(Ordering::Relaxed) != 0
}

/// Right to stop other threads of the process and to let them go on, with the library's lock. It
/// excludes a debugger: of two who stop one thread, either would start what the other holds. No
/// message is sent meanwhile, since the debugger may be its relay.
pub struct Turn(());

impl Turn {
    /// Waits until no debugger is busy.
    pub fn take() -> Turn {
        for _ in 0..PATIENCE {
            SHARED.is_taken.store(1, Ordering::SeqCst);
            if SHARED.is_busy.load(Ordering::SeqCst) == 0 {
                return Turn(());
            }
            SHARED.is_taken.store(0, Ordering::SeqCst);
            // A sleep that is cut off is a shorter one.
            let _ = Thread::sleep(PAUSE);
        }
        SHARED.is_busy.store(0, Ordering::SeqCst);
        SHARED.is_taken.store(1, Ordering::SeqCst);
        Turn(())
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        SHARED.is_taken.store(0, Ordering::SeqCst);
    }
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

const _: () = assert!(offset_of!(Shared, stopping) == 0 && offset_of!(Shared, is_busy) as u64 == DEBUGGER_BUSY && offset_of!(Shared, is_taken) as u64 == TURN_TAKEN);

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
