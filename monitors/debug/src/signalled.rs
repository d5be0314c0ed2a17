//! Signals that gdb wants to see, that a process shows, and that a thread is about to get.

use alloc::vec::Vec;
use nacre_nest::library::REGISTERS_SET;

/// `SIGKILL`, which nobody sees, and those that a process does not get that gdb leaves if gdb has
/// not said which it does: `SIGINT` and `SIGTRAP`.
pub const KILL: u64 = 9;
const NOT_LEFT: u64 = bit(2) | bit(5);
/// A set with one signal.
pub const fn bit(signal: u64) -> u64 {
    1 << (signal - 1)
}

/// Signals that gdb has spoken of.
pub struct Choice {
    /// Signals that processes get without a stop.
    pub passed: u64,
    /// Signals that a process gets that is left while they stop it.
    pub left: u64,
}

impl Default for Choice {
    fn default() -> Choice {
        Choice { passed: 0, left: !NOT_LEFT }
    }
}

/// Signals of a process.
#[derive(Default)]
pub struct Shown {
    /// A breakpoint lies at the gate.
    pub is_placed: bool,
    /// A thread has entered the library since then, so that it hears of signals.
    pub is_told: bool,
    /// Signals that the library shows.
    pub stopping: u64,
}

/// A signal that a thread is about to get.
pub struct Signalled {
    pub number: u64,
    /// Address of its handler, or 0.
    pub handler: u64,
    /// True if it has cut off a call that can be made again.
    pub is_made_again: bool,
    /// gdb has set registers of the program.
    pub is_changed: bool,
    /// Contents of its `siginfo`.
    pub info: Vec<u8>,
}

impl Signalled {
    /// Returns the answer at the gate.
    pub fn answer(&self, signal: u64) -> u64 {
        signal | if self.is_changed { REGISTERS_SET } else { 0 }
    }
}
