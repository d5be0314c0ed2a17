//! Threads of a process, and locks between them.

use core::sync::atomic::{AtomicU32, Ordering};

use nacre_proto::Errno;
use nacre_sys::lock::RawLock;

use super::call;
use super::context::Context;
use crate::contention::{Contest, Lock};
use crate::figure::sample;

const STACK: u64 = 64 << 10;

/// Both threads' contest.
type Pair = Contest<FutexLock>;

/// Runs `function` in another thread while this one runs `measure`.
fn beside(function: extern "C" fn(u64), measure: impl FnOnce(&Pair) -> u64) -> Result<u64, Errno> {
    let pair = Contest::new(FutexLock(AtomicU32::new(0)), call::sched_yield);
    let running = AtomicU32::new(1);
    let stack = call::memory(STACK, false)?;
    // SAFETY: fresh memory, given back after the thread has ended.
    unsafe { call::thread(stack + STACK, &running, function, &raw const pair as u64) }?;
    let figure = measure(&pair);
    pair.end();
    while running.load(Ordering::Acquire) != 0 {
        call::sched_yield();
    }
    // SAFETY: the thread has ended.
    unsafe { call::unmap(stack, STACK) };
    Ok(figure)
}

/// Measures the switch from one thread to another: half of there and back. Linux's work on return
/// to the thread that yields counts too.
pub fn switch(_: &Context) -> Result<u64, Errno> {
    Ok(beside(keep_switching, |pair| sample(200, || pair.switch_once(0)))? / 2)
}

extern "C" fn keep_switching(pair: u64) {
    // SAFETY: who started the thread waits until it has ended.
    let pair = unsafe { &*(pair as *const Pair) };
    while !pair.is_over() {
        pair.switch_once(1);
    }
}

/// A lock that two threads want at once, a turn of either.
pub fn lock_contended(_: &Context) -> Result<u64, Errno> {
    Ok(beside(keep_locking, |pair| sample(200, || pair.lock_once(0)))? / 2)
}

extern "C" fn keep_locking(pair: u64) {
    // SAFETY: who started the thread waits until it has ended.
    let pair = unsafe { &*(pair as *const Pair) };
    while !pair.is_over() {
        pair.lock_once(1);
    }
}

extern "C" fn end(_: u64) {}

/// A thread made, started, ended and waited for; its stack is there already.
pub fn create(_: &Context) -> Result<u64, Errno> {
    let stack = call::memory(STACK, false)?;
    let running = AtomicU32::new(1);
    Ok(sample(50, || {
        running.store(1, Ordering::Relaxed);
        // SAFETY: the thread that had the stack before has ended.
        if unsafe { call::thread(stack + STACK, &running, end, 0) }.is_err() {
            return;
        }
        while running.load(Ordering::Acquire) != 0 {
            call::futex_wait(&running, 1);
        }
    }))
}

/// Measures a lock without contention, by the same code as on Nacre. It never enters a kernel.
pub fn lock_uncontended(_: &Context) -> Result<u64, Errno> {
    let lock = RawLock::new();
    Ok(sample(1000, || {
        lock.lock();
        lock.unlock();
    }))
}

/// A lock as Nacre's - 0 free, 1 locked, 2 locked and somebody waits - on a futex.
struct FutexLock(AtomicU32);

impl Lock for FutexLock {
    fn lock(&self) {
        if self.0.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            while self.0.swap(2, Ordering::Acquire) != 0 {
                call::futex_wait(&self.0, 2);
            }
        }
    }

    fn unlock(&self) {
        if self.0.swap(0, Ordering::Release) == 2 {
            call::futex_wake(&self.0);
        }
    }
}
