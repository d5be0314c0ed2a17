//! The ways out of a frame of kind USER by `syscall`, and into it behind one. Its exceptions and
//! interrupts come by stubs of their own (`entry`), and any other way in is the usual one out of
//! the kernel (`ways_out::leave`).
//!
//! | register | on entry | in the kernel | on the way in |
//! | --- | --- | --- | --- |
//! | `rcx`, `r11` | return address, flags | saved twice: as registers, and as `RIP` and `RFLAGS` | as they were found once |
//! | `rsp` | the user's | this CPU's kernel stack | as the frame says |
//! | others | the user's | saved, then unchanged | as the frame says |
//! | `gs` base | the user's | this CPU's `Cpu` | the user's |

use super::super::cpu::Cpu;
use super::super::descriptors::Pointer;
use super::super::{features, io};
use super::user;
use core::arch::{asm, naked_asm};
use core::cell::Cell;

/// Register with the address that `syscall` leads to.
const TARGET: u32 = 0xc000_0082;
const FS_BASE: u32 = 0xc000_0100;
/// Holds the user's base while the kernel runs.
const KERNEL_GS_BASE: u32 = 0xc000_0102;

/// Entered by `syscall`, with interrupt, trap, direction and alignment flags off. The number in
/// `rax` means nothing: whatever it is, the frame's monitor is told. The registers go to the frame.
#[unsafe(naked)]
#[unsafe(link_section = ".text.entry")]
extern "C" fn system_call<const ISOLATED: bool>() {
    naked_asm!(
        "swapgs",
        "mov gs:[{user_stack}], rsp",
        ".if {isolated}; mov rsp, gs:[{kernel_root}]; mov cr3, rsp; .endif",
        "mov rsp, gs:[{registers_end}]",
        "push r11; push rcx",
        "push r15; push r14; push r13; push r12; push r11; push r10; push r9; push r8",
        "push rdi; push rsi; push rbp",
        "push qword ptr gs:[{user_stack}]",
        "push rbx; push rdx; push rcx; push rax",
        "mov rsp, gs:[{kernel_stack}]",
        "call {called}",
        "ud2",
        isolated = const ISOLATED as usize, kernel_root = const Cpu::KERNEL_ROOT,
        user_stack = const Cpu::USER_STACK,
        registers_end = const Cpu::REGISTERS_END,
        kernel_stack = const Cpu::KERNEL_STACK,
        called = sym user::called,
    )
}

/// Goes to user mode behind a `syscall`, with registers of the frame, whose first is at `rdi`;
/// `rsi`, `rdx`: address and flags, which a user may have and `sysret` takes. The stack is dropped.
#[unsafe(naked)]
#[unsafe(link_section = ".text.entry")]
extern "C" fn go_on_from<const ISOLATED: bool>() {
    naked_asm!(
        "mov rcx, rsi",
        "mov r11, rdx",
        "mov rsp, rdi",
        "pop rax; pop rdx; pop rdx; pop rbx",
        "pop qword ptr gs:[{user_stack}]",
        "pop rbp; pop rsi; pop rdi; pop r8; pop r9; pop r10",
        "add rsp, 8",
        "pop r12; pop r13; pop r14; pop r15",
        ".if {isolated}; mov rsp, gs:[{root}]; mov cr3, rsp; .endif",
        "mov rsp, gs:[{user_stack}]",
        "swapgs",
        "sysretq",
        isolated = const ISOLATED as usize, root = const Cpu::ROOT,
        user_stack = const Cpu::USER_STACK,
    )
}

/// Goes on where [`go_on_from`] says.
#[inline(always)]
pub fn go_on(registers: u64, rip: u64, flags: u64) -> ! {
    let target: extern "C" fn() = if features::get().isolates { go_on_from::<true> } else { go_on_from::<false> };
    // SAFETY: the address is a user's, so that `sysret` does not fault; nothing of the caller is
    // needed any more.
    unsafe { asm!("jmp {}", in(reg) target as usize, in("rdi") registers, in("rsi") rip, in("rdx") flags, options(noreturn)) };
}

/// Gives the CPU other bases of `fs` and `gs`, addresses that it takes; those that it had. `None`:
/// users cannot change them, so those that were loaded last.
#[inline(always)]
pub fn bases_exchange((new_fs, new_gs): (u64, u64)) -> Option<(u64, u64)> {
    if features::get().base_instructions {
        let (fs, gs): (u64, u64);
        // SAFETY: canonical values for the user's bases; `gs` is the kernel's again at the end, and
        // nothing uses it between, not even what interrupts with a stack of its own.
        unsafe {
            asm!(
                "rdfsbase {fs}", "wrfsbase {new_fs}", "swapgs", "rdgsbase {gs}", "wrgsbase {new_gs}", "swapgs",
                fs = out(reg) fs, gs = out(reg) gs, new_fs = in(reg) new_fs, new_gs = in(reg) new_gs, options(nostack, preserves_flags)
            );
        }
        return Some((fs, gs));
    }
    // SAFETY: canonical values for the user's bases.
    unsafe {
        io::msr_write(FS_BASE, new_fs);
        io::msr_write(KERNEL_GS_BASE, new_gs);
    }
    None
}

/// Lets `syscall` lead here on the CPU that this runs on, or back to the kernel's calls. `calls`
/// keeps the address of those.
#[inline(always)]
pub fn system_calls_lead(here: bool, calls: &Cell<u64>) {
    if calls.get() == 0 {
        calls.set(io::msr_read(TARGET));
    }
    let own: extern "C" fn() = if features::get().isolates { system_call::<true> } else { system_call::<false> };
    // SAFETY: each is written for this entry; the first only while the CPU has a frame to save
    // registers in.
    unsafe { io::msr_write(TARGET, if here { own as usize as u64 } else { calls.get() }) };
}

/// Makes the CPU that this runs on use the interrupt table at this address.
#[inline(always)]
pub fn interrupts_lead(base: u64) {
    let pointer = Pointer { limit: 4095, base };
    // SAFETY: one of the kernel's two tables, which are complete and stay.
    unsafe { asm!("lidt [{}]", in(reg) &pointer, options(readonly, nostack, preserves_flags)) };
}
