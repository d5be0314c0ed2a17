//! Locks and conditions between the threads of a program. Uncontended, they never enter the kernel.
//!
//! A lock is a 32-bit word (0 free, 1 locked, 2 locked and somebody waits) and a kernel
//! [`Condition`](crate::Condition) for the threads that wait, which the first of them makes.
//! Without a slot for it they yield instead.
//!
//! A freed lock goes to the first thread that takes it, which is usually the one that freed it.
//! That can starve the others. So a waiter that was woken and found the lock taken again makes it
//! *fair*: from then on `unlock` hands the lock to the waiter that it wakes, in the order in which
//! they came, until no thread waits.

use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use nacre_abi::ObjectType;

use crate::{Thread, slots};

const FREE: u32 = 0;
const LOCKED: u32 = 1;
const CONTENDED: u32 = 2;

/// The word and the kernel's part of a lock, without what it guards.
#[derive(Debug)]
pub struct RawLock {
    word: AtomicU32,
    /// 1: the lock belongs to a thread that has waited, and none of them has claimed it yet.
    handed: AtomicU32,
    /// 1: `unlock` hands the lock over.
    fair: AtomicU32,
    /// Address of the condition; 0 until a thread has to wait.
    condition: AtomicU64,
}

impl RawLock {
    /// A free lock.
    pub const fn new() -> RawLock {
        RawLock { word: AtomicU32::new(FREE), handed: AtomicU32::new(0), fair: AtomicU32::new(0), condition: AtomicU64::new(0) }
    }

    /// Waits until the lock is free, and takes it.
    #[inline(always)]
    pub fn lock(&self) {
        if !self.try_lock() {
            self.lock_contended();
        }
    }

    /// Takes the lock if it is free.
    #[inline(always)]
    pub fn try_lock(&self) -> bool {
        self.word.compare_exchange(FREE, LOCKED, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Frees the lock, which the caller has.
    #[inline(always)]
    pub fn unlock(&self) {
        if self.word.compare_exchange(LOCKED, FREE, Ordering::Release, Ordering::Relaxed).is_err() {
            self.unlock_contended();
        }
    }

    #[cold]
    fn lock_contended(&self) {
        // The condition is there before the word says that a thread waits, so that `unlock` finds
        // it.
        let condition = condition_in(&self.condition);
        let mut has_waited = false;
        while !(has_waited && self.claim()) && self.word.swap(CONTENDED, Ordering::Acquire) != FREE {
            if has_waited {
                self.fair.store(1, Ordering::Relaxed);
            }
            match condition {
                // After any end of the wait the loop looks at the word again.
                Some(address) => drop(crate::Condition(address).wait(&self.word, CONTENDED, crate::FOREVER)),
                None => Thread::yield_now(),
            }
            has_waited = true;
        }
    }

    /// Takes the lock if `unlock` has handed it over.
    fn claim(&self) -> bool {
        self.handed.compare_exchange(1, 0, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[cold]
    fn unlock_contended(&self) {
        // Read before the lock is free, because its next owner may drop it.
        let condition = self.condition.load(Ordering::Acquire);
        let wake = || if condition == 0 { 0 } else { crate::Condition(condition).signal(1).unwrap_or(0) };
        if self.fair.load(Ordering::Relaxed) != 0 {
            self.handed.store(1, Ordering::Release);
            // If no thread waits in the kernel the lock is free again, unless one has claimed it on
            // its way there.
            if wake() != 0 || !self.claim() {
                return;
            }
            self.fair.store(0, Ordering::Relaxed);
        }
        self.word.store(FREE, Ordering::Release);
        let _ = wake();
    }
}

impl Default for RawLock {
    fn default() -> RawLock {
        RawLock::new()
    }
}

impl Drop for RawLock {
    fn drop(&mut self) {
        destroy_in(&mut self.condition);
    }
}

/// The address in `place`, or that of a condition made now, unless another thread is first. `None`
/// without a slot for one.
fn condition_in(place: &AtomicU64) -> Option<u64> {
    let there = place.load(Ordering::Acquire);
    if there != 0 {
        return Some(there);
    }
    let slot = slots::allocate(ObjectType::Condition).ok()?;
    if crate::Condition::create(slot).is_err() {
        slots::free(slot, ObjectType::Condition);
        return None;
    }
    match place.compare_exchange(0, slot, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => Some(slot),
        Err(first) => {
            destroy_in(&mut AtomicU64::new(slot));
            Some(first)
        }
    }
}

/// Destroys the condition whose address is in `place`, if there is one.
fn destroy_in(place: &mut AtomicU64) {
    let condition = *place.get_mut();
    if condition != 0 && crate::Condition(condition).destroy().is_ok() {
        slots::free(condition, ObjectType::Condition);
    }
}

/// A value that one thread at a time can reach.
#[derive(Debug, Default)]
pub struct Lock<T> {
    raw: RawLock,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached only by the thread that has the lock, so that sharing the lock is
// sending the value.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T> Lock<T> {
    /// A free lock around `value`.
    pub const fn new(value: T) -> Lock<T> {
        Lock { raw: RawLock::new(), value: UnsafeCell::new(value) }
    }

    /// Waits until the lock is free, and takes it.
    #[inline(always)]
    pub fn lock(&self) -> Guard<'_, T> {
        self.raw.lock();
        Guard { lock: self }
    }

    /// Takes the lock if it is free.
    pub fn try_lock(&self) -> Option<Guard<'_, T>> {
        self.raw.try_lock().then(|| Guard { lock: self })
    }

    /// The value, which nobody else can reach now.
    pub fn get_mut(&mut self) -> &mut T {
        self.value.get_mut()
    }

    /// The value, without its lock.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

/// The lock is taken as long as this lives.
#[derive(Debug)]
pub struct Guard<'a, T> {
    lock: &'a Lock<T>,
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        // SAFETY: this thread has the lock.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this thread has the lock, and `self` is borrowed alone.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        self.lock.raw.unlock();
    }
}

/// Condition variable: threads wait at it for a change of what a lock guards.
#[derive(Debug)]
pub struct Condition {
    /// Counts signals, so that one between unlocking and waiting is not lost.
    word: AtomicU32,
    waiting: AtomicU32,
    condition: AtomicU64,
}

impl Condition {
    /// Returns a condition at which nobody waits.
    pub const fn new() -> Condition {
        Condition { word: AtomicU32::new(0), waiting: AtomicU32::new(0), condition: AtomicU64::new(0) }
    }

