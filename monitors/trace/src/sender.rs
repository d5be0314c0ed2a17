//! Sender of a message.

use alloc::format;
use alloc::string::String;

/// First number above those of processes and threads, as on Linux.
pub const NUMBERS: u64 = 1 << 22;

/// Sender of a message. The process is known by the port that the message came through. The thread
/// is what the message says, and only shown.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Sender {
    /// Number of the process that the port belongs to; 0 is the first one.
    pub pid: u64,
    /// Number of the thread; 0 is the first one of the process, or one that tells none.
    pub thread: u64,
}

impl Sender {
    /// First process.
    pub const FIRST: Sender = Sender { pid: 0, thread: 0 };

    /// Sender in a process, with a thread number of a message. A number that no thread can have
    /// counts as none.
    pub fn new(pid: u64, thread: u64) -> Sender {
        Sender { pid, thread: if thread == pid || thread >= NUMBERS { 0 } else { thread } }
    }

    /// Returns the start of its lines.
    pub fn text(self) -> String {
        match self {
            Sender::FIRST => String::new(),
            Sender { pid, thread: 0 } => format!("[pid {pid}] "),
            Sender { pid: 0, thread } => format!("[tid {thread}] "),
            Sender { pid, thread } => format!("[pid {pid} tid {thread}] "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_tell_processes_and_their_threads_apart() {
        let text = |pid, thread| Sender::new(pid, thread).text();
        assert_eq!([text(0, 0), text(0, 7), text(5, 0), text(5, 5), text(5, 7)], ["", "[tid 7] ", "[pid 5] ", "[pid 5] ", "[pid 5 tid 7] "]);
        assert_eq!([text(5, NUMBERS), text(5, u64::MAX)], ["[pid 5] "; 2]);
    }
}
