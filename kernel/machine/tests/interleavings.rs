//! The locks under loom: every interleaving, and every order in which the memory model lets CPUs see each other's writes. `lock.rs` is the kernel's own file; only its atomics are loom's.

/// What `lock.rs` is made of here.
mod atomic {
    pub use loom::hint::spin_loop;
    pub use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};
}

#[path = "../src/lock.rs"]
mod lock;

use atomic::{AtomicBool, AtomicU32, AtomicU64};
use lock::Queue;
use loom::cell::UnsafeCell;
use loom::sync::Arc;

/// A kernel of two words: one that is written under all locks and read by short courses, one that a claim guards.
struct Core {
    queue: Queue,
    inside: [AtomicBool; 2],
    claim: AtomicU64,
    alone: UnsafeCell<u32>,
    claimed: UnsafeCell<u32>,
}

impl Core {
    fn new() -> Arc<Core> {
        Arc::new(Core {
            queue: Queue { next: AtomicU32::new(0), serving: AtomicU32::new(0) },
            inside: [AtomicBool::new(false), AtomicBool::new(false)],
            claim: AtomicU64::new(0),
            alone: UnsafeCell::new(0),
            claimed: UnsafeCell::new(0),
        })
    }

    /// An entry under all locks, which may write everything. Loom fails if anybody else looks meanwhile.
    fn long(&self) {
        self.queue.acquire(self.inside.iter(), || ());
        // SAFETY: loom checks that nobody else has the word.
        self.alone.with_mut(|word| unsafe { *word += 1 });
        // SAFETY: as above.
        self.claimed.with_mut(|word| unsafe { *word += 1 });
        self.queue.release();
    }

    /// An entry that tries a short course: it reads the one word, and writes the other if it gets the claim.
    fn short(&self, cpu: usize) {
        if self.queue.enter(&self.inside[cpu]) {
            // SAFETY: as above.
            self.alone.with(|word| unsafe { *word });
            let claimed = lock::claim(&self.claim);
            if claimed {
                // SAFETY: as above.
                self.claimed.with_mut(|word| unsafe { *word += 1 });
                lock::claim_end(&self.claim);
            }
            lock::leave(&self.inside[cpu]);
            if claimed {
                return;
            }
        }
        self.long();
    }

    /// How many entries have written the claimed word.
    fn count(&self) -> u32 {
        // SAFETY: as above.
        self.claimed.with(|word| unsafe { *word })
    }
}

/// Lets one CPU do `other` while this one does `mine`; both entries must have come to their end.
fn both(mine: impl Fn(&Core) + Sync + Send + 'static, other: impl Fn(&Core) + Sync + Send + Copy + 'static) {
    loom::model(move || {
        let core = Core::new();
        let second = core.clone();
        let thread = loom::thread::spawn(move || other(&second));
        mine(&core);
        thread.join().expect("the other CPU");
        assert_eq!(core.count(), 2);
    });
}

#[test]
fn two_long_entries_come_one_after_the_other() {
    both(Core::long, Core::long);
}

#[test]
fn a_long_entry_is_alone_whatever_a_short_one_does() {
    both(Core::long, |core| core.short(1));
}

#[test]
fn two_short_entries_never_write_the_same() {
    both(|core| core.short(0), |core| core.short(1));
}

#[test]
fn a_short_entry_that_ends_lets_the_long_one_go_on() {
    both(
        |core| core.long(),
        |core| {
            // Twice: the second may find the ticket of the first CPU, or come before it.
            if core.queue.enter(&core.inside[1]) {
                lock::leave(&core.inside[1]);
            }
            core.short(1);
        },
    );
}
