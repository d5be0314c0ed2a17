//! Control of one process by another with `ptrace`: the nearest that Linux has to a monitor.

use nacre_proto::Errno;

use super::call;
use super::context::Context;
use crate::figure::sample;

const TRACEME: u64 = 0;
const GETREGS: u64 = 12;
const SETREGS: u64 = 13;
const SYSCALL: u64 = 24;
const SIGKILL: u64 = 9;
const SIGSTOP: u64 = 19;

/// `struct user_regs_struct`.
type Registers = [u64; 27];

/// A traced process that calls `getppid` for ever, while it is stopped for the first time.
fn with_child(measure: impl FnOnce(u64) -> u64) -> Result<u64, Errno> {
    let child = call::fork()?;
    if child == 0 {
        // SAFETY: the request reads and writes nothing.
        let _ = unsafe { call::ptrace(TRACEME, 0, 0) };
        call::kill(call::getpid(), SIGSTOP);
        loop {
            call::getppid();
        }
    }
    call::wait(child);
    let figure = measure(child);
    call::kill(child, SIGKILL);
    call::wait(child);
    Ok(figure)
}

/// All general registers of a stopped thread, read.
pub fn get_registers(_: &Context) -> Result<u64, Errno> {
    let mut registers: Registers = [0; 27];
    with_child(|child| {
        sample(500, || {
            // SAFETY: the request writes as many words.
            let _ = unsafe { call::ptrace(GETREGS, child, registers.as_mut_ptr() as u64) };
        })
    })
}

/// All general registers of a stopped thread, written.
pub fn set_registers(_: &Context) -> Result<u64, Errno> {
    let mut registers: Registers = [0; 27];
    with_child(|child| {
        // SAFETY: the request writes as many words.
        let _ = unsafe { call::ptrace(GETREGS, child, registers.as_mut_ptr() as u64) };
        sample(500, || {
            // SAFETY: the request only reads them.
            let _ = unsafe { call::ptrace(SETREGS, child, registers.as_ptr() as u64) };
        })
    })
}

/// A system call that a tracer sees before and after.
pub fn traced_call(_: &Context) -> Result<u64, Errno> {
    let step = |child| {
        // SAFETY: the request reads and writes nothing.
        let _ = unsafe { call::ptrace(SYSCALL, child, 0) };
        call::wait(child);
    };
    with_child(|child| {
        sample(100, || {
            step(child);
            step(child);
        })
    })
}
