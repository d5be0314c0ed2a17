//! The seat of a monitor at which commands of whoever runs the system come: a thread of its own
//! answers them, so the monitor's other work is not touched. Where nobody gives commands there is
//! no such thread.

use alloc::vec::Vec;
use nacre_control::{Attendant, Facts, Follower};
use nacre_rt::thread::{self, Handle};
use nacre_sys::lock::Lock;
use nacre_sys::{OwnedReference, Reference, Thread};

/// The attendant, until its thread takes it.
static ATTENDANT: Lock<Option<Attendant>> = Lock::new(None);
/// The service for those within.
static SERVICE: Lock<Option<OwnedReference>> = Lock::new(None);

/// Threads of the monitor beside the first.
static THREADS: Lock<Vec<Thread>> = Lock::new(Vec::new());

/// Adds a thread, which stays as long as the monitor, to those whose time the monitor tells.
pub fn count(handle: &Handle) {
    let mut threads = THREADS.lock();
    // A thread for which there is no room is not counted.
    if let Some(thread) = handle.thread().filter(|_| threads.try_reserve(1).is_ok()) {
        threads.push(thread);
    }
}

/// Nanoseconds of processors that the monitor's threads have had, if the machine's time is not
/// hidden.
pub fn time() -> Option<u64> {
    let threads = THREADS.lock();
    let all = threads.iter().chain([&Thread::FIRST]).filter_map(|thread| thread.time().ok());
    Some(all.sum()).filter(|time| *time > 0)
}

/// Attends for a monitor that tells these facts about itself whenever it is asked. A monitor that
/// cannot attend goes on without it.
pub fn begin(facts: fn() -> Facts) {
    begin_with(facts, None);
}

/// Attends as [`begin`] does, for a monitor that may follow some commands.
pub fn begin_with(facts: fn() -> Facts, follower: Option<&'static dyn Follower>) {
    let Some(attendant) = Attendant::start(facts, follower) else { return };
    let Ok(service) = attendant.service() else { return };
    *ATTENDANT.lock() = Some(attendant);
    match thread::spawn(serve, 0) {
        Ok(handle) => {
            count(&handle);
            core::mem::forget(handle);
            *SERVICE.lock() = Some(service);
        }
        // The seat outside goes with it.
        Err(_) => drop(ATTENDANT.lock().take()),
    }
}

/// The service `control` for those within, if the monitor attends.
pub fn service() -> Option<Reference> {
    SERVICE.lock().as_ref().map(OwnedReference::handle)
}

fn serve(_: usize) {
    let attendant = ATTENDANT.lock().take();
    if let Some(attendant) = attendant {
        // Whoever attends within then hears of no commands any more.
        let _ = attendant.serve();
    }
}
