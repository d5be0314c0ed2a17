//! The ways into the kernel, and what all ways in and out do with registers: whole naked
//! transitions.
//! Between them runs the core, on this CPU's kernel stack, interrupts off. What they call
//! (`dispatch`)
//! does not return: it jumps to `leave` or `idle` of `ways_out`, which need nothing of the stack.
//!
//! **`system_call`**, from `syscall`:
//!
//! | register | on entry | on exit to the core | on exit to the user |
//! | --- | --- | --- | --- |
//! | `rax` | number of the call | (scratch) | as the thread's page says |
//! | `rcx`, `r11` | return address, flags | saved twice: as registers, and as `rip` and `rflags` | as the page says |
//! | `rsp` | the user's | this CPU's kernel stack | as the page says |
//! | `rdi` | the user's | call number counted from `CALL_BASE` | as the page says |
//! | others | the user's | saved, then unchanged | as the page says |
//! | `gs` base | the user's | this CPU's `Cpu` | the user's |
//!
//! Call 0 (`null`) and foreign calls never leave this file: `null` touches `rax` alone; a foreign
//! call leaves with `rax` = number << 48 | return
//! address, `rcx` = the thread's foreign entry, all else as it was (without an entry: `rax` =
//! `UnknownCall`).
//!
//! **`stubs`**, from exceptions and interrupts: in user mode every register goes to the thread's
//! page, the core gets the vector in `rdi` and the error code in `rsi`.
//! In kernel mode an interrupt can only come while the CPU idles: the stack is dropped and the core
//! called in the same way; an exception is a panic.
//!
//! A CPU that runs a frame of kind USER (`guest::user`) has another interrupt table, whose stubs
//! call that first, and another target of `syscall`; registers then go to no thread's page.
//!
//! **`leave`**, to the user: all from the thread's page; `sysret` when `rcx` and `r11` are what it
//! would make of them, else `iret`.
//!
//! **`non_maskable`** may come anywhere; it changes no register.
//!
//! **Isolation**: a processor that shows users what its tables map for the kernel alone (Meltdown)
//! runs them with roots whose kernel half has nothing but the section
//! `.text.entry`, the interrupt table and a flag, and of each CPU its [`Cpu`], with the entry
//! stack, and the interrupt stacks. There each way in loads the kernel's
//! root before it touches anything else, and each way out loads the user's behind its last access.
//! The kernel itself reaches nothing by a user's root.

use super::cpu::Cpu;
use super::dispatch;
use super::features;
use super::ways_out::{self, with_registers, word};
use core::arch::naked_asm;
use nacre_abi::call::{CALL_BASE, CALL_COUNT};
use nacre_core::machine::thread_page::register;

const STUB_SIZE: usize = 16;
/// Vectors for which the CPU pushes an error code.
const WITH_ERROR: u64 = 1 << 8 | 1 << 10 | 1 << 11 | 1 << 12 | 1 << 13 | 1 << 14 | 1 << 17 | 1 << 21 | 1 << 29 | 1 << 30;
const UNKNOWN_CALL: u32 = nacre_abi::Code::UnknownCall as u32;

/// Address of the stub of `vector`; `INNER`: for a CPU that runs a frame of kind USER.
pub fn stub<const INNER: bool>(vector: usize) -> u64 {
    let first = if features::get().isolates { stubs::<true, INNER> } else { stubs::<false, INNER> };
    // The function itself is aligned to less.
    (first as *const () as usize).next_multiple_of(STUB_SIZE) as u64 + (vector * STUB_SIZE) as u64
}

