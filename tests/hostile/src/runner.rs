//! The code that hostile threads run: one call after the other from a table, then sleep. It is copied into the arena.
#![allow(unsafe_code)]

use core::arch::global_asm;
use nacre_abi::Call;

/// Words of one entry of the table: the number, ten registers, and what came back.
pub const ENTRY_WORDS: u64 = 12;

global_asm!(
    ".section .rodata.runner, \"a\"",
    ".global hostile_runner_start",
    ".global hostile_runner_end",
    "hostile_runner_start:",
    "2: cmp rbx, rbp",
    "jae 3f",
    "mov rax, [rbx]",
    "mov rdi, [rbx + 8]",
    "mov rsi, [rbx + 16]",
    "mov rdx, [rbx + 24]",
    "mov r8, [rbx + 32]",
    "mov r9, [rbx + 40]",
    "mov r10, [rbx + 48]",
    "mov r12, [rbx + 56]",
    "mov r13, [rbx + 64]",
    "mov r14, [rbx + 72]",
    "mov r15, [rbx + 80]",
    "syscall",
    "bts rax, 63",
    "mov [rbx + 88], rax",
    "add rbx, 96",
    "jmp 2b",
    "3: mov edi, 0x3b9aca00",
    "mov eax, {sleep}",
    "syscall",
    "jmp 3b",
    "hostile_runner_end:",
    ".text",
    sleep = const Call::ThreadSleep.number(),
);

unsafe extern "C" {
    static hostile_runner_start: u8;
    static hostile_runner_end: u8;
}

/// The code, as words.
pub fn code() -> impl Iterator<Item = u64> {
    let start = &raw const hostile_runner_start;
    let size = (&raw const hostile_runner_end).addr() - start.addr();
    (0..size.div_ceil(8)).map(move |word| {
        // SAFETY: the section is at least `size` bytes; what follows within eight bytes is still this program's read-only data.
        unsafe { core::ptr::read_unaligned(start.add(8 * word).cast::<u64>()) }
    })
}
