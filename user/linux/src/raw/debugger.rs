//! The part that a debugger plays in the delivery of signals. It writes to the library's memory,
//! and puts a breakpoint at the gate (`nacre_nest::library`).

use crate::abi::signal_info::bit;
use core::sync::atomic::{AtomicU64, Ordering};

/// Signals that pass the gate before they are delivered. 0: no debugger is there.
pub static STOPPING: AtomicU64 = AtomicU64::new(0);

/// Returns true if a debugger wants to see a signal.
#[inline]
pub fn sees(signal: u64) -> bool {
    STOPPING.load(Ordering::Relaxed) & bit(signal) != 0
}

/// Returns true if a debugger wants to see any signal.
pub fn is_there() -> bool {
    STOPPING.load(Ordering::Relaxed) != 0
}
