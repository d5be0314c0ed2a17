//! Locks and conditions between the threads of a program. Uncontended, they never enter the kernel.
//!
//! A lock is a 32-bit word (0 free, 1 locked, 2 locked and somebody waits) and a kernel [`Mutex`] for those who wait, which is made
//! when the first one does. If there is no slot for it, they yield instead.

use core::cell::UnsafeCell;
use core::ops::{Deref, DerefMut};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use nacre_abi::{ObjectType, Status};

use crate::{Mutex, Thread, slots};

const FREE: u32 = 0;
const LOCKED: u32 = 1;
const CONTENDED: u32 = 2;

/// The word and the kernel's part of a lock, without what it guards.
#[derive(Debug)]
pub struct RawLock {
    word: AtomicU32,
    /// Address of the mutex; 0 until somebody has to wait.
    mutex: AtomicU64,
}

impl RawLock {
    /// A free lock.
    pub const fn new() -> RawLock {
        RawLock { word: AtomicU32::new(FREE), mutex: AtomicU64::new(0) }
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
        // Read first: once the lock is free, whoever takes it next may drop it.
        let mutex = self.mutex.load(Ordering::Relaxed);
        if self.word.swap(FREE, Ordering::AcqRel) == CONTENDED {
            self.wake(mutex);
        }
    }

    #[cold]
    fn lock_contended(&self) {
        // The mutex is there before the word says that somebody waits, so that who unlocks finds it.
        let mutex = lazily(&self.mutex, ObjectType::Mutex, |slot| Mutex::create(slot).map(|mutex| mutex.0), |address| Mutex(address).destroy());
        while self.word.swap(CONTENDED, Ordering::Acquire) != FREE {
            match mutex {
                // Whatever ended the wait, the word is looked at again.
                Some(address) => drop(Mutex(address).lock(&self.word, crate::FOREVER)),
                None => Thread::yield_now(),
            }
        }
    }

    #[cold]
    fn wake(&self, mutex: u64) {
        // The first to wait ever may have made the mutex since.
        let mutex = if mutex == 0 { self.mutex.load(Ordering::Acquire) } else { mutex };
        if mutex != 0 {
            // Nobody waiting is no error; a mutex of ours is there.
            let _ = Mutex(mutex).unlock();
        }
    }
}

impl Default for RawLock {
    fn default() -> RawLock {
        RawLock::new()
    }
}

impl Drop for RawLock {
    fn drop(&mut self) {
        let mutex = *self.mutex.get_mut();
        if mutex != 0 && Mutex(mutex).destroy().is_ok() {
            slots::free(mutex, ObjectType::Mutex);
        }
    }
}

/// The address in `place`, or that of an object made now, unless another thread is first.
fn lazily(
    place: &AtomicU64,
    kind: ObjectType,
    create: impl FnOnce(u64) -> Result<u64, Status>,
    destroy: impl FnOnce(u64) -> Result<(), Status>,
) -> Option<u64> {
    let there = place.load(Ordering::Acquire);
    if there != 0 {
        return Some(there);
    }
    let slot = slots::allocate(kind).ok()?;
    if create(slot).is_err() {
        slots::free(slot, kind);
        return None;
    }
    match place.compare_exchange(0, slot, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => Some(slot),
        Err(first) => {
            if destroy(slot).is_ok() {
                slots::free(slot, kind);
            }
            Some(first)
        }
    }
}

/// A value that one thread at a time can reach.
#[derive(Debug, Default)]
pub struct Lock<T> {
    raw: RawLock,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached only by the thread that has the lock, so that sharing the lock is sending the value.
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

/// Where threads wait for something that a lock guards to change.
#[derive(Debug)]
pub struct Condition {
    /// Counts signals, so that one between unlocking and waiting is not lost.
    word: AtomicU32,
    waiting: AtomicU32,
    condition: AtomicU64,
}

impl Condition {
    /// Nobody waits.
    pub const fn new() -> Condition {
        Condition { word: AtomicU32::new(0), waiting: AtomicU32::new(0), condition: AtomicU64::new(0) }
    }

    /// Frees the lock, waits for a signal, takes the lock again. May return without one: the caller looks again at what it waits for.
    pub fn wait<'a, T>(&self, guard: Guard<'a, T>) -> Guard<'a, T> {
        self.wait_for(guard, crate::FOREVER)
    }

    /// The same, for at most `timeout` nanoseconds (0: for ever).
    pub fn wait_for<'a, T>(&self, guard: Guard<'a, T>, timeout: u64) -> Guard<'a, T> {
        let create = |slot| crate::Condition::create(slot).map(|condition| condition.0);
        let condition = lazily(&self.condition, ObjectType::Condition, create, |address| crate::Condition(address).destroy());
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

    /// How many were woken.
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
        let condition = *self.condition.get_mut();
        if condition != 0 && crate::Condition(condition).destroy().is_ok() {
            slots::free(condition, ObjectType::Condition);
        }
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
