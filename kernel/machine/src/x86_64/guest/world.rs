//! The switch of worlds.

use super::pages::Pages;
use super::vmcb::Registers;
use core::arch::naked_asm;

/// Runs the guest of the control block until it is left; interrupts are off before and after.
/// The general registers but RAX and RSP, which are in the block, come from `registers` and go
/// there.
///
/// | register | what |
/// | --- | --- |
/// | `rdi`, `rsi` | physical addresses of the control block, and of the page for the kernel's rest |
/// | `rdx` | the registers |
///
/// What `vmrun` does not switch (bases, selectors of `fs`, `gs`, the task and local table, and the
/// registers of system calls) `vmsave` and `vmload` do. Nothing may come in between: the global
/// flag is off from before the guest's bases are loaded until the kernel's are back. Interrupts are
/// on for `vmrun`, so that one leaves the guest, but not by the instruction before it: QEMU (7.2,
/// for one) holds interrupts for one instruction behind `sti`, and were that the guest's first and
/// a `cli`, as behind `hlt`, the guest would never take what it is given.
#[unsafe(naked)]
unsafe extern "C" fn switch(control: u64, rest: u64, registers: *mut Registers) {
    naked_asm!(
        "push rbx; push rbp; push r12; push r13; push r14; push r15",
        "push rdx; push rsi",
        "clgi; sti",
        "mov rax, rsi; vmsave rax",
        "mov rax, rdi; vmload rax",
        "mov rcx, [rdx + 8]; mov rbx, [rdx + 24]; mov rbp, [rdx + 40]; mov rsi, [rdx + 48]; mov rdi, [rdx + 56]",
        "mov r8, [rdx + 64]; mov r9, [rdx + 72]; mov r10, [rdx + 80]; mov r11, [rdx + 88]",
        "mov r12, [rdx + 96]; mov r13, [rdx + 104]; mov r14, [rdx + 112]; mov r15, [rdx + 120]",
        "mov rdx, [rdx + 16]",
        "vmrun rax",
        "cli",
        "vmsave rax",
        "mov rax, [rsp]; vmload rax",
        "mov rax, [rsp + 8]",
        "mov [rax + 8], rcx; mov [rax + 16], rdx; mov [rax + 24], rbx; mov [rax + 40], rbp; mov [rax + 48], rsi; mov [rax + 56], rdi",
        "mov [rax + 64], r8; mov [rax + 72], r9; mov [rax + 80], r10; mov [rax + 88], r11",
        "mov [rax + 96], r12; mov [rax + 104], r13; mov [rax + 112], r14; mov [rax + 120], r15",
        "stgi",
        "pop rsi; pop rdx",
        "pop r15; pop r14; pop r13; pop r12; pop rbp; pop rbx",
        "cld",
        "ret",
    )
}

/// Runs the guest of this CPU's control block.
pub fn run(pages: &Pages, registers: &mut Registers) {
    // SAFETY: the block was filled by `vmcb::load`: every way out of the guest leads back here, its
    // memory is what its space's tables show to users, and ports, other registers and interrupts
    // are not its own.
    unsafe { switch(pages.control.0, pages.rest.0, registers) };
}
