//! The code that threads under test run: one entry of a table after the other, then sleep. It is
//! copied to where they are.

use core::arch::global_asm;
use nacre_abi::Call;

/// Words of an entry: the number, ten registers, then what came back (`rax rdx rsi rdi`) and 1.
pub const ENTRY_WORDS: u64 = 16;
/// The word of an entry that is 1 when it is done.
pub const DONE: u64 = 15;
/// Number that stands for a breakpoint instead of a call.
pub const TRAP: u64 = -1i64 as u64;
/// Number that stands for a store of `rsi` at `rdi` instead of a call.
pub const STORE: u64 = -2i64 as u64;
/// Number that stands for sums instead of a call: it adds the 32 bytes at `rdi + 32` to those at
/// `rdi`, `rsi` times, in vector registers alone, and stores the sum behind both.
pub const ADD: u64 = -3i64 as u64;

global_asm!(
    ".section .rodata.runner, \"a\"",
    ".global raw_runner_start",
    ".global raw_runner_foreign",
    ".global raw_runner_end",
    "raw_runner_start:",
    "2: cmp rbx, rbp",
    "jae 9f",
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
    "cmp rax, -1",
    "je 3f",
    "cmp rax, -2",
    "je 4f",
    "cmp rax, -3",
    "je 5f",
    "syscall",
    "jmp 8f",
    "3: int3",
    "jmp 8f",
    "4: mov [rdi], rsi",
    "jmp 8f",
    "5: vmovdqu ymm3, [rdi]",
    "vmovdqu ymm14, [rdi + 32]",
    "mov rcx, rsi",
    "6: vpaddq ymm3, ymm3, ymm14",
    "dec rcx",
    "jnz 6b",
    "vmovdqu [rdi + 64], ymm3",
    "8: mov [rbx + 88], rax",
    "mov [rbx + 96], rdx",
    "mov [rbx + 104], rsi",
    "mov [rbx + 112], rdi",
    "mov qword ptr [rbx + 120], 1",
    "add rbx, 128",
    "jmp 2b",
    "9: mov edi, 0x3b9aca00",
    "mov eax, {sleep}",
    "syscall",
    "jmp 9b",
    // A foreign call: the number and the return address are in rax.
    "raw_runner_foreign:",
    "lea rdx, [rdi + 5]",
    "shl rax, 16",
    "shr rax, 16",
    "jmp rax",
    "raw_runner_end:",
    ".text",
    sleep = const Call::ThreadSleep.number(),
);

unsafe extern "C" {
    static raw_runner_start: u8;
    static raw_runner_foreign: u8;
    static raw_runner_end: u8;
}

/// Returns the offset in the code at which foreign calls continue.
pub fn foreign_offset() -> u64 {
    ((&raw const raw_runner_foreign).addr() - (&raw const raw_runner_start).addr()) as u64
}

/// The code, as words.
pub fn code() -> impl Iterator<Item = u64> {
    let start = &raw const raw_runner_start;
    let size = (&raw const raw_runner_end).addr() - start.addr();
    (0..size.div_ceil(8)).map(move |word| {
        // SAFETY: the section is at least `size` bytes; what follows within eight bytes is still
        // this program's read-only data.
        unsafe { core::ptr::read_unaligned(start.add(8 * word).cast::<u64>()) }
    })
}
