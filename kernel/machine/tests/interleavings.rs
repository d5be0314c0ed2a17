//! The locks under loom: every interleaving, and every order in which the memory model lets CPUs
//! see each other's writes. `lock.rs` is the kernel's own file; only its atomics are loom's.

/// Atomic types of `lock.rs` in this test.
mod atomic {
    pub use loom::hint::spin_loop;
    pub use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};

    /// As small as possible: each entry that waits comes to be first, and each passes over a first
    /// CPU.
    pub const HUNGRY: u32 = 0;
    pub const PATIENCE: u32 = 0;
}

#[path = "../src/lock.rs"]
mod lock;

use atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use lock::All;
use loom::cell::UnsafeCell;
use loom::sync::Arc;

/// A kernel of two words: one that is written under all locks and read by short courses, one that a
/// claim guards.
struct Core {
    all: All,
    inside: [AtomicBool; 2],
    claim: AtomicU64,
    alone: UnsafeCell<u32>,
    claimed: UnsafeCell<u32>,
}

impl Core {
    fn new() -> Arc<Core> {
        Arc::new(Core {
            all: All { taken: AtomicU32::new(0), first: AtomicU32::new(0) },
            inside: [AtomicBool::new(false), AtomicBool::new(false)],
            claim: AtomicU64::new(0),
            alone: UnsafeCell::new(0),
            claimed: UnsafeCell::new(0),
        })
    }

    /// An entry under all locks, which may write everything. Loom fails if anybody else looks
    /// meanwhile.
    fn long(&self, cpu: usize) {
        self.all.acquire(cpu, self.inside.iter(), || ());
        // SAFETY: loom checks that nobody else has the word.
        self.alone.with_mut(|word| unsafe { *word += 1 });
        // SAFETY: as above.
        self.claimed.with_mut(|word| unsafe { *word += 1 });
        self.all.release();
    }

    /// An entry that tries a short course: it reads the one word, and writes the other if it gets
    /// the claim.
    fn short(&self, cpu: usize) {
        if self.all.enter(&self.inside[cpu]) {
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
        self.long(cpu);
    }

    /// Returns the number of entries that have written the claimed word.
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
    both(|core| core.long(0), |core| core.long(1));
}

#[test]
fn a_long_entry_is_alone_whatever_a_short_one_does() {
    both(|core| core.long(0), |core| core.short(1));
}

#[test]
fn two_short_entries_never_write_the_same() {
    both(|core| core.short(0), |core| core.short(1));
}

#[test]
fn a_short_entry_that_ends_lets_the_long_one_go_on() {
    both(
        |core| core.long(0),
        |core| {
            // Twice: the second may find the lock taken by the first CPU, or come before it.
            if core.all.enter(&core.inside[1]) {
                lock::leave(&core.inside[1]);
            }
            core.short(1);
        },
    );
}

#[test]
fn a_first_cpu_that_does_not_run_stops_nobody() {
    loom::model(|| {
        let core = Core::new();
        core.all.first.store(3, Ordering::Relaxed);
        let second = core.clone();
        let thread = loom::thread::spawn(move || second.short(1));
        core.long(0);
        thread.join().expect("the other CPU");
        assert_eq!(core.count(), 2);
    });
}