/// Entered by `syscall`. Interrupts, trap, direction and alignment flags are off.
#[unsafe(naked)]
#[unsafe(link_section = ".text.entry")]
pub extern "C" fn system_call<const ISOLATED: bool>() {
    naked_asm!(
        "sub rax, {base}",
        "cmp rax, {count}",
        "jb 2f",
        // A foreign call.
        "add rax, {base}",
        "cmp rax, 0xffff",
        "ja 4f",
        "3:",
        "shl rax, 48",
        "or rax, rcx",
        "swapgs",
        "mov rcx, gs:[{foreign}]",
        "swapgs",
        "jrcxz 5f",
        "sysretq",
        "4:",
        "mov eax, 0xffff",
        "jmp 3b",
        "5:",
        "mov rcx, rax",
        "shl rcx, 16",
        "shr rcx, 16",
        "mov eax, {unknown}",
        "sysretq",
        // One of ours; the first only measures what entering costs.
        "2:",
        "test eax, eax",
        "jnz {ours}",
        "sysretq",
        base = const CALL_BASE,
        count = const CALL_COUNT,
        foreign = const Cpu::FOREIGN_ENTRY,
        unknown = const UNKNOWN_CALL,
        ours = sym our_call::<ISOLATED>,
    )
}

/// Goes on where `system_call` ends: `rax` counts from `CALL_BASE`, everything else is as the user
/// left it.
#[unsafe(naked)]
#[unsafe(link_section = ".text.entry")]
extern "C" fn our_call<const ISOLATED: bool>() {
    naked_asm!(
        "swapgs",
        "mov gs:[{user_stack}], rsp",
        ".if {isolated}; mov rsp, gs:[{kernel_root}]; mov cr3, rsp; .endif",
        "mov rsp, gs:[{registers_end}]",
        // Flags and address, then the registers from the last to the first.
        "push r11; push rcx",
        "push r15; push r14; push r13; push r12; push r11; push r10; push r9; push r8",
        "push qword ptr gs:[{user_stack}]",
        "push rbp; push rdi; push rsi; push rdx; push rcx; push rbx",
        "mov edi, eax",
        "add rax, {base}",
        "push rax",
        "mov rsp, gs:[{kernel_stack}]",
        "call {entered}",
        "ud2",
        isolated = const ISOLATED as usize, kernel_root = const Cpu::KERNEL_ROOT,
        base = const CALL_BASE,
        user_stack = const Cpu::USER_STACK,
        registers_end = const Cpu::REGISTERS_END,
        kernel_stack = const Cpu::KERNEL_STACK,
        entered = sym dispatch::system_call_entered,
    )
}

/// One stub for each vector, [`STUB_SIZE`] bytes apart: pushes a 0 where the CPU pushes no error
/// code, then the vector.
#[unsafe(naked)]
#[unsafe(link_section = ".text.entry")]
extern "C" fn stubs<const ISOLATED: bool, const INNER: bool>() {
    naked_asm!(
        ".set vector, 0",
        ".rept 256",
        ".balign {size}",
        ".if (vector >= 32) || ((({with_error}) >> vector) & 1 == 0)",
        "push 0",
        ".endif",
        "push vector",
        "jmp {common}",
        ".set vector, vector + 1",
        ".endr",
        size = const STUB_SIZE,
        with_error = const WITH_ERROR,
        common = sym interrupted::<ISOLATED, INNER>,
    )
}

/// All stubs meet here. On the stack: vector, error code, `rip`, `cs`, `rflags`, `rsp`, `ss`.
#[unsafe(naked)]
#[unsafe(link_section = ".text.entry")]
extern "C" fn interrupted<const ISOLATED: bool, const INNER: bool>() {
    with_registers!(
        "test byte ptr [rsp + 24], 3",
        "jz {in_kernel}",
        "swapgs",
        "push rax",
        ".if {isolated}; mov rax, gs:[{kernel_root}]; mov cr3, rax; .endif",
        "mov rax, gs:[{registers}]",
        "mov [rax + {rbx}], rbx; mov [rax + {rcx}], rcx; mov [rax + {rdx}], rdx; mov [rax + {rsi}], rsi",
        "mov [rax + {rdi}], rdi; mov [rax + {rbp}], rbp; mov [rax + {r8}], r8; mov [rax + {r9}], r9",
        "mov [rax + {r10}], r10; mov [rax + {r11}], r11; mov [rax + {r12}], r12; mov [rax + {r13}], r13",
        "mov [rax + {r14}], r14; mov [rax + {r15}], r15",
        "pop qword ptr [rax]",
        "pop rdi; pop rsi",
        "pop qword ptr [rax + {rip}]",
        "add rsp, 8",
        "pop qword ptr [rax + {rflags}]",
        "pop qword ptr [rax + {rsp_word}]",
        "mov rsp, gs:[{kernel_stack}]",
        // The user's direction flag, for one, is not the kernel's.
        "push 2; popfq",
        "call {entered}",
        "ud2",
        ;
        isolated = const ISOLATED as usize, kernel_root = const Cpu::KERNEL_ROOT,
        registers = const Cpu::REGISTERS,
        kernel_stack = const Cpu::KERNEL_STACK,
        entered = sym dispatch::interrupt_entered::<INNER>,
        in_kernel = sym interrupted_in_kernel,
    )
}

