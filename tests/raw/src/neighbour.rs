//! Registers that a program fills with known values, to see whether other threads change them.
//!
//! Programs of Nacre use no FPU register of themselves, so what `fpu_fill` has put there stays
//! until the next fill.

use core::arch::global_asm;

global_asm!(
    ".text",
    // rdi = seed. Every vector register holds the seed and its number; MXCSR and the control word
    // are unusual.
    "raw_fpu_fill:",
    "fninit",
    "mov dword ptr [rsp - 8], 0xff80",
    "mov dword ptr [rsp - 16], 0x0f7f",
    "ldmxcsr [rsp - 8]",
    "fldcw [rsp - 16]",
    "mov [rsp - 8], rdi",
    "fild qword ptr [rsp - 8]",
    ".irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
    "lea rax, [rdi + \\number]",
    "movq xmm\\number, rax",
    ".endr",
    "ret",
    // rdi = seed. rax = 0 if all is as `raw_fpu_fill` left it; it fills again.
    "raw_fpu_differs:",
    "xor ecx, ecx",
    "stmxcsr [rsp - 8]",
    "fnstcw [rsp - 16]",
    "mov eax, [rsp - 8]",
    "xor eax, 0xff80",
    "or rcx, rax",
    "movzx eax, word ptr [rsp - 16]",
    "xor eax, 0x0f7f",
    "or rcx, rax",
    "fistp qword ptr [rsp - 8]",
    "mov rax, [rsp - 8]",
    "xor rax, rdi",
    "or rcx, rax",
    ".irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15",
    "movq rax, xmm\\number",
    "sub rax, rdi",
    "sub rax, \\number",
    "or rcx, rax",
    ".endr",
    "call raw_fpu_fill",
    "mov rax, rcx",
    "ret",
    // rdi = seed, rsi = turns. rax = 0 if neither a general register nor a flag has changed in so
    // many turns.
    "raw_general_differs:",
    "push rbx; push rbp; push r12; push r13; push r14; push r15",
    "mov rcx, rsi",
    ".irp register, rax, rbx, rdx, rbp, rsi, r8, r9, r10, r11, r12, r13, r14, r15",
    "mov \\register, rdi",
    ".endr",
    // Alignment check, direction, overflow, sign, adjust, parity, carry.
    "push 0x40e97",
    "popfq",
    "2: lea rcx, [rcx - 1]",
    "jrcxz 3f",
    "jmp 2b",
    "3: pushfq",
    "pop rcx",
    "push 2",
    "popfq",
    "xor rcx, 0x40e97",
    ".irp register, rax, rbx, rdx, rbp, rsi, r8, r9, r10, r11, r12, r13, r14, r15",
    "xor \\register, rdi",
    "or rcx, \\register",
    ".endr",
    "mov rax, rcx",
    "pop r15; pop r14; pop r13; pop r12; pop rbp; pop rbx",
    "ret",
);

unsafe extern "C" {
    fn raw_fpu_fill(seed: u64);
    fn raw_fpu_differs(seed: u64) -> u64;
    fn raw_general_differs(seed: u64, turns: u64) -> u64;
}

/// Fills the FPU's registers.
pub fn fpu_fill(seed: u64) {
    // SAFETY: changes FPU registers alone, which this program's code does not use.
    unsafe { raw_fpu_fill(seed) }
}

/// Returns true if the FPU's registers are as `fpu_fill` left them.
pub fn fpu_holds(seed: u64) -> bool {
    // SAFETY: as for `fpu_fill`.
    unsafe { raw_fpu_differs(seed) == 0 }
}

/// Fills the general registers and the flags, and returns true if they are the same after so many
/// turns of a loop.
pub fn general_holds(seed: u64, turns: u64) -> bool {
    // SAFETY: keeps the registers that a function must keep, and touches no memory but its stack.
    unsafe { raw_general_differs(seed, turns) == 0 }
}
