//! The classic inversion, under fixed priorities: a thread of the lowest serves another of the
//! lowest, one in the middle never stops, and one of the highest calls the server.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use nacre_proto::Errno;
use nacre_rt::thread::{self, Handle};
use nacre_sched::{Claim, Priority, Scheduler};
use nacre_sys::{OwnedPort, Port, PortSet, Reference, Thread, ipc};

/// Priorities of the scheduler's clients.
const CLAIMS: [Claim; 3] = [Claim { weight: 1, priority: 1 }, Claim { weight: 1, priority: 2 }, Claim { weight: 1, priority: 3 }];
const LOW: u64 = 0;
const MIDDLE: u64 = 1;
const HIGH: u64 = 2;
/// Steps of the server's work for one request: some pieces of time.
const WORK: u64 = 10_000_000;
/// Limit of a wait, in pieces of a millisecond.
const PATIENCE: u64 = 1000;
const MILLISECOND: u64 = 1_000_000;

/// Number of requests that the server has begun.
static BEGUN: AtomicU64 = AtomicU64::new(0);
static ANSWERED: AtomicU64 = AtomicU64::new(0);
/// Progress of the program in the middle.
static SPUN: AtomicU64 = AtomicU64::new(0);

fn schedule(port: usize) {
    let _ = Scheduler::new(Priority::new(&CLAIMS), Port(port as u64), CLAIMS.len()).map(|scheduler| scheduler.run(|| 0));
}

fn serve(port: usize) {
    let mut next = ipc::receive_words(port as u64);
    while let Ok(received) = next {
        BEGUN.fetch_add(1, Relaxed);
        (0..WORK).for_each(|step| _ = core::hint::black_box(step));
        next = ipc::reply_receive_words(port as u64, 0, received.words);
    }
}

fn call_as_lowest(port: usize) {
    let _ = ipc::call_words(Reference(port as u64), 1, [0; 6]);
}

fn call_as_highest(port: usize) {
    if ipc::call_words(Reference(port as u64), 1, [0; 6]).is_ok() {
        ANSWERED.fetch_add(1, Relaxed);
    }
}

fn never_stop(_: usize) {
    loop {
        SPUN.fetch_add(1, Relaxed);
    }
}

/// Waits until `count` is at least 1.
fn happens(count: &AtomicU64) -> bool {
    (0..PATIENCE).any(|_| Thread::sleep(MILLISECOND).is_err() || count.load(Relaxed) > 0)
}

fn start(function: fn(usize), port: &OwnedPort, scheduler: &OwnedPort, client: u64) -> Result<(), Errno> {
    let thread = thread::spawn(function, port.address() as usize)?;
    thread.thread().ok_or(Errno::ESRCH)?.set_scheduler(Reference(scheduler.address()), client)?;
    // The thread goes on until the program ends.
    core::mem::forget::<Handle>(thread);
    Ok(())
}

fn run() -> Result<&'static str, Errno> {
    let [scheduler, port] = [OwnedPort::new(0, PortSet::NONE)?, OwnedPort::new(0, PortSet::NONE)?];
    core::mem::forget(thread::spawn(schedule, scheduler.address() as usize)?);
    start(serve, &port, &scheduler, LOW)?;
    start(call_as_lowest, &port, &scheduler, LOW)?;
    if !happens(&BEGUN) {
        return Ok("the server was never called\n");
    }
    start(never_stop, &port, &scheduler, MIDDLE)?;
    if !happens(&SPUN) {
        return Ok("the one in the middle never ran\n");
    }
    let begun = BEGUN.load(Relaxed);
    start(call_as_highest, &port, &scheduler, HIGH)?;
    let answered = happens(&ANSWERED);
    let (was_busy, spun) = (begun == 1, SPUN.swap(0, Relaxed));
    if !happens(&SPUN) {
        return Ok("the one in the middle has stopped\n");
    }
    core::mem::forget([scheduler, port]);
    Ok(match (answered, was_busy && spun > 0) {
        (true, true) => "answered\n",
        (true, false) => "the server had nothing to do\n",
        _ => "the highest waited for the one in the middle\n",
    })
}

/// Returns the result.
pub fn tried() -> &'static str {
    run().unwrap_or("it could not be tried\n")
}
