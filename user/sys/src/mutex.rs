//! The kernel's mutexes: threads wait there while a word is 2. The locks of [`lock`](crate::lock)
//! wait at conditions instead, because waking a condition tells how many threads it woke.

use core::sync::atomic::AtomicU32;

use nacre_abi::{Call, Status};

use crate::object::object;
use crate::raw;

object! {
    /// Kernel object at which threads wait for a lock that is taken.
    Mutex, MutexState, MutexDestroy, MutexMove, MutexReference, MutexGetState, MutexSetState
}

impl Mutex {
    /// Makes a mutex in the free `slot`.
    pub fn create(slot: u64) -> Result<Mutex, Status> {
        raw::call(Call::MutexCreate, [slot, 0, 0, 0]).map(|_| Mutex(slot))
    }

    /// Waits while `word` is 2 (locked, contended), for at most `timeout` nanoseconds (0: for
    /// ever).
    pub fn lock(self, word: &AtomicU32, timeout: u64) -> Result<(), Status> {
        raw::wait(Call::MutexLock, self.0, word, 0, timeout)
    }

    /// Lets one waiting thread look again.
    pub fn unlock(self) -> Result<(), Status> {
        raw::call(Call::MutexUnlock, [self.0, 0, 0, 0]).map(drop)
    }
}
