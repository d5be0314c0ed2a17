//! Threads of one space, and locks between them.

use alloc::boxed::Box;

use nacre_abi::ObjectType;
use nacre_abi::rights::REFERENCE_NOTIFY;
use nacre_proto::Errno;
use nacre_sys::lock::RawLock;
use nacre_sys::{OwnedPort, OwnedThread, PortSet, Reference, Space, Thread, ipc};

use super::fixture::{self, Fixture, first_state, rest, slot, stack};
use crate::contention::{Contest, Lock};
use crate::figure::{sample, sample_results};

impl Lock for RawLock {
    fn lock(&self) {
        RawLock::lock(self);
    }

    fn unlock(&self) {
        RawLock::unlock(self);
    }
}

/// Both threads' contest.
type Pair = Contest<RawLock>;

/// Runs `function` in another thread while this one runs `measure`.
fn beside(function: extern "C" fn(u64) -> !, measure: impl FnOnce(&Pair) -> u64) -> Result<u64, Errno> {
    let pair = Box::new(Contest::new(RawLock::new(), Thread::yield_now));
    let thread = fixture::start(Space::OWN, function, &raw const *pair as u64)?;
    let figure = measure(&pair);
    pair.end();
    drop(thread);
    Ok(figure)
}

extern "C" fn keep_switching(pair: u64) -> ! {
    // SAFETY: who started the thread destroys it before the pair goes.
    let pair = unsafe { &*(pair as *const Pair) };
    while !pair.is_over() {
        pair.switch_once(1);
    }
    rest()
}

extern "C" fn keep_locking(pair: u64) -> ! {
    // SAFETY: as above.
    let pair = unsafe { &*(pair as *const Pair) };
    while !pair.is_over() {
        pair.lock_once(1);
    }
    rest()
}

/// Measures the switch from one thread to another: half of there and back.
pub fn switch(_: &Fixture) -> Result<u64, Errno> {
    Ok(beside(keep_switching, |pair| sample(500, || pair.switch_once(0)))? / 2)
}

extern "C" fn keep_yielding(_: u64) -> ! {
    loop {
        Thread::yield_now();
    }
}

/// CPU time given to a thread of which this one is the scheduler, and back, as soon as it has it.
pub fn donate(_: &Fixture) -> Result<u64, Errno> {
    let port = OwnedPort::new(0, PortSet::NONE)?;
    let thread = fixture::start(Space::OWN, keep_yielding, 0)?;
    thread.handle().set_scheduler(port.handle().as_keeper(), 0)?;
    ipc::receive_words(port.address())?;
    sample_results(500, || thread.handle().donate(0, 0))
}

/// A lock that two threads want at once, a turn of either.
pub fn lock_contended(_: &Fixture) -> Result<u64, Errno> {
    Ok(beside(keep_locking, |pair| sample(500, || pair.lock_once(0)))? / 2)
}

/// Measures a lock without contention. It never enters the kernel.
pub fn lock_uncontended(_: &Fixture) -> Result<u64, Errno> {
    let lock = RawLock::new();
    Ok(sample(1000, || {
        lock.lock();
        lock.unlock();
    }))
}

/// Memory of a thread that ends at once.
struct Short {
    thread: Thread,
    done: Reference,
}

extern "C" fn end(short: u64) -> ! {
    // SAFETY: who started the thread waits until it has ended.
    let short = unsafe { &*(short as *const Short) };
    let _ = ipc::notify(short.done, 1);
    let _ = short.thread.destroy();
    rest()
}

/// A thread made, started, ended - it says so, and destroys itself - and waited for; its stack is
/// there already.
pub fn create(_: &Fixture) -> Result<u64, Errno> {
    let port = OwnedPort::new(0, PortSet::NONE)?;
    let done = port.new_reference(REFERENCE_NOTIFY)?;
    let short = Box::new(Short { thread: Thread(slot(ObjectType::Thread)?), done: done.handle() });
    let state = first_state(end, &raw const *short as u64, stack()?);
    let one = || -> Result<(), Errno> {
        let thread = Thread::create(short.thread.0, Space::OWN)?;
        thread.set_state(&state)?;
        thread.start()?;
        ipc::receive_words(port.address())?;
        Ok(())
    };
    sample_results(100, one)
}

fn stopped() -> Result<OwnedThread, Errno> {
    Ok(OwnedThread::make(|slot| Thread::create(slot, Space::OWN))?)
}

/// All registers of a stopped thread, read.
pub fn get_state(_: &Fixture) -> Result<u64, Errno> {
    let thread = stopped()?;
    sample_results(500, || thread.get_state())
}

/// All registers of a stopped thread, written.
pub fn set_state(_: &Fixture) -> Result<u64, Errno> {
    let thread = stopped()?;
    let state = thread.get_state()?;
    sample_results(500, || thread.set_state(&state))
}
