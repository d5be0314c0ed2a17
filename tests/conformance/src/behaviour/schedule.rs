//! Schedulers that are threads of this program.

use super::checks::{equal, fails, must, text};
use crate::fixture::{FREE, FREE_UNIT, NULL, PORT, strong};
use alloc::format;
use alloc::string::String;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use nacre_abi::{Call, Code, ObjectType};
use nacre_rt::thread::{self, Handle};
use nacre_sys::ipc::{self, Buffers};
use nacre_sys::{DonationEnd, FOREVER, Reference, Thread};

/// A millisecond.
const MILLISECOND: u64 = 1_000_000;

/// Counts of spinning threads, by their arguments.
static COUNTS: [AtomicU64; 4] = [const { AtomicU64::new(0) }; 4];
/// Permission of a thread to begin, by its argument.
static BEGIN: [AtomicBool; 4] = [const { AtomicBool::new(false) }; 4];
/// Minimum count of a server for each client.
const STEPS: u64 = 1_000_000;
/// Permission of servers to answer, so that they still count when the time that they were given is
/// over, however late a busy machine tells that.
static MAY_ANSWER: AtomicBool = AtomicBool::new(false);
/// Order to threads.
static ORDER: AtomicU64 = AtomicU64::new(0);

const SPIN: u64 = 0;
const END: u64 = 1;
const YIELD: u64 = 2;
const SLEEP: u64 = 3;

fn port() -> Reference {
    Reference(strong(ObjectType::Port))
}

/// Does what it is told, and counts.
fn work(number: usize) {
    loop {
        match ORDER.load(Ordering::Relaxed) {
            END => return,
            YIELD => Thread::yield_now(),
            SLEEP => _ = Thread::sleep(MILLISECOND),
            _ => {}
        }
        COUNTS[number].fetch_add(1, Ordering::Relaxed);
    }
}

fn count(number: usize) -> u64 {
    COUNTS[number].load(Ordering::Relaxed)
}

fn order(what: u64) {
    ORDER.store(what, Ordering::Relaxed);
}

/// The thread begins when it has its scheduler, wherever it has run before.
fn begin(number: usize) {
    while !BEGIN[number].load(Ordering::Relaxed) {
        core::hint::spin_loop();
    }
}

/// Starts a thread that the port of the fixture schedules, and takes its announcement.
fn scheduled(function: fn(usize), number: usize) -> Result<(Handle, Thread), String> {
    order(SPIN);
    COUNTS[number].store(0, Ordering::Relaxed);
    BEGIN[number].store(false, Ordering::Relaxed);
    let handle = thread::spawn(function, number).map_err(|errno| format!("no thread: {errno:?}"))?;
    let thread = handle.thread().ok_or("no handle")?;
    thread.set_scheduler(port(), number as u64).map_err(text("set_scheduler"))?;
    equal("announcement", announced()?, Some(number as u64))?;
    BEGIN[number].store(true, Ordering::Relaxed);
    Ok((handle, thread))
}

/// The announcement that must come to the port: however long the machine under this one takes a
/// rest.
fn announced() -> Result<Option<u64>, String> {
    announced_within(5000 * MILLISECOND)
}

/// The announcement that comes to the port within a time.
fn announced_within(timeout: u64) -> Result<Option<u64>, String> {
    match ipc::receive(PORT, Buffers::NONE, timeout) {
        Ok(received) => Ok(received.ready()),
        Err(status) if status.code() == Some(Code::TimedOut) => Ok(None),
        Err(status) => Err(text("receive")(status)),
    }
}

/// Ends a thread.
fn end(handle: Handle, thread: Thread) -> Result<(), String> {
    order(END);
    thread.set_scheduler(Reference(0), 0).map_err(text("free"))?;
    handle.join();
    Ok(())
}

fn give(thread: Thread, until: u64, timeout: u64, wanted: DonationEnd) -> Result<u64, String> {
    let donation = thread.donate(until, timeout).map_err(text("donate"))?;
    equal("end of the donation", donation.end, wanted)?;
    Ok(donation.used)
}

pub fn told() -> Result<(), String> {
    let (handle, thread) = scheduled(work, 0)?;
    let before = count(0);
    Thread::sleep(5 * MILLISECOND).map_err(text("sleep"))?;
    equal("work without time", count(0), before)?;
    equal("a second announcement", announced_within(20 * MILLISECOND)?, None)?;
    // The machine under this one may take a rest for all of a millisecond, but not each time.
    for _ in 0..1000 {
        give(thread, 0, MILLISECOND, DonationEnd::TimedOut)?;
        if count(0) != before {
            return end(handle, thread);
        }
    }
    Err("time was given, and nothing was done".into())
}

