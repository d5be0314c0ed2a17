//! Signals: their numbers, one that waits, and a request to send one.

use nacre_proto::flags::SI_KERNEL;

/// The signal with the highest number.
pub const HIGHEST: u64 = 64;
/// First real-time signal: from here on, each signal that is sent waits for itself.
pub(super) const FIRST_QUEUED: u64 = 32;

pub const HANG_UP: u64 = 1;
pub const KILL: u64 = 9;
pub const CHILD: u64 = 17;
pub const CONTINUE: u64 = 18;
pub const STOP: u64 = 19;
pub const TERMINAL_STOP: u64 = 20;
const TERMINAL_INPUT: u64 = 21;
const TERMINAL_OUTPUT: u64 = 22;
const URGENT: u64 = 23;
const WINDOW: u64 = 28;

/// The bit of a signal.
pub const fn bit(signal: u64) -> u64 {
    if signal == 0 || signal > HIGHEST { 0 } else { 1 << (signal - 1) }
}

/// Returns true if the signal tells a process of the background that it may not use the terminal.
pub const fn is_of_background(signal: u64) -> bool {
    signal == TERMINAL_INPUT || signal == TERMINAL_OUTPUT
}

/// Signals that stop.
pub(super) const STOPS: u64 = bit(STOP) | KEY_STOPS;
/// Stop signals that do not stop a process of an orphaned group.
pub(super) const KEY_STOPS: u64 = bit(TERMINAL_STOP) | bit(TERMINAL_INPUT) | bit(TERMINAL_OUTPUT);
/// Signals whose default effect is nothing.
pub(super) const HARMLESS: u64 = bit(CHILD) | bit(CONTINUE) | bit(URGENT) | bit(WINDOW);
/// Signals that cannot be ignored.
pub const UNSTOPPABLE: u64 = bit(KILL) | bit(STOP);

/// A signal that waits to be fetched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signal {
    /// Number of the signal.
    pub number: u64,
    /// Code of its origin.
    pub code: u64,
    /// Sender, and the sender's user.
    pub sender: u64,
    /// The user.
    pub user: u64,
    /// Value that the signal carries.
    pub value: u64,
    /// Thread that the signal is for, or 0 for any.
    pub thread: u64,
}

/// Request to send a signal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// Process, group, or all.
    pub target: i64,
    /// Thread, if not 0.
    pub thread: u64,
    /// Number of the signal, or 0 to check the target only.
    pub number: u64,
    /// Code.
    pub code: u64,
    /// Value that the signal carries.
    pub value: u64,
}

impl Signal {
    /// A signal from nobody.
    pub fn from_system(number: u64) -> Signal {
        Signal { number, code: SI_KERNEL, ..Signal::default() }
    }
}
