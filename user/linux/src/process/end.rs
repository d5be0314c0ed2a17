//! The end of the process.

use crate::process::{Process, futex_wake, wait};

/// Offset of a signal's number in the status of a program that the signal ended.
const BY_SIGNAL: u64 = 256;

/// Tells the parent and waits to be destroyed.
pub fn end(process: &mut Process, status: u64) -> ! {
    let end = process.halt_others();
    futex_wake::release_all_robust(process, &end);
    process.services.exit(status);
    wait::wait_for_ever()
}

/// Ends the program as a signal does.
pub fn end_by_signal(process: &mut Process, signal: u64) -> ! {
    end(process, BY_SIGNAL + signal)
}
