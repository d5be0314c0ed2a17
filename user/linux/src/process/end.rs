//! The end of the process.

use crate::abi::errno::Answer;
use crate::abi::registers::Frame;
use crate::calls::ipc::futex;
use crate::calls::time::clocks;
use crate::process::Process;

/// The number of the only process that a program knows without a process manager, of its thread, group and session.
pub const PID: u64 = 1;
/// What is added to a signal's number in the status of a program that it ended.
const BY_SIGNAL: u64 = 256;

/// Tells the parent and waits to be destroyed.
fn end(process: &mut Process, status: u64) -> ! {
    process.halt_others();
    futex::release_all_robust(process);
    process.services.exit(status);
    clocks::wait_for_ever()
}

/// Ends the program as a signal does.
pub fn end_by_signal(process: &mut Process, signal: u64) -> ! {
    end(process, BY_SIGNAL + signal)
}

/// `exit_group(status)`, and `exit` of the last thread.
pub fn exit(process: &mut Process, frame: &mut Frame) -> Answer {
    end(process, frame.arguments()[0] & 0xff)
}