pub fn ends() -> Result<(), String> {
    let (handle, thread) = scheduled(work, 0)?;
    let used = give(thread, PORT, 3 * MILLISECOND, DonationEnd::TimedOut)?;
    // The time may be less than 3 ms, because others may have had this processor meanwhile.
    if used == 0 {
        return Err("nothing was used of 3 ms".into());
    }
    order(YIELD);
    give(thread, PORT, FOREVER, DonationEnd::Yielded)?;
    order(SLEEP);
    give(thread, PORT, FOREVER, DonationEnd::Blocked)?;
    order(SPIN);
    equal("announcement after sleeping", announced()?, Some(0))?;
    ipc::notify(port(), 4).map_err(text("notify"))?;
    let used = give(thread, PORT, FOREVER, DonationEnd::Arrived)?;
    equal("time used by nobody", used, 0)?;
    let received = ipc::receive_words(PORT).map_err(text("receive"))?;
    equal("what came", received.notification(), Some(4))?;
    end(handle, thread)
}

/// The port that clients call, with a reference to it in `FREE_UNIT`. Nobody may answer there yet.
fn second_port() -> Result<u64, String> {
    MAY_ANSWER.store(false, Ordering::Relaxed);
    must(Call::PortCreate, &[FREE, 0, 0])?;
    must(Call::ReferenceCreate, &[FREE_UNIT])?;
    must(Call::PortReference, &[FREE, FREE_UNIT, 3])?;
    Ok(FREE)
}

/// Answers twice after counting for a while each time, and not before it may.
fn serve(number: usize) {
    begin(number);
    let mut received = ipc::receive_words(FREE);
    for round in 0..2 {
        if received.is_err() {
            return;
        }
        let first = count(number);
        while count(number) < first + STEPS || !MAY_ANSWER.load(Ordering::Relaxed) {
            COUNTS[number].fetch_add(1, Ordering::Relaxed);
        }
        if round == 0 {
            received = ipc::reply_receive_words(FREE, 0, [0; 6]);
        }
    }
    let _ = ipc::reply(&ipc::Message::new(0, [0; 6]));
}

/// Calls the server once, then is done.
fn client(number: usize) {
    begin(number);
    if ipc::call_words(Reference(FREE_UNIT), 0, [0; 6]).is_ok() {
        COUNTS[number].store(1, Ordering::Relaxed);
    }
}

/// Donates a little time to a thread until another has begun to count, and then lets that one
/// answer.
fn give_until_it_counts(thread: Thread, until: u64, counter: usize) -> Result<(), String> {
    while count(counter) == 0 {
        give(thread, until, 2 * MILLISECOND, DonationEnd::TimedOut)?;
    }
    MAY_ANSWER.store(true, Ordering::Relaxed);
    Ok(())
}

pub fn server() -> Result<(), String> {
    second_port()?;
    COUNTS[1].store(0, Ordering::Relaxed);
    BEGIN[1].store(true, Ordering::Relaxed);
    let server = thread::spawn(serve, 1).map_err(|errno| format!("no thread: {errno:?}"))?;
    Thread::sleep(MILLISECOND).map_err(text("sleep"))?;
    let (one, first) = scheduled(client, 0)?;
    give_until_it_counts(first, 0, 1)?;
    // By its own right it goes on, and answers; the client still has no time.
    COUNTS[2].store(0, Ordering::Relaxed);
    BEGIN[2].store(true, Ordering::Relaxed);
    client(2);
    server.join();
    equal("enough steps of the server", count(1) >= 2 * STEPS, true)?;
    equal("steps of the client", count(0), 0)?;
    first.set_scheduler(Reference(0), 0).map_err(text("free"))?;
    one.join();
    equal("steps of the client in the end", count(0), 1)
}

pub fn inversion() -> Result<(), String> {
    second_port()?;
    let (server, serving) = scheduled(serve, 1)?;
    let (low, poor) = scheduled(client, 0)?;
    let (high, rich) = scheduled(client, 2)?;
    give(serving, PORT, FOREVER, DonationEnd::Blocked)?;
    give_until_it_counts(poor, 0, 1)?;
    equal("the server would go on", announced()?, Some(1))?;
    // Neither the server nor its client get any more; who waits for both gives what it has.
    give(rich, PORT, FOREVER, DonationEnd::Blocked)?;
    equal("enough steps of the server", count(1) >= 2 * STEPS, true)?;
    equal("steps of the one that gave", count(2), 1)?;
    equal("steps of the one that gave nothing", count(0), 0)?;
    for (handle, thread) in [(server, serving), (low, poor), (high, rich)] {
        thread.set_scheduler(Reference(0), 0).map_err(text("free"))?;
        handle.join();
    }
    Ok(())
}

