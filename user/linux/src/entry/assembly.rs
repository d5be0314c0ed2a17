//! The transitions between the program and the library.
//!
//! | register | program's `syscall` | at `foreign_entry` | back in the program |
//! | --- | --- | --- | --- |
//! | `rax` | number | number << 48, return address | result |
//! | `rcx` | any | any | return address |
//! | `r11` | any | flags | flags |
//! | `rdi rsi rdx r10 r8 r9` | arguments | the same | the same |
//! | `rsp` | program's stack | the same | the same |
//! | others | | the same | the same |
//!
//! Calls that a stub makes ([`sites`](crate::operations::call_patching)) come with the same
//! registers, but that the flags are where they are, and not in `r11`.
//!
//! The library runs on a stack of its own, below the block at `gs`. What a thread does in it is
//! undone by nobody: whoever stops a thread to give it a signal sees from its instruction where it
//! is ([`place`]), and either lets it enter at `signal_entry`, or leaves the signal to the way out,
//! which looks at `attention`. The library is compiled without floating point, so that the
//! registers of the FPU stay the program's.

use crate::abi::errno::{self, ENOSYS};
use crate::entry::call_table;
use crate::entry::deliver_signals;
use crate::entry::faults;
use crate::operations::call_patching;
use crate::operations::grow_stack;
use crate::process::lock::with_process;
use crate::raw::debugger;
use crate::raw::thread_block::{Block, ELSEWHERE, EVERY, QUICK};
use core::arch::naked_asm;
use core::mem::offset_of;
use core::sync::atomic::Ordering;
use nacre_abi::call::FOREIGN_NUMBER_SHIFT;
use nacre_nest::library::{self, ENTRIES_MAGIC, SCRATCH};
use nacre_nest::plan::REFLECTED;
pub use crate::abi::registers::Frame;

/// Handles a system call. The entry calls it with the saved registers, and puts its result into the
/// program's `rax`.
extern "C" fn dispatch(frame: &mut Frame, block: &'static Block) -> u64 {
    let number = frame.take_number();
    block.number.store(number as u32, Ordering::Relaxed);
    let index = block.index.load(Ordering::Relaxed) as usize;
    let result = with_process(index, |process| {
        if process.growth.is_below(frame.stack) {
            grow_stack::grow_stack(process, frame.stack);
        }
        call_table::call(process, number, frame)
    });
    result.unwrap_or_else(|| errno::negated(ENOSYS))
}

/// Handles one of many calls that come through the kernel, and looks at its call site first.
extern "C" fn sampled(frame: &mut Frame, block: &'static Block) -> u64 {
    block.countdown.store(EVERY as i32, Ordering::Relaxed);
    let index = block.index.load(Ordering::Relaxed) as usize;
    let (number, next) = frame.number_and_next();
    let _ = with_process(index, |process| call_patching::shown(process, block, number, next));
    dispatch(frame, block)
}

/// Delivers signals before a call with this result returns. The way out calls it if there is work,
/// and makes the frame whole.
extern "C" fn attend(frame: &mut Frame, block: &'static Block, result: u64) {
    let number = frame.rax;
    let whole = block.whole.swap(0, Ordering::Relaxed) != 0;
    if !whole {
        frame.complete(result);
    }
    let index = block.index.load(Ordering::Relaxed) as usize;
    let _ = with_process(index, |process| deliver_signals::after_call(process, frame, if whole { None } else { Some(number) }));
}

/// Delivers signals with a frame that is whole.
extern "C" fn attend_again(frame: &mut Frame, block: &'static Block) {
    let index = block.index.load(Ordering::Relaxed) as usize;
    let _ = with_process(index, |process| deliver_signals::deliver(process, frame));
}

/// Handles a page fault that the manager leaves to the library.
extern "C" fn faulted(frame: &mut Frame, block: &'static Block) {
    let index = block.index.load(Ordering::Relaxed) as usize;
    let _ = with_process(index, |process| faults::faulted(process, frame));
}