/// An interrupt while idle, or a fault of the kernel's own. Or a step: some processors raise one
/// behind the `syscall` of a user that makes steps; the kernel makes none.
#[unsafe(naked)]
#[unsafe(link_section = ".text.entry")]
extern "C" fn interrupted_in_kernel() {
    naked_asm!(
        "cmp qword ptr [rsp], 1",
        "jne 2f",
        "add rsp, 16; btr qword ptr [rsp + 16], 8; iretq",
        "2: cmp qword ptr [rsp], 32",
        "jb {fault}",
        "mov rdi, [rsp]",
        "mov rsp, gs:[{kernel_stack}]",
        "call {entered_idle}",
        "ud2",
        kernel_stack = const Cpu::KERNEL_STACK,
        entered_idle = sym dispatch::interrupt_entered_idle,
        fault = sym kernel_fault,
    )
}

/// An exception in the kernel: all registers become a [`super::panic::FaultFrame`] on the stack.
#[unsafe(naked)]
extern "C" fn kernel_fault() {
    naked_asm!(
        "push r15; push r14; push r13; push r12; push r11; push r10; push r9; push r8",
        "push rbp; push rdi; push rsi; push rdx; push rcx; push rbx; push rax",
        "mov rdi, rsp",
        "and rsp, -16",
        "call {panic}",
        "ud2",
        panic = sym super::panic::kernel_fault,
    )
}

/// A non-maskable interrupt: another CPU panics, or it means nothing. It comes anywhere, so `gs` is
/// not used.
#[unsafe(naked)]
#[unsafe(link_section = ".text.entry")]
pub extern "C" fn non_maskable() {
    naked_asm!(
        "cmp byte ptr [rip + {panicked}], 0",
        "jne 2f",
        "iretq",
        "2:",
        "cli",
        "hlt",
        "jmp 2b",
        panicked = sym super::panic::PANICKED,
    )
}

const GS_BASE: u32 = 0xc000_0101;
const KERNEL_GS_BASE: u32 = 0xc000_0102;
const SEGMENTS: u32 = 0xc000_0081;
const TARGET: u32 = 0xc000_0082;
const FLAG_MASK: u32 = 0xc000_0084;
/// Trap, interrupt, direction, I/O privilege, nested task, resume and alignment are off after
/// `syscall`.
const CLEARED_FLAGS: u64 = 0x0005_7700;

/// Makes `gs` and `syscall` lead to the kernel on the CPU that this runs on.
pub fn enable(cpu: &'static Cpu) {
    use super::descriptors::{KERNEL_CODE, USER_BASE};
    use super::io::msr_write;
    let segments = u64::from(USER_BASE | 3) << 48 | u64::from(KERNEL_CODE) << 32;
    let (call, leave) = if features::get().isolates { (system_call::<true> as extern "C" fn(), ways_out::leave::<true> as extern "C" fn()) } else { (system_call::<false> as extern "C" fn(), ways_out::leave::<false> as extern "C" fn()) };
    cpu.leave.set(leave as usize as u64);
    // SAFETY: `cpu` is this CPU's own and stays; the segments exist; `system_call` is written for
    // this entry.
    unsafe {
        msr_write(GS_BASE, core::ptr::from_ref(cpu) as u64);
        msr_write(KERNEL_GS_BASE, 0);
        msr_write(SEGMENTS, segments);
        msr_write(TARGET, call as usize as u64);
        msr_write(FLAG_MASK, CLEARED_FLAGS);
    }
}
