//! Between the entry code and the core: takes the locks, calls the core, lets go.

use super::context;
use super::cpu::{self, Cpu};
use super::latency::{self, EntryKind};
use super::machine::X86;
use super::vectors::{FLUSH_VECTOR, KICK_VECTOR, LINE_VECTOR, SPURIOUS_VECTOR, TIMER_VECTOR};
use super::ways_out;
use super::{apic, clock, fpu, interrupts, io, locks, tlb};
use nacre_core::{Kernel, Next};
use core::arch::asm;
use nacre_abi::fault::{ERROR_FETCH, ERROR_WRITE};
use nacre_abi::{Call, Rights, USER_END};
use nacre_core::machine::INTERRUPT_LINES;

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

const DIVIDE_TO_SIMD: u64 = 31;
const DEBUG: u64 = 1;
const NO_FPU: u64 = 7;
const DOUBLE_FAULT: u64 = 8;
const PAGE_FAULT: u64 = 14;
const MACHINE_CHECK: u64 = 18;
const ERROR_RESERVED: u64 = 8;

/// Goes to the thread that the core has set.
#[inline(always)]
fn leave() -> ! {
    // SAFETY: the CPU's `leave` takes any stack and needs the CPU's thread, which the core has set;
    // nothing of the caller is needed any more.
    unsafe { asm!("jmp qword ptr gs:[{}]", const Cpu::LEAVE, options(noreturn)) }
}

/// Calls the core under all locks, and goes where it says.
#[inline(always)]
fn locked(door: EntryKind, call: impl FnOnce(&Kernel<X86>) -> Next) -> ! {
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

#[cold]
fn idle() -> ! {
    context::settle(cpu::this());
    locks::release();
    wait()
}

/// Waits for the next interrupt.
fn wait() -> ! {
    // SAFETY: `idle` takes any stack; nothing of this function is needed any more.
    unsafe { asm!("jmp {}", sym ways_out::idle, options(noreturn)) }
}

/// The short course of a call, if it has one and that is the one to take.
#[inline(always)]
fn short<const NUMBER: u64>() {
    if locks::enter() {
        let done = KERNEL.0.short_call(NUMBER);
        locks::leave();
        if done {
            leave()
        }
    }
}

/// A system call of ours. Between its short course and the other anything may happen to the caller
/// but that it runs: it is as if it had come only then.
pub extern "C" fn system_call_entered(number: u64) -> ! {
    const CALL: u64 = Call::IpcCall as u64;
    const REPLY_RECEIVE: u64 = Call::IpcReplyReceive as u64;
    const NOTIFY: u64 = Call::PortNotify as u64;
    match number {
        CALL => short::<CALL>(),
        REPLY_RECEIVE => short::<REPLY_RECEIVE>(),
        NOTIFY => short::<NOTIFY>(),
        _ => {}
    }
    locked(EntryKind::Call(number), |kernel| kernel.system_call(number))
}

/// An exception or an interrupt from user mode.
pub extern "C" fn interrupt_entered(vector: u64, error: u64) -> ! {
    if requested(vector) || vector == PAGE_FAULT && short_fault(error) {
        leave()
    }
    locked(EntryKind::Vector(vector), |kernel| match vector {
        PAGE_FAULT => page_fault(kernel, error),
        NO_FPU => {
            fpu::trapped(cpu::this());
            Next::User
        }
        DOUBLE_FAULT | MACHINE_CHECK => panic!("the machine reports exception {vector}"),
        0..=DIVIDE_TO_SIMD => exception(kernel, vector, error),
        _ => interrupt(kernel, vector as usize, Next::User),
    })
}

/// An interrupt while this CPU was idle.
pub extern "C" fn interrupt_entered_idle(vector: u64) -> ! {
    if requested(vector) {
        wait()
    }
    locked(EntryKind::Vector(vector), |kernel| interrupt(kernel, vector as usize, Next::Idle))
}

/// Answers the CPU that has all locks, if that is what the interrupt is for. It waits for the
/// answer, so none is taken here.
fn requested(vector: u64) -> bool {
    let is_request = vector == FLUSH_VECTOR as u64;
    if is_request {
        tlb::serve();
        apic::end_of_interrupt();
    }
    is_request
}

/// Enters the core on a secondary CPU that has been made ready.
pub extern "C" fn cpu_entered() -> ! {
    locked(EntryKind::Vector(0), |kernel| kernel.cpu_start())
}

fn page_fault(kernel: &Kernel<X86>, error: u64) -> Next {
    let address = io::cr2_read();
    assert!(error & ERROR_RESERVED == 0, "a page table is damaged");
    if address >= USER_END {
        return kernel.exception(PAGE_FAULT, error, address);
    }
    kernel.page_fault(address, needed(error), error)
}

/// The rights that an access needs whose fault has this error code.
fn needed(error: u64) -> Rights {
    match error {
        error if error & ERROR_FETCH != 0 => Rights::EXECUTE,
        error if error & ERROR_WRITE != 0 => Rights::WRITE,
        _ => Rights::READ,
    }
}

/// Resolves a page fault beside other CPUs. False: it is one for `page_fault`, as if it had come
/// only then.
fn short_fault(error: u64) -> bool {
    let address = io::cr2_read();
    if address >= USER_END || error & ERROR_RESERVED != 0 || !locks::enter_beside() {
        return false;
    }
    let done = KERNEL.0.short_fault(address, needed(error));
    locks::leave();
    done
}

fn exception(kernel: &Kernel<X86>, vector: u64, error: u64) -> Next {
    if vector == DEBUG {
        io::debug_status_clear();
    }
    kernel.exception(vector, error, 0)
}

/// `same`: what this CPU did before.
fn interrupt(kernel: &Kernel<X86>, vector: usize, same: Next) -> Next {
    const LAST_LINE: usize = LINE_VECTOR + INTERRUPT_LINES as usize - 1;
    match vector {
        LINE_VECTOR..=LAST_LINE => {
            let line = (vector - LINE_VECTOR) as u32;
            if interrupts::arrived(line) { kernel.interrupt(line) } else { same }
        }
        TIMER_VECTOR => {
            apic::end_of_interrupt();
            if clock::fired() { kernel.timer() } else { same }
        }
        KICK_VECTOR => {
            apic::end_of_interrupt();
            kernel.kicked()
        }
        SPURIOUS_VECTOR => same,
        // Left over from the time before the kernel, or an old interrupt controller's spurious one.
        _ => same,
    }
}