/// Pushes the registers of a [`Frame`] below `next`, of which `rax`, `rcx` and `r11` are what they
/// are now.
macro_rules! push_rest {
    () => {
        "push r9; push r8; push r10; push rdx; push rsi; push rdi; push r11; push rcx; push rax; push r15; push r14; push r13; push r12; push rbp; push rbx"
    };
}

/// Pops the registers of a whole [`Frame`] below `next`.
macro_rules! pop_rest {
    () => {
        "pop rbx; pop rbp; pop r12; pop r13; pop r14; pop r15; pop rax; pop rcx; pop r11; pop rdi; pop rsi; pop rdx; pop r10; pop r8; pop r9"
    };
}

/// The list that debuggers look for, `nacre_nest::library::ENTRIES`, and the way in for faults.
macro_rules! before_entry {
    () => {
        ".p2align 4; .long 0x4e616569, nacre_look - nacre_foreign_entry, nacre_site_quick - nacre_foreign_entry; .long nacre_site_quick_next - nacre_foreign_entry, nacre_site_call - nacre_foreign_entry; .long nacre_site_call_next - nacre_foreign_entry, nacre_leave_whole - nacre_foreign_entry, nacre_signal_entry - nacre_foreign_entry; .long nacre_gate - nacre_foreign_entry, nacre_gate_next - nacre_foreign_entry; .long {stopping} - nacre_foreign_entry, nacre_changes - nacre_foreign_entry, nacre_changes_next - nacre_foreign_entry; .long {changing} - nacre_foreign_entry, {landing} - nacre_foreign_entry, 0; .p2align 4; jmp 6f; .p2align 4"
    };
}
const _: () = assert!(ENTRIES_MAGIC == 0x4e61_6569);