    /// Frees the lock, waits for a signal, takes the lock again. May return without one: the caller
    /// looks again at what it waits for.
    pub fn wait<'a, T>(&self, guard: Guard<'a, T>) -> Guard<'a, T> {
        self.wait_for(guard, crate::FOREVER)
    }

    /// Waits as [`Condition::wait`] does, for at most `timeout` nanoseconds (0: for ever).
    pub fn wait_for<'a, T>(&self, guard: Guard<'a, T>, timeout: u64) -> Guard<'a, T> {
        let condition = condition_in(&self.condition);
        let seen = self.word.load(Ordering::Relaxed);
        self.waiting.fetch_add(1, Ordering::Relaxed);
        let lock = guard.lock;
        drop(guard);
        match condition {
            // Whatever ended the wait, the caller looks again.
            Some(address) => drop(crate::Condition(address).wait(&self.word, seen, timeout)),
            None => Thread::yield_now(),
        }
        let guard = lock.lock();
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        guard
    }

    /// Wakes one waiting thread. The caller has the lock.
    pub fn signal(&self) {
        self.wake(1);
    }

    /// Wakes all waiting threads. The caller has the lock.
    pub fn broadcast(&self) {
        // One call wakes only so many.
        while self.wake(u64::MAX) != 0 {}
    }

    /// Wakes up to `count` threads; returns the number of threads that it woke.
    fn wake(&self, count: u64) -> u64 {
        if self.waiting.load(Ordering::Relaxed) == 0 {
            return 0;
        }
        self.word.fetch_add(1, Ordering::Release);
        match self.condition.load(Ordering::Acquire) {
            0 => 0,
            // A condition of ours is there, so that nothing can fail.
            condition => crate::Condition(condition).signal(count).unwrap_or(0),
        }
    }
}

impl Default for Condition {
    fn default() -> Condition {
        Condition::new()
    }
}

impl Drop for Condition {
    fn drop(&mut self) {
        destroy_in(&mut self.condition);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_taken_once() {
        let mut lock = Lock::new(5);
        {
            let mut guard = lock.lock();
            *guard += 1;
            assert!(lock.try_lock().is_none());
        }
        assert_eq!(lock.try_lock().map(|guard| *guard), Some(6));
        assert_eq!(*lock.get_mut(), 6);
    }
}
