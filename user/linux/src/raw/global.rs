//! A value that all threads of the library share, behind one lock.

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, Ordering};
use nacre_sys::lock::RawLock;

/// Place for a value, which exists from [`Global::set`] on. Before that it is all zeros, so that no
/// page of a file is copied for it.
pub struct Global<T> {
    value: UnsafeCell<MaybeUninit<T>>,
    exists: AtomicBool,
    lock: RawLock,
}

// SAFETY: a thread reaches the value only while it holds the lock.
unsafe impl<T> Sync for Global<T> {}

impl<T> Global<T> {
    /// A place without a value.
    pub const fn new() -> Global<T> {
        Global { value: UnsafeCell::new(MaybeUninit::zeroed()), exists: AtomicBool::new(false), lock: RawLock::new() }
    }

    /// The lock. A thread inside [`Global::with`] may give it up for a while if it uses nothing of
    /// the value meanwhile.
    pub fn lock(&self) -> &RawLock {
        &self.lock
    }

    /// Keeps the value, once `complete` has made it what it has to be. The value is large and moves
    /// nowhere: each page of stack that it stood in would be one more.
    #[inline(always)]
    pub fn set<E>(&self, value: T, complete: impl FnOnce(&mut T) -> Result<(), E>) -> Result<(), E> {
        // Another thread may ask already whether the value exists.
        self.lock.lock();
        // SAFETY: this thread holds the lock, and nobody borrows a value that does not exist yet.
        let result = complete(unsafe { (*self.value.get()).write(value) });
        self.exists.store(result.is_ok(), Ordering::Release);
        self.lock.unlock();
        result
    }

    /// Runs `work` with the value, under the lock. Returns `None` if there is no value yet.
    #[inline]
    pub fn with<R>(&self, work: impl FnOnce(&mut T) -> R) -> Option<R> {
        self.lock.lock();
        let exists = self.exists.load(Ordering::Relaxed);
        // SAFETY: this thread holds the lock, so no other thread uses a reference to the value;
        // what was set is whole.
        let result = exists.then(|| work(unsafe { (*self.value.get()).assume_init_mut() }));
        self.lock.unlock();
        result
    }
}
