//! What the threads of the process do just now, told to the manager.

use crate::abi::call_names;
use crate::process::Process;
use alloc::format;
use alloc::vec::Vec;
use core::sync::atomic::Ordering;

/// Returns a line for each thread, in at most `most` bytes: its number, what it waits for as the
/// kernel tells it, and the name of the system call that it made last. Threads that end meanwhile
/// are left out.
pub fn threads_told(process: &Process, most: usize) -> Vec<u8> {
    let mut lines = Vec::new();
    for (_, thread) in process.threads.all() {
        let Ok(waiting) = thread.kernel.waiting() else { continue };
        let name = call_names::name(thread.block.number.load(Ordering::Relaxed) as usize).unwrap_or("");
        let line = format!("{} {waiting} {name}\n", thread.number);
        if lines.len() + line.len() > most {
            break;
        }
        lines.extend_from_slice(line.as_bytes());
    }
    lines
}
