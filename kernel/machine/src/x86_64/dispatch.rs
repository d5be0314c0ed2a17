//! Between the entry code and the core: takes the locks, calls the core, lets go.

use super::cpu;
use super::doors::{kernel, leave, locked, needed, wait};
use super::latency::EntryKind;
use super::machine::X86;
use super::vectors::{FLUSH_VECTOR, KICK_VECTOR, LINE_VECTOR, SPURIOUS_VECTOR, TIMER_VECTOR};
use super::{apic, clock, fpu, guest, interrupts, io, locks, tlb};
use nacre_core::{Kernel, Next};
use nacre_abi::{Call, USER_END};
use nacre_core::machine::INTERRUPT_LINES;

const DIVIDE_TO_SIMD: u64 = 31;
const DEBUG: u64 = 1;
const NO_FPU: u64 = 7;
const DOUBLE_FAULT: u64 = 8;
const PAGE_FAULT: u64 = 14;
const MACHINE_CHECK: u64 = 18;
const ERROR_RESERVED: u64 = 8;

/// The short course of a call, if it has one and that is the one to take.
#[inline(always)]
fn short<const NUMBER: u64>() {
    if locks::enter() {
        let done = kernel().short_call(NUMBER);
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
    const ENTER: u64 = Call::ThreadEnter as u64;
    match number {
        ENTER => guest::enter::entered(),
        CALL => short::<CALL>(),
        REPLY_RECEIVE => short::<REPLY_RECEIVE>(),
        NOTIFY => short::<NOTIFY>(),
        _ => {}
    }
    locked(EntryKind::Call(number), |kernel| kernel.system_call(number))
}

/// An exception or an interrupt from user mode; `INNER`: of a frame of kind USER.
pub extern "C" fn interrupt_entered<const INNER: bool>(vector: u64, error: u64) -> ! {
    if INNER {
        guest::user::interrupted(vector, error);
        interrupt_entered::<false>(vector, error)
    }
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

/// Resolves a page fault beside other CPUs. False: it is one for `page_fault`, as if it had come
/// only then.
fn short_fault(error: u64) -> bool {
    let address = io::cr2_read();
    if address >= USER_END || error & ERROR_RESERVED != 0 || !locks::enter_beside() {
        return false;
    }
    let done = kernel().short_fault(address, needed(error));
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
