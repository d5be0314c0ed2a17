//! The order in which waiting CPUs take the locks, under loom. Here no CPU ever loses its patience.

/// Atomics and bounds of `lock.rs` for this test.
mod atomic {
    pub use loom::hint::spin_loop;
    pub use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering, fence};

    pub const HUNGRY: u32 = 0;
    pub const PATIENCE: u32 = u32::MAX;
}

#[allow(dead_code)]
#[path = "../src/lock.rs"]
mod lock;

use atomic::{AtomicU32, Ordering};
use lock::All;
use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread::JoinHandle;
use std::cell::RefCell;

/// A lock, and the number of turns that the waiting CPU has had.
struct Core {
    all: All,
    turns: UnsafeCell<u32>,
}

/// Set by each execution in which the other CPU was first.
static WAITED: std::sync::atomic::AtomicBool = std::sync::atomic::AtomicBool::new(false);

#[test]
fn a_cpu_that_is_first_goes_before_the_one_that_comes_again() {
    loom::model(|| {
        let all = All { taken: AtomicU32::new(0), first: AtomicU32::new(0) };
        let core = Arc::new(Core { all, turns: UnsafeCell::new(0) });
        core.all.acquire(0, [].into_iter(), || ());
        let waiting = core.clone();
        let thread = loom::thread::spawn(move || {
            waiting.all.acquire(1, [].into_iter(), || ());
            // SAFETY: loom checks that nobody else has the word.
            waiting.turns.with_mut(|turns| unsafe { *turns += 1 });
            waiting.all.release();
        });
        (0..2).for_each(|_| loom::thread::yield_now());
        let waits = core.all.first.load(Ordering::Relaxed) != 0;
        core.all.release();
        // The checker gives no turn to one of two CPUs that both spin, so this one blocks when it
        // waits.
        let thread = RefCell::new(Some(thread));
        core.all.acquire(0, [].into_iter(), || drop(thread.take().map(JoinHandle::join)));
        if waits {
            WAITED.store(true, Ordering::Relaxed);
            // SAFETY: as above.
            assert_eq!(core.turns.with(|turns| unsafe { *turns }), 1);
        }
        core.all.release();
        drop(thread.take().map(JoinHandle::join));
    });
    assert!(WAITED.load(Ordering::Relaxed), "in no execution did the other CPU wait");
}
