//! The locks of this machine's CPUs. Interrupts are off wherever they are taken.

use super::{cpu, tlb};
use crate::lock::{self, All};
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

static ALL: All = All { taken: AtomicU32::new(0), first: AtomicU32::new(0) };
/// Number of CPUs that enter the core, set before any does. A single CPU needs no locks.
static COUNT: AtomicUsize = AtomicUsize::new(1);

/// Sets the number of CPUs that enter the core, before any does.
pub fn initialize(count: usize) {
    COUNT.store(count, Ordering::Relaxed);
}

#[inline(always)]
fn is_alone() -> bool {
    COUNT.load(Ordering::Relaxed) == 1
}

/// Takes the lock of the CPU that this runs on, unless another has all or waits for them.
#[inline(always)]
pub fn enter() -> bool {
    is_alone() || ALL.enter(&cpu::this().inside)
}

/// Takes the own lock for work that is worth it only beside other CPUs. One CPU would look twice at
/// what it then
/// does under all locks.
#[inline(always)]
pub fn enter_beside() -> bool {
    !is_alone() && enter()
}

/// Lets it go.
#[inline(always)]
pub fn leave() {
    lock::leave(&cpu::this().inside);
}

/// Takes all locks. A CPU that waits for its turn answers requests of the one that has them, so
/// that one may wait for that.
#[inline(always)]
pub fn acquire() {
    if is_alone() {
        return;
    }
    // This CPU is not inside itself: its own word needs no exception.
    let all = (0..COUNT.load(Ordering::Relaxed)).filter_map(cpu::other);
    ALL.acquire(cpu::index(), all.map(|cpu| &cpu.inside), tlb::serve);
}

/// Lets them go.
#[inline(always)]
pub fn release() {
    if !is_alone() {
        ALL.release();
    }
}
