//! The end of the process, and what it cannot do alone: become two, become another program, wait for others.

use crate::entry::Frame;
use crate::errno::{Answer, ECHILD, ENOSYS};
use crate::process::Process;

/// The number of the only process that a program knows without a process manager, of its thread, group and session.
pub const PID: u64 = 1;
/// What is added to a signal's number in the status of a program that it ended.
const BY_SIGNAL: u64 = 256;
const CLONE_THREAD: u64 = 0x0001_0000;

/// Tells the parent and waits to be destroyed.
fn end(process: &mut Process, status: u64) -> ! {
    process.services.exit(status);
    crate::time::wait_for_ever()
}

/// Ends the program as a signal does.
pub fn end_by_signal(process: &mut Process, signal: u64) -> ! {
    end(process, BY_SIGNAL + signal)
}

/// `exit(status)`, `exit_group(status)`.
pub fn exit(process: &mut Process, frame: &mut Frame) -> Answer {
    end(process, frame.arguments()[0] & 0xff)
}

/// `fork()`, `vfork()`.
pub fn fork(process: &mut Process, _: &mut Frame) -> Answer {
    process.report(format_args!("fork: this needs a process manager: run `process` below the program"));
    Err(ENOSYS)
}

fn refuse_clone(process: &mut Process, flags: u64) -> Answer {
    if flags & CLONE_THREAD != 0 {
        process.report(format_args!("clone: threads of Linux programs are not supported yet"));
        return Err(ENOSYS);
    }
    process.report(format_args!("fork: this needs a process manager: run `process` below the program"));
    Err(ENOSYS)
}

/// `clone(flags, ..)`.
pub fn clone(process: &mut Process, frame: &mut Frame) -> Answer {
    refuse_clone(process, frame.arguments()[0])
}

/// `clone3(arguments, size)`: the flags are the first word.
pub fn clone3(process: &mut Process, frame: &mut Frame) -> Answer {
    let [flags] = process.memory.read_words(frame.arguments()[0])?;
    refuse_clone(process, flags)
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
