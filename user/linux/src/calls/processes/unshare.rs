//! `unshare`.

use crate::abi::errno::{Answer, EINVAL};
use crate::abi::registers::Frame;
use crate::process::Process;

/// Flags of what only threads share here: memory, handlers of signals, being one process.
const OF_THREADS: u64 = 0x1_0900;
/// Flags of what each process has for itself: directories, descriptors, undone semaphores.
const OF_PROCESSES: u64 = 0x4_0600;

/// `unshare(flags)`: a process with one thread shares none of this with anybody. `EINVAL`: others
/// would have to be parted from it, or the flags name what all share.
pub fn unshare(process: &mut Process, frame: &mut Frame) -> Answer {
    let flags = frame.arguments()[0];
    let is_alone = process.threads.count() == 1;
    if flags & !(OF_THREADS | OF_PROCESSES) != 0 || flags != 0 && !is_alone { Err(EINVAL) } else { Ok(0) }
}