/// Entry points at fixed distances.
///
/// A thread continues [`REFLECTED`] bytes before the place where system calls continue, after a
/// fault that the manager leaves to the library. A thread that was stopped in the program continues
/// at `nacre_signal_entry`, with all its registers but the instruction pointer, which is in
/// `resume`.
#[unsafe(naked)]
extern "C" fn entries() {
    naked_asm!(
        ".globl nacre_quick_start, nacre_quick_end, nacre_leave_start, nacre_leave_end, nacre_signal_entry, nacre_leave_whole; .globl nacre_look, nacre_enter, nacre_foreign_entry",
        // An answer that is known: without a frame, and without the lock.
        before_entry!(),
        "nacre_foreign_entry: nacre_quick_start: dec dword ptr gs:[{countdown}]; js nacre_sampled",
        "nacre_look: mov rcx, rax; shr rcx, {number}; cmp ecx, {quick_count}; jae 2f",
        "mov ecx, gs:[{quick} + rcx * 4]; test ecx, ecx; jns 7f",
        "cmp ecx, {on_elsewhere}; jne 2f; mov rcx, gs:[{elsewhere}]; mov ecx, [rcx]",
        "7: shl rax, 16; shr rax, 16",
        "mov gs:[{scratch}], rsp; mov rsp, gs:[{stack_top}]; push r11; popfq; mov rsp, gs:[{scratch}]",
        "xchg rax, rcx; jmp rcx",
        "nacre_quick_end:",
        // Any call: a frame, and the library.
        "2: mov rcx, rsp; mov rsp, gs:[{stack_top}]; push rcx; push r11; push rax",
        "nacre_enter:",
        push_rest!(),
        "cld; mov rdi, rsp; mov rsi, gs:[{stack_top}]; call {dispatch}",
        "nacre_leave_start: cmp dword ptr gs:[{attention}], 0; jne 3f",
        "add rsp, 72; pop rdi; pop rsi; pop rdx; pop r10; pop r8; pop r9; pop rcx",
        "mov r11, [rsp]; popfq; pop rsp; jmp rcx",
        // A signal for a thread that was in the program.
        "nacre_signal_entry: mov gs:[{scratch}], rsp; mov rsp, gs:[{stack_top}]",
        "push qword ptr gs:[{scratch}]; pushfq; push qword ptr gs:[{resume}]",
        push_rest!(),
        "cld; jmp 4f",
        // A fault in the program that the manager leaves to the library: the instruction pointer is
        // where the base of `fs` was.
        "6: mov gs:[{scratch}], rsp; mov rsp, gs:[{stack_top}]",
        "push qword ptr gs:[{scratch}]; pushfq; push qword ptr gs:[{resume}]",
        push_rest!(),
        "cld; mov rdi, rsp; mov rsi, gs:[{stack_top}]; call {faulted}; jmp 5f",
        // The way out with a look at signals: all registers are as the frame has them.
        "3: mov rdi, rsp; mov rsi, gs:[{stack_top}]; mov rdx, rax; call {attend}; jmp 5f",
        "4: mov rdi, rsp; mov rsi, gs:[{stack_top}]; call {attend_again}",
        "5: nacre_leave_whole: cmp dword ptr gs:[{attention}], 0; jne 4b",
        "mov rax, [rsp + {stack}]; mov gs:[{scratch}], rax; mov rax, [rsp + {next}]; mov gs:[{jump}], rax",
        pop_rest!(),
        "lea rsp, [rsp + 8]; popfq; mov rsp, gs:[{scratch}]; jmp qword ptr gs:[{jump}]",
        "nacre_leave_end:",
        number = const FOREIGN_NUMBER_SHIFT,
        quick_count = const QUICK,
        quick = const offset_of!(Block, quick),
        on_elsewhere = const ELSEWHERE,
        elsewhere = const offset_of!(Block, elsewhere),
        scratch = const offset_of!(Block, scratch),
        stack_top = const offset_of!(Block, stack_top),
        attention = const offset_of!(Block, attention),
        resume = const offset_of!(Block, resume),
        jump = const offset_of!(Block, jump),
        stack = const offset_of!(Frame, stack),
        next = const offset_of!(Frame, next),
        countdown = const offset_of!(Block, countdown),
        dispatch = sym dispatch,
        attend = sym attend,
        attend_again = sym attend_again,
        faulted = sym faulted,
        stopping = sym debugger::SHARED, changing = sym debugger::CHANGING, landing = sym nacre_proto::landing::REASONS,
    )
}

/// Gate of signals: gives back the signal, unless a debugger stops the thread here and gives back
/// another. The debugger may change the frame.
#[unsafe(naked)]
pub extern "C" fn gate(signal: u64, info: &[u64; 16], handler: u64, frame: &mut Frame, is_made_again: u64) -> u64 {
    naked_asm!(".globl nacre_gate, nacre_gate_next", "nacre_gate: mov rax, rdi", "nacre_gate_next: ret")
}

/// Entry points of calls that do not come through the kernel, with their flags in place, and of
/// those whose call site is looked at.
#[unsafe(naked)]
extern "C" fn other_entries() {
    naked_asm!(
        ".globl nacre_site_call, nacre_site_quick, nacre_site_quick_end, nacre_sampled, nacre_site_quick_next, nacre_site_call_next",
        "nacre_site_quick: mov gs:[{scratch}], rsp; nacre_site_quick_next: mov rsp, gs:[{stack_top}]; pushfq; pop r11; mov rsp, gs:[{scratch}]; jmp nacre_look",
        "nacre_site_quick_end:",
        "nacre_site_call: mov rcx, rsp; nacre_site_call_next: mov rsp, gs:[{stack_top}]; push rcx; pushfq; push rax; jmp nacre_enter",
        "nacre_sampled: mov rcx, rsp; mov rsp, gs:[{stack_top}]; push rcx; push r11; push rax",
        push_rest!(),
        "cld; mov rdi, rsp; mov rsi, gs:[{stack_top}]; call {sampled}; jmp nacre_leave_start",
        scratch = const offset_of!(Block, scratch),
        stack_top = const offset_of!(Block, stack_top),
        sampled = sym sampled,
    )
}

