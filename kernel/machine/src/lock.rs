//! Locks of the core. A CPU that holds its *own lock* takes the fast path of a call, beside other
//! CPUs that do the same. A CPU that holds *all locks* is alone in the core. Claims keep fast paths
//! off each other's objects.
//!
//! All locks are one word, `taken`, and then a look at each CPU until it is not inside. A CPU's own
//! lock is its word `inside`. The CPU sets `inside` first and reads `taken` then; a CPU that has
//! set `taken` reads `inside` only after that. So one of the two always sees the other.
//!
//! No order of arrival is kept, because a CPU that waits may not be running: below a hypervisor it
//! can lose its host CPU, and a turn that is reserved for it would stop all others. A CPU that has
//! waited for `HUNGRY` rounds becomes `first`: while it runs, no other takes the lock before it. If
//! it leaves the free lock lying for `PATIENCE` rounds, others go on without it.
//!
//! Invariants: a CPU that holds all locks is alone in the core, and no claim is taken then. No CPU
//! waits while it is inside or holds a claim: one that finds `taken` set goes out again, and waits
//! then. A waiting CPU that runs becomes first, and then gets the lock next: no CPU starves.
//!
//! The tests in `tests/interleavings.rs` run this file under loom, with its atomics and bounds in
//! place of `crate::atomic`.
#![forbid(unsafe_code)]

use crate::atomic::{AtomicBool, AtomicU32, AtomicU64, HUNGRY, Ordering, PATIENCE, fence, spin_loop};

/// The lock that excludes all CPUs. Every CPU reads it at each entry, so no other data shares its
/// cache lines.
#[repr(align(128))]
pub struct All {
    /// 1 while a CPU holds all locks, else 0.
    pub taken: AtomicU32,
    /// The CPU that the others let go first, as its number plus 1. 0 if there is none.
    pub first: AtomicU32,
}

impl All {
    /// Takes a CPU's own lock, `inside`, unless a CPU holds all locks.
    #[inline(always)]
    pub fn enter(&self, inside: &AtomicBool) -> bool {
        inside.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if self.taken.load(Ordering::Acquire) == 0 {
            return true;
        }
        leave(inside);
        false
    }

    /// Takes all locks for the CPU with number `cpu`. `others` are the own locks of the other CPUs.
    /// A CPU that waits calls `serve` in each round.
    #[inline(always)]
    pub fn acquire<'o>(&self, cpu: usize, others: impl Iterator<Item = &'o AtomicBool>, serve: impl Fn()) {
        if self.first.load(Ordering::Relaxed) != 0 || !self.try_take() {
            self.wait(cpu as u32 + 1, serve);
        }
        fence(Ordering::SeqCst);
        for inside in others {
            while inside.load(Ordering::Acquire) {
                spin_loop();
            }
        }
    }

    #[inline(always)]
    fn try_take(&self) -> bool {
        self.taken.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[cold]
    fn wait(&self, me: u32, serve: impl Fn()) {
        let (mut rounds, mut left_lying) = (0u32, 0u32);
        loop {
            serve();
            spin_loop();
            rounds = HUNGRY.min(rounds) + 1;
            let mut first = self.first.load(Ordering::Relaxed);
            if first == 0 && rounds > HUNGRY && self.first.compare_exchange(0, me, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                first = me;
            }
            let free = self.taken.load(Ordering::Relaxed) == 0;
            left_lying = if free { left_lying.saturating_add(1) } else { 0 };
            let may_take = first == 0 || first == me || left_lying > PATIENCE;
            if free && may_take && self.try_take() {
                // The CPU that was passed over becomes first again once it runs.
                let _ = self.first.compare_exchange(first, 0, Ordering::Relaxed, Ordering::Relaxed);
                return;
            }
        }
    }

    /// Releases all locks.
    #[inline(always)]
    pub fn release(&self) {
        self.taken.store(0, Ordering::Release);
    }
}

/// Releases a CPU's own lock.
#[inline(always)]
pub fn leave(inside: &AtomicBool) {
    inside.store(false, Ordering::Release);
}

const CLAIMED: u64 = 1;

/// Implements `Machine::claim`.
#[inline(always)]
pub fn claim(word: &AtomicU64) -> bool {
    word.fetch_or(CLAIMED, Ordering::Acquire) & CLAIMED == 0
}

/// Implements `Machine::claim_end`.
#[inline(always)]
pub fn claim_end(word: &AtomicU64) {
    word.store(0, Ordering::Release);
}
