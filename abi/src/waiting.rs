//! What a thread waits for, as `thread_time` tells it: bits 0-7 say how it waits; bit 8 is set if
//! it waits for a limited time (but for a fault), bit 9 if its fault is an exception;
//! bits 32-63 are the label of its message, if it sends one or awaits the reply.

/// State of a thread that runs, or could.
pub const RUNS: u64 = 0;
/// Wait for somebody to receive the thread's message.
pub const SENDS: u64 = 1;
/// Wait for a keeper to answer the thread's fault.
pub const FAULTS: u64 = 2;
/// Wait for a message or a notification.
pub const RECEIVES: u64 = 3;
/// Wait for the answer to a message that was received.
pub const AWAITS_REPLY: u64 = 4;
/// Wait at a mutex or a condition.
pub const LOCK: u64 = 5;
/// Sleep for some time.
pub const SLEEPS: u64 = 6;
/// Wait while another thread has the time of this one.
pub const DONATES: u64 = 7;
/// State of a thread that is stopped.
pub const STOPPED: u64 = 8;

/// Bit of a wait for a limited time.
pub const TIMED: u64 = 1 << 8;

/// Bit of a fault that is an exception.
pub const EXCEPTION: u64 = 1 << 9;

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
