//! The kernel itself, and how a CPU goes into it and out again: takes the locks, calls the core,
//! lets go.

use super::context;
use super::cpu::{self, Cpu};
use super::latency::{self, EntryKind};
use super::machine::X86;
use super::ways_out;
use super::{direct_map, locks};
use core::arch::asm;
use nacre_abi::Rights;
use nacre_abi::fault::{ERROR_FETCH, ERROR_WRITE};
use nacre_core::machine::thread_page::{self, register};
use nacre_core::machine::GuestEntry;
use nacre_core::{Kernel, Next};

struct Shared(Kernel<X86>);

// SAFETY: everything inside is reached under all locks (by the first CPU alone before the others
// run), but for the short courses of calls. Those have one CPU's lock; what they write is that
// CPU's, or is reached by atomic instructions, or is claimed by one: see `fast` in the core, and
// `fill_beside` for faults.
unsafe impl Sync for Shared {}

static KERNEL: Shared = Shared(Kernel::new(X86));

/// The kernel, for the first CPU to start.
pub fn kernel() -> &'static Kernel<X86> {
    &KERNEL.0
}

/// Goes to the thread that the core has set.
#[inline(always)]
pub fn leave() -> ! {
    // SAFETY: the CPU's `leave` takes any stack and needs the CPU's thread, which the core has set;
    // nothing of the caller is needed any more.
    unsafe { asm!("jmp qword ptr gs:[{}]", const Cpu::LEAVE, options(noreturn)) }
}

/// Calls the core under all locks, and goes where it says.
#[inline(always)]
pub fn locked(door: EntryKind, call: impl FnOnce(&Kernel<X86>) -> Next) -> ! {
    locks::acquire();
    let begun = latency::begin();
    let next = call(&KERNEL.0);
    latency::end(door, begun);
    match next {
        Next::User => {
            locks::release();
            leave()
        }
        Next::Idle => idle(),
    }
}

/// Calls the core under all locks, for a thread that may enter a guest then: which.
pub fn under_locks(door: EntryKind, call: impl FnOnce(&Kernel<X86>) -> (Next, Option<GuestEntry>)) -> Option<GuestEntry> {
    locks::acquire();
    let begun = latency::begin();
    let (next, guest) = call(&KERNEL.0);
    latency::end(door, begun);
    if next == Next::Idle {
        idle();
    }
    locks::release();
    guest
}

/// Goes to this CPU's thread, which is past the call that it stands at.
pub fn pass_call() -> ! {
    const CALL_INSTRUCTION: u64 = 2;
    if let Some(thread) = cpu::this().live_thread() {
        let words = &direct_map::thread_words(thread)[thread_page::REGISTERS..];
        words[register::STATUS].set(0);
        words[register::PROGRAM_COUNTER].set(words[register::PROGRAM_COUNTER].get() + CALL_INSTRUCTION);
    }
    leave()
}

#[cold]
fn idle() -> ! {
    context::settle(cpu::this());
    locks::release();
    wait()
}

/// Waits for the next interrupt.
pub fn wait() -> ! {
    // SAFETY: `idle` takes any stack; nothing of this function is needed any more.
    unsafe { asm!("jmp {}", sym ways_out::idle, options(noreturn)) }
}

/// The rights that an access needs whose fault has this error code.
pub fn needed(error: u64) -> Rights {
    match error {
        error if error & ERROR_FETCH != 0 => Rights::EXECUTE,
        error if error & ERROR_WRITE != 0 => Rights::WRITE,
        _ => Rights::READ,
    }
}