/// Enters the program with these registers.
pub fn enter(frame: &'static Frame) -> ! {
    // SAFETY: the frame is read before the stack is left, and `gs` leads to this thread's block: it
    // is on its way into the program.
    unsafe { enter_with(frame) }
}

/// Puts a whole frame onto the library's stack and leaves through it.
#[unsafe(naked)]
unsafe extern "C" fn enter_with(frame: &Frame) -> ! {
    naked_asm!(
        "mov rsi, rdi",
        "mov rdi, gs:[{stack_top}]",
        "sub rdi, {size}",
        "mov rsp, rdi",
        "mov ecx, {size} / 8",
        "cld",
        "rep movsq",
        "jmp nacre_leave_whole",
        stack_top = const offset_of!(Block, stack_top),
        size = const size_of::<Frame>(),
    )
}

/// Names the entries, so that their labels are there wherever `raw/thread_position.rs` is, in tests
/// of the library too.
#[used]
static ENTRIES: [extern "C" fn(); 2] = [entries, other_entries];
#[used]
static GATE: extern "C" fn(u64, &[u64; 16], u64, &mut Frame, u64) -> u64 = gate;
/// The way in that begins before the place where system calls continue ends at that place.
const _: () = assert!(REFLECTED == 16);
/// Debuggers find the entries before that way in, and write what the entry writes first.
const _: () = assert!(library::ENTRIES == REFLECTED + 64 && SCRATCH == offset_of!(Block, scratch) as u64);
const _: () = assert!(library::INJECTED == offset_of!(Block, injected) as u64 && library::RESUME == offset_of!(Block, resume) as u64);
const _: () = assert!(library::ATTENTION == offset_of!(Block, attention) as u64 && library::PARKED == offset_of!(Block, parked) as u64 && library::THREAD_NUMBER == offset_of!(Block, quick) as u64 + 4 * 186);

/// Sets up what the library stands on and prepares the process; the program's entry point.
#[cfg(target_os = "none")]
extern "C" fn start(stack: *const u64) -> u64 {
    // SAFETY: the stack pointer with which the parent started the thread; what lies there stays, as
    // far as the program leaves it alone.
    let arguments = unsafe { nacre_rt::start::prepare(stack) };
    crate::entry::start::start(&arguments)
}

/// Entry point of a thread that the manager has made to ask the process something.
#[cfg(target_os = "none")]
extern "C" fn visited() -> ! {
    crate::entry::query_thread::serve()
}

/// The library's first instruction, `_start`, and [`VISITED`](nacre_nest::plan::VISITED) bytes
/// before it that of visitors. The stack is the program's, as the parent laid it out; the program
/// is entered with it unchanged and `rdx` zero (no function to call at exit).
#[cfg(target_os = "none")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
extern "C" fn nacre_starts() -> ! {
    naked_asm!(
        ".globl _start",
        ".p2align 4; jmp 2f; .p2align 4",
        "_start:",
        "mov rbx, rsp",
        "mov rdi, rsp",
        "xor ebp, ebp",
        "lea rsp, [rip + {first} + {size}]",
        "call {start}",
        "mov rsp, rbx",
        "xor ebx, ebx",
        "xor edx, edx",
        "xor edi, edi",
        "xor esi, esi",
        "jmp rax",
        "2: lea rsp, [rip + {visitor} + {visitor_size}]",
        "xor ebp, ebp",
        "call {visited}",
        "ud2",
        first = sym crate::raw::thread_area::FIRST,
        size = const crate::raw::thread_area::STACK_SIZE,
        start = sym start,
        visitor = sym crate::entry::query_thread::STACK,
        visitor_size = const size_of::<crate::entry::query_thread::Stack>(),
        visited = sym visited,
    )
}
