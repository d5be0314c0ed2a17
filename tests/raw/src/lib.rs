//! Calls as the kernel sees them: numbers and registers, right or wrong.
//!
//! For programs that test the kernel. They keep the memory that such calls may name apart from all
//! that Rust knows of, and reach it through this crate only.
#![no_std]

pub mod neighbour;
pub mod random;
pub mod runner;

use core::arch::asm;
use nacre_abi::{Call, Status};

/// Makes a call with any arguments; status and the two results. The arguments of tests name only
/// memory that the fixture has set aside, or none.
pub fn call(call: Call, arguments: [u64; 8]) -> (Status, u64, u64) {
    number(call.number(), arguments)
}

/// Makes the call of any number.
pub fn number(number: u64, arguments: [u64; 8]) -> (Status, u64, u64) {
    let (status, first, second): (u64, u64, u64);
    let [a, b, c, d, e, f, g, h] = arguments;
    // SAFETY: the fixture's memory is reached through raw addresses only, so the kernel writes
    // nothing that Rust knows of; all registers that a call changes are named.
    unsafe {
        asm!("syscall", inlateout("rax") number => status, inlateout("rdi") a => _, inlateout("rsi") b => _,
            inlateout("rdx") c => first, inlateout("r8") d => second, inlateout("r9") e => _, inlateout("r10") f => _,
            inlateout("r12") g => _, inlateout("r13") h => _, inlateout("r14") 0u64 => _, inlateout("r15") 0u64 => _,
            lateout("rcx") _, lateout("r11") _);
    }
    (Status(status), first, second)
}

/// A message with any descriptor and a timeout; only its status. What it receives is written where
/// the descriptor says.
pub fn message(call: Call, target: u64, info: u64, words: [u64; 6], descriptor: u64, timeout: u64) -> Status {
    let status: u64;
    let [a, b, c, d, e, f] = words;
    // SAFETY: as for `number`.
    unsafe {
        asm!("syscall", inlateout("rax") call.number() => status, inlateout("rdi") target => _, inlateout("rsi") info => _,
            inlateout("rdx") a => _, inlateout("r8") b => _, inlateout("r9") c => _, inlateout("r10") d => _,
            inlateout("r12") e => _, inlateout("r13") f => _, inlateout("r14") descriptor => _, inlateout("r15") timeout => _,
            lateout("rcx") _, lateout("r11") _);
    }
    Status(status)
}

/// Writes a word of the fixture's memory.
pub fn write(address: u64, value: u64) {
    // SAFETY: called with addresses of the fixture's plain pages, which no Rust object lies in.
    unsafe { core::ptr::write_volatile(address as *mut u64, value) }
}

/// Reads a word of the fixture's memory.
pub fn read(address: u64) -> u64 {
    // SAFETY: as for `write`.
    unsafe { core::ptr::read_volatile(address as *const u64) }
}

/// Names for [`privileged`].
pub const PRIVILEGED: [&str; 9] = ["hlt", "cli", "in", "out", "rdmsr", "wrmsr", "mov cr3", "lgdt", "invlpg"];

/// Executes an instruction that only a kernel may. It is not supposed to come back; if it does, a
/// program is told so by 0.
pub fn privileged(name: &str) -> i32 {
    let mut scratch = [0u64; 2];
    // SAFETY: for a program each of these is an exception, and changes nothing; if the machine
    // carried one out, that is what the test is to find.
    unsafe {
        match name {
            "hlt" => asm!("hlt"),
            "cli" => asm!("cli", "sti"),
            "in" => asm!("in al, dx", out("al") _, in("dx") 0x3f8u16),
            "out" => asm!("out dx, al", in("al") 0u8, in("dx") 0x80u16),
            "rdmsr" => asm!("rdmsr", in("ecx") 0x10u32, out("eax") _, out("edx") _),
            "wrmsr" => asm!("wrmsr", in("ecx") 0xc000_0102u32, in("eax") 0u32, in("edx") 0u32),
            "mov cr3" => asm!("mov {}, cr3", out(reg) _),
            "lgdt" => asm!("lgdt [{}]", in(reg) &raw mut scratch),
            _ => asm!("invlpg [{}]", in(reg) &raw mut scratch),
        }
    }
    0
}
