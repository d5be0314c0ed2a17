//! What a thread waits for, as `thread_time` tells it: bits 0-7 say how it waits; bits 32-63 are the
//! label of its message, if it sends one or awaits the reply.

/// The thread runs, or could.
pub const RUNS: u64 = 0;
/// It sends a message, and nobody has received it.
pub const SENDS: u64 = 1;
/// It has faulted, and a keeper is to answer.
pub const FAULTS: u64 = 2;
/// It is to receive a message or a notification.
pub const RECEIVES: u64 = 3;
/// Its message was received, and not answered.
pub const AWAITS_REPLY: u64 = 4;
/// It waits at a mutex or a condition.
pub const LOCK: u64 = 5;
/// It sleeps for some time.
pub const SLEEPS: u64 = 6;
/// Another thread has its time.
pub const DONATES: u64 = 7;
/// It is stopped.
pub const STOPPED: u64 = 8;

/// First bit of the label.
pub const LABEL_SHIFT: u32 = 32;

/// Returns how a thread waits: one of the constants above.
pub const fn kind(word: u64) -> u64 {
    word & 0xff
}

/// Returns the label of the thread's message; 0: it has none.
pub const fn label(word: u64) -> u32 {
    (word >> LABEL_SHIFT) as u32
}
