//! Two threads that want the same, on either system: a lock, or the processor. Each waits until the
//! other has begun to want it, so that every turn is a contended one.

use core::sync::atomic::{AtomicU32, Ordering};

/// A lock, as either system has it.
pub trait Lock {
    /// Waits until it is free, and takes it.
    fn lock(&self);
    /// Frees it.
    fn unlock(&self);
}

/// State that the two threads share.
pub struct Contest<L> {
    lock: L,
    wants: [AtomicU32; 2],
    turn: AtomicU32,
    over: AtomicU32,
    sched_yield: fn(),
}

impl<L: Lock> Contest<L> {
    /// A contest between two threads that let others run with `sched_yield`.
    pub const fn new(lock: L, sched_yield: fn()) -> Contest<L> {
        Contest { lock, wants: [const { AtomicU32::new(0) }; 2], turn: AtomicU32::new(0), over: AtomicU32::new(0), sched_yield }
    }

    /// One turn with the lock: it is taken, freed as soon as the other thread wants it, and then
    /// left to that thread. So a turn is a wait, a wake and two yields.
    #[inline(always)]
    pub fn lock_once(&self, me: usize) {
        self.wants[me].store(1, Ordering::Relaxed);
        self.lock.lock();
        self.wants[me].store(0, Ordering::Relaxed);
        self.yield_while(1 - me, 0);
        self.lock.unlock();
        self.yield_while(1 - me, 1);
    }

    #[inline(always)]
    fn yield_while(&self, other: usize, wants: u32) {
        while self.wants[other].load(Ordering::Relaxed) == wants && !self.is_over() {
            (self.sched_yield)();
        }
    }

    /// Passes the turn to the other thread, and yields until it comes back.
    #[inline(always)]
    pub fn switch_once(&self, me: u32) {
        self.turn.store(1 - me, Ordering::Relaxed);
        while self.turn.load(Ordering::Relaxed) != me && !self.is_over() {
            (self.sched_yield)();
        }
    }

    /// The other thread is to end.
    pub fn end(&self) {
        self.over.store(1, Ordering::Release);
    }

    /// Returns true if the contest is over.
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed) != 0
    }
}