/// Answers to a thread with a scheduler: when it asks to be freed, and when it makes another.
static ANSWERS: [AtomicU64; 3] = [const { AtomicU64::new(0) }; 3];

fn escape(number: usize) {
    begin(number);
    let status = |result: Result<(), nacre_sys::Status>| result.err().map_or(0, |status| status.0);
    let own = Reference(FREE_UNIT);
    ANSWERS[0].store(status(Thread(own.0).set_scheduler(Reference(0), 0)), Ordering::Relaxed);
    if let Ok(other) = thread::spawn(work, 1) {
        let freed = other.thread().map_or(0, |thread| status(thread.set_scheduler(Reference(0), 0)));
        ANSWERS[1].store(freed, Ordering::Relaxed);
        ANSWERS[2].store(1, Ordering::Relaxed);
        other.join();
    }
}

pub fn nobody_is_freed() -> Result<(), String> {
    must(Call::ReferenceCreate, &[FREE_UNIT])?;
    let (handle, thread) = scheduled(escape, 0)?;
    must(Call::ThreadReference, &[thread.0, FREE_UNIT, 3])?;
    COUNTS[1].store(0, Ordering::Relaxed);
    ANSWERS.iter().for_each(|answer| answer.store(0, Ordering::Relaxed));
    // The new thread is announced with the word of its maker.
    give(thread, PORT, FOREVER, DonationEnd::Arrived)?;
    equal("announcement of the new thread", announced()?, Some(0))?;
    give(thread, PORT, FOREVER, DonationEnd::Blocked)?;
    let denied = nacre_sys::Status::argument(Code::Denied, 2).0;
    equal("answers", [0, 1, 2].map(|index| ANSWERS[index].load(Ordering::Relaxed)), [denied, denied, 1])?;
    Thread::sleep(5 * MILLISECOND).map_err(text("sleep"))?;
    equal("work of the new thread", count(1), 0)?;
    fails("the port of nobody", Thread(NULL).donate(0, FOREVER), Code::NullReference)?;
    // Freed by who may, it still waits for a thread that nobody gives time: both go.
    must(Call::MemoryReclaim, &[FREE, 4096])?;
    thread.stop().map_err(text("stop"))?;
    drop(handle);
    Ok(())
}

/// Thread that gets all time of a donor, by its address.
static DONEE: AtomicU64 = AtomicU64::new(0);

fn pass_on(number: usize) {
    while ORDER.load(Ordering::Relaxed) != END {
        let Ok(donation) = Thread(DONEE.load(Ordering::Relaxed)).donate(0, 2 * MILLISECOND) else { return };
        // A turn that ended before its time was none of 2 ms.
        if donation.end == DonationEnd::TimedOut {
            COUNTS[number].fetch_add(1, Ordering::Relaxed);
        }
    }
}

pub fn nested() -> Result<(), String> {
    let (worker, working) = scheduled(work, 0)?;
    DONEE.store(working.0, Ordering::Relaxed);
    let (inner, passing) = scheduled(pass_on, 1)?;
    let mut used = 0;
    // The machine under this one may take a rest for all of that, but not each time.
    while count(0) == 0 || count(1) == 0 {
        used += give(passing, PORT, 21 * MILLISECOND, DonationEnd::TimedOut)?;
    }
    let (worked, turns) = (count(0), count(1));
    if turns * 2 * MILLISECOND > used {
        return Err(format!("{used} ns were {turns} turns of 2 ms, {worked} steps"));
    }
    Thread::sleep(10 * MILLISECOND).map_err(text("sleep"))?;
    equal("turns without time", count(1), turns)?;
    equal("work without time", count(0), worked)?;
    end(inner, passing)?;
    end(worker, working)
}

pub fn orphan() -> Result<(), String> {
    let (handle, thread) = scheduled(work, 0)?;
    must(Call::PortDestroy, &[PORT])?;
    let before = count(0);
    Thread::sleep(5 * MILLISECOND).map_err(text("sleep"))?;
    equal("work without a scheduler", count(0), before)?;
    must(Call::PortCreate, &[PORT, 77, 0])?;
    must(Call::PortReference, &[PORT, strong(ObjectType::Port), 3])?;
    thread.set_scheduler(port(), 8).map_err(text("set_scheduler"))?;
    equal("announcement", announced()?, Some(8))?;
    end(handle, thread)
}
