//! The ways out of the kernel: whole naked transitions to user mode, or to waiting. `entry` has the
//! ways in, and says what each register holds.

use super::cpu::Cpu;
use core::arch::naked_asm;
use nacre_core::machine::thread_page::register;

/// Flags with which `sysret` must not be used: trap and resume, and whatever no user may have.
pub const NO_SYSRET: i32 = !0x0024_4ed7;
/// Flags that a user may have.
pub const USER_FLAGS: i32 = 0x0025_4dd5;
/// Interrupts on, and the bit that is always set.
pub const FIXED_FLAGS: i32 = 0x202;
/// Address at which a thread goes on whose instruction pointer no CPU takes: the last page of the
/// user's half, which is never mapped.
const NOWHERE: u64 = nacre_abi::USER_END;

/// Offset of a register in the thread's page.
pub const fn word(register: usize) -> usize {
    8 * register
}

/// Assembly that names every general register's offset in the thread's page but `rax`'s, which is
/// 0.
macro_rules! with_registers {
    ($($line:literal,)* ; $($operands:tt)*) => {
        naked_asm!(
            $($line,)*
            rbx = const word(register::RBX), rcx = const word(register::RCX), rdx = const word(register::RDX), rsi = const word(register::RSI),
            rdi = const word(register::RDI), rbp = const word(register::RBP), r8 = const word(register::R8), r9 = const word(register::R9),
            r10 = const word(register::R10), r11 = const word(register::R11), r12 = const word(register::R12), r13 = const word(register::R13),
            r14 = const word(register::R14), r15 = const word(register::R15), rip = const word(register::RIP), rflags = const word(register::RFLAGS),
            rsp_word = const word(register::RSP),
            $($operands)*
        )
    };
}
pub(super) use with_registers;

/// Goes to user mode with the registers of the CPU's thread. The stack is dropped.
#[unsafe(naked)]
#[unsafe(link_section = ".text.entry")]
pub extern "C" fn leave<const ISOLATED: bool>() {
    naked_asm!(
        "mov rsp, gs:[{registers}]",
        "mov rcx, [rsp + {rcx}]",
        "mov r11, [rsp + {r11}]",
        "cmp rcx, [rsp + {rip}]",
        "jne {general}",
        "cmp r11, [rsp + {rflags}]",
        "jne {general}",
        "test r11, {no_sysret}",
        "jnz {general}",
        "mov rax, rcx",
        "shr rax, 47",
        "jnz {general}",
        "pop rax; pop rbx; pop rcx; pop rdx; pop rsi; pop rdi; pop rbp",
        "pop qword ptr gs:[{user_stack}]",
        "pop r8; pop r9; pop r10; pop r11; pop r12; pop r13; pop r14; pop r15",
        ".if {isolated}; mov rsp, gs:[{root}]; mov cr3, rsp; .endif",
        "mov rsp, gs:[{user_stack}]",
        "swapgs",
        "sysretq",
        isolated = const ISOLATED as usize, root = const Cpu::ROOT,
        registers = const Cpu::REGISTERS,
        user_stack = const Cpu::USER_STACK,
        no_sysret = const NO_SYSRET,
        general = sym leave_generally::<ISOLATED>,
        rcx = const word(register::RCX),
        r11 = const word(register::R11),
        rip = const word(register::RIP),
        rflags = const word(register::RFLAGS),
    )
}

/// The rest of `leave`, by `iret` from a frame on the entry stack. `rsp` is the address of the
/// registers.
#[unsafe(naked)]
#[unsafe(link_section = ".text.entry")]
extern "C" fn leave_generally<const ISOLATED: bool>() {
    with_registers!(
        "mov rax, rsp",
        "mov rsp, gs:[{entry_stack}]",
        "push {user_data}",
        "push qword ptr [rax + {rsp_word}]",
        "mov rcx, [rax + {rflags}]",
        "and ecx, {user_flags}",
        "or ecx, {fixed_flags}",
        "push rcx",
        "push {user_code}",
        "mov rcx, [rax + {rip}]",
        "mov rdx, rcx",
        "shr rdx, 47",
        "jz 2f",
        "movabs rcx, {nowhere}",
        "2:",
        "push rcx",
        "mov rbx, [rax + {rbx}]; mov rcx, [rax + {rcx}]; mov rdx, [rax + {rdx}]; mov rsi, [rax + {rsi}]",
        "mov rdi, [rax + {rdi}]; mov rbp, [rax + {rbp}]; mov r8, [rax + {r8}]; mov r9, [rax + {r9}]",
        "mov r10, [rax + {r10}]; mov r11, [rax + {r11}]; mov r12, [rax + {r12}]; mov r13, [rax + {r13}]",
        "mov r14, [rax + {r14}]; mov r15, [rax + {r15}]; mov rax, [rax]",
        ".if {isolated}; push rax; mov rax, gs:[{root}]; mov cr3, rax; pop rax; .endif",
        "swapgs",
        "iretq",
        ;
        isolated = const ISOLATED as usize, root = const Cpu::ROOT,
        entry_stack = const Cpu::ENTRY_STACK,
        user_data = const super::descriptors::USER_DATA,
        user_code = const super::descriptors::USER_CODE,
        user_flags = const USER_FLAGS,
        fixed_flags = const FIXED_FLAGS,
        nowhere = const NOWHERE,
    )
}

/// Waits for an interrupt, which drops this stack. A request of the CPU that has all locks comes
/// back.
#[unsafe(naked)]
pub extern "C" fn idle() {
    naked_asm!(
        "mov rsp, gs:[{kernel_stack}]",
        "2:",
        "sti",
        "hlt",
        "jmp 2b",
        kernel_stack = const Cpu::KERNEL_STACK,
    )
}
