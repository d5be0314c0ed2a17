//! The program's first instructions, as those of any static Linux program, and the question where
//! it runs.
//!
//! | register | on entry |
//! | --- | --- |
//! | `rsp` | `argc`, below `argv`, the environment and the auxiliary vector |
//! | others | nothing |

use core::arch::{asm, naked_asm};

use nacre_abi::Call;
use nacre_rt::Arguments;

use crate::{figure, linux, nacre};

#[unsafe(naked)]
#[unsafe(no_mangle)]
unsafe extern "C" fn _start() -> ! {
    naked_asm!("xor ebp, ebp", "mov rdi, rsp", "and rsp, -16", "call {run}", "ud2", run = sym run)
}

extern "C" fn run(stack: *const u64) -> ! {
    let begun = figure::now();
    // SAFETY: the stack pointer with which the program started.
    let arguments = unsafe { Arguments::at(stack) };
    linux::call::exit(main(&arguments, begun))
}

/// Runs the measurements. With `true` as its argument the program ends at once, so that it can
/// measure its own start.
fn main(arguments: &Arguments, begun: u64) -> i32 {
    match arguments.get(1) {
        Some(b"true") => 0,
        _ if is_nacre() => nacre::measure(arguments, begun),
        _ => linux::measure(arguments, begun),
    }
}

/// Returns true if the kernel knows the call that does nothing. Linux says that it has no call of
/// this number.
fn is_nacre() -> bool {
    let status: i64;
    // SAFETY: neither system touches memory, and both lose only the registers named.
    unsafe {
        asm!("syscall", inlateout("rax") Call::Null.number() => status, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    status == 0
}
