//! The one kernel lock: tickets, so that entries are served in the order in which they came.

use super::tlb;
use core::sync::atomic::{AtomicU32, Ordering};

static NEXT: AtomicU32 = AtomicU32::new(0);
static SERVING: AtomicU32 = AtomicU32::new(0);

/// Takes the lock. Interrupts are off. A CPU that waits here answers requests of the lock's holder, so the holder may wait for that.
#[inline(always)]
pub fn acquire() {
    let ticket = NEXT.fetch_add(1, Ordering::Relaxed);
    if SERVING.load(Ordering::Acquire) != ticket {
        wait(ticket);
    }
}

#[cold]
fn wait(ticket: u32) {
    while SERVING.load(Ordering::Acquire) != ticket {
        tlb::serve();
        core::hint::spin_loop();
    }
}

/// Lets the next one in.
#[inline(always)]
pub fn release() {
    SERVING.store(SERVING.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
}
