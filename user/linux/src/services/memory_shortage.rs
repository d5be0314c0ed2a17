//! Remembers that the memory server had no memory left.

use core::sync::atomic::{AtomicBool, Ordering};

/// True once the process was refused memory: then calls that make something are refused before the
/// library's heap is used up.
pub static IS_SHORT: AtomicBool = AtomicBool::new(false);

/// Remembers that there was no memory for the process.
pub fn memory_is_short() {
    IS_SHORT.store(true, Ordering::Relaxed);
}
