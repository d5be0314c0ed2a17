//! The end of the process, and what it cannot do alone: become two, become another program, wait for others.

use crate::entry::Frame;
use crate::errno::{Answer, ECHILD, ENOSYS};
use crate::process::Process;

/// The number of the only process that a program knows without a process manager, of its thread, group and session.
pub const PID: u64 = 1;
/// What is added to a signal's number in the status of a program that it ended.
const BY_SIGNAL: u64 = 256;

/// Tells the parent and waits to be destroyed.
fn end(process: &mut Process, status: u64) -> ! {
    process.halt_others();
    process.services.exit(status);
    crate::time::wait_for_ever()
}

/// Ends the program as a signal does.
pub fn end_by_signal(process: &mut Process, signal: u64) -> ! {
    end(process, BY_SIGNAL + signal)
}

/// `exit_group(status)`, and `exit` of the last thread.
pub fn exit(process: &mut Process, frame: &mut Frame) -> Answer {
    end(process, frame.arguments()[0] & 0xff)
}

/// `fork()`, `vfork()`.
pub fn fork(process: &mut Process, _: &mut Frame) -> Answer {
    process.report(format_args!("fork: this needs a process manager: run `process` below the program"));
    Err(ENOSYS)
}

/// `clone` and `clone3` without `CLONE_THREAD`.
pub fn clone(process: &mut Process, _flags: u64) -> Answer {
    process.report(format_args!("fork: this needs a process manager: run `process` below the program"));
    Err(ENOSYS)
}

/// `execve(path, ..)`. Linux's errors for the path come first, so that a search along `PATH` goes on.
pub fn execve(process: &mut Process, frame: &mut Frame) -> Answer {
    let path = process.memory.path(frame.arguments()[0])?;
    crate::status::check_exists(process, path)?;
    process.report(format_args!(
        "execve: {}: this needs a process manager: run `process` below the program",
        core::str::from_utf8(path).unwrap_or("?")
    ));
    Err(ENOSYS)
}

/// `execveat(directory, path, ..)`.
pub fn execveat(process: &mut Process, _: &mut Frame) -> Answer {
    process.report(format_args!("execveat: this needs a process manager: run `process` below the program"));
    Err(ENOSYS)
}

/// `wait4(..)`, `waitid(..)`: a process that cannot fork has no children.
pub fn wait(_: &mut Process, _: &mut Frame) -> Answer {
    Err(ECHILD)
}
