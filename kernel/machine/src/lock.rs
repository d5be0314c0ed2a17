//! Who may be in the core. Under a CPU's *own lock* it takes the short course of a call, beside others that do the same; whoever has *all locks* is alone. And the claims by which short courses keep off
//! each other's objects.
//!
//! All locks are one turn of a queue of tickets, and then a look at each CPU until it is not inside. A CPU's own lock is its word that says so. It says it first and looks for tickets then; who takes a ticket
//! looks at the words only after that. So one of two always sees the other.
//!
//! Invariants: nobody who has all locks is in the core with anybody else, and no claim is taken then; nobody waits who is inside, or who holds a claim: a CPU that finds somebody before it goes out again, and queues.
//! Turns come in the order in which they were taken.
//!
//! The tests in `tests/interleavings.rs` run this file under loom, with its atomics in place of `crate::atomic`.
#![forbid(unsafe_code)]

use crate::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence, spin_loop};

/// The queue of those who want all locks. Every CPU reads it at each entry: its cache lines hold nothing else.
#[repr(align(128))]
pub struct Queue {
    /// The next ticket.
    pub next: AtomicU32,
    /// Whose turn it is: no other ticket than `next` if nobody has or wants all locks.
    pub serving: AtomicU32,
}

impl Queue {
    /// Takes a CPU's own lock, `inside`, unless somebody has or wants all.
    #[inline(always)]
    pub fn enter(&self, inside: &AtomicBool) -> bool {
        inside.store(true, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let serving = self.serving.load(Ordering::Acquire);
        if serving == self.next.load(Ordering::Relaxed) {
            return true;
        }
        leave(inside);
        false
    }

    /// Takes all locks, those of `others` and the queue's. `serve` is called again and again until it is this CPU's turn.
    #[inline(always)]
    pub fn acquire<'o>(&self, others: impl Iterator<Item = &'o AtomicBool>, serve: impl Fn()) {
        let ticket = self.next.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        if self.serving.load(Ordering::Acquire) != ticket {
            self.wait(ticket, serve);
        }
        for inside in others {
            while inside.load(Ordering::Acquire) {
                spin_loop();
            }
        }
    }

    #[cold]
    fn wait(&self, ticket: u32, serve: impl Fn()) {
        while self.serving.load(Ordering::Acquire) != ticket {
            serve();
            spin_loop();
        }
    }

    /// Lets all locks go.
    #[inline(always)]
    pub fn release(&self) {
        self.serving.store(self.serving.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
    }
}

/// Lets a CPU's own lock go.
#[inline(always)]
pub fn leave(inside: &AtomicBool) {
    inside.store(false, Ordering::Release);
}

const CLAIMED: u64 = 1;

/// See `Machine::claim`.
#[inline(always)]
pub fn claim(word: &AtomicU64) -> bool {
    word.fetch_or(CLAIMED, Ordering::Acquire) & CLAIMED == 0
}

/// See `Machine::claim_end`.
#[inline(always)]
pub fn claim_end(word: &AtomicU64) {
    word.store(0, Ordering::Release);
}
