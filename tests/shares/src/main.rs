//! Programs that measure their progress in a span of time: see the README.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![forbid(unsafe_code)]
#![cfg_attr(not(target_os = "none"), allow(dead_code))]

extern crate alloc;

mod asked;
mod inversion;
mod waits;

use alloc::format;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};
use nacre_rt::thread::{self, Handle};
use nacre_rt::{Arguments, stream};
use nacre_proto::flags::SERVICE_FILES;
use nacre_proto::{directory, parent};
use nacre_sys::ipc::{self, Message};
use nacre_sys::{Reference, Thread};
use nacre_sys::lock::Lock;
use nacre_sys::clock::ticks;

nacre_rt::entry!(shares);

#[cfg(not(target_os = "none"))]
fn main() {
    println!("This is a program of Nacre: build it for a target without an operating system.");
}

/// Span in which progress is counted, in ticks of the processor's counter, which starts with the
/// machine. By its beginning all programs are there.
const SPAN: [u64; 2] = [400_000_000, 1_600_000_000];
/// Steps between two looks at the counter.
const STEPS: u64 = 64;

/// Maximum of threads of one program.
const MAX_THREADS: usize = 64;

/// Progress of all threads of this program.
static DONE: AtomicU64 = AtomicU64::new(0);
/// Closed until all of them are there: who makes them is not to wait for those that work already.
static GATE: Lock<()> = Lock::new(());
/// Nanoseconds of processors that they have had in the span.
static HAD: AtomicU64 = AtomicU64::new(0);
/// Threads of the program. The first is the one that each program has.
static THREADS: [AtomicU64; MAX_THREADS] = [const { AtomicU64::new(nacre_abi::environment::THREAD) }; MAX_THREADS];

/// Nanoseconds that one of the threads has had.
fn had(number: usize) -> u64 {
    Thread(THREADS[number].load(Ordering::Relaxed)).time().unwrap_or(0)
}

/// Works until the span is over, and counts what is done in it. What it has had of processors it
/// asks at each look before the span, and at the first look behind it. Between the span's ends and
/// its turns it has had nothing. A look at the start of its first turn in the span would come too
/// late: with several processors QEMU lets each stand still for milliseconds, often just then.
fn spin(number: usize) {
    drop(GATE.lock());
    let (mut done, mut before) = (0, had(number));
    loop {
        let now = ticks();
        if now < SPAN[0] {
            before = had(number);
        }
        if now >= SPAN[1] {
            DONE.fetch_add(done, Ordering::Relaxed);
            HAD.fetch_add(had(number) - before, Ordering::Relaxed);
            return;
        }
        (0..STEPS).for_each(|step| _ = core::hint::black_box(step));
        done += u64::from(now >= SPAN[0]);
    }
}

fn hire(number: usize) -> Option<Handle> {
    let handle = thread::spawn(spin, number).ok()?;
    THREADS.get(number)?.store(handle.thread()?.0, Ordering::Relaxed);
    Some(handle)
}

/// Runs `threads` threads, and reports `what` of theirs.
fn spin_all(name: &[u8], threads: usize, what: &AtomicU64) -> i32 {
    let closed = GATE.lock();
    let handles: Vec<Handle> = (1..threads).map_while(hire).collect();
    drop(closed);
    if handles.len() + 1 != threads {
        return 1;
    }
    spin(0);
    handles.into_iter().for_each(Handle::join);
    tell(&format!("{} {}\n", alloc::string::String::from_utf8_lossy(name), what.load(Ordering::Relaxed)))
}

/// Writes a line; 0 if that worked.
fn tell(line: &str) -> i32 {
    i32::from(stream::write(stream::OUTPUT, line.as_bytes()).is_err())
}

/// Sends requests that want no answer until the span is over. Prints the nanoseconds of a tenth of
/// the span: the share that this program is due beside one of nine times its weight.
fn flood(name: &[u8]) -> i32 {
    let Ok(files) = parent::find(Reference::PARENT, SERVICE_FILES) else { return 1 };
    let message = Message::new(directory::open::LABEL, [0; 6]).with_bytes(b"/bin/busybox");
    while ticks() < SPAN[1] {
        // A server that takes none of them is not there for long.
        let _ = ipc::send(files.found.handle(), &message, SPAN[1]);
    }
    tell(&format!("{} {}\n", alloc::string::String::from_utf8_lossy(name), (SPAN[1] - SPAN[0]) / 10))
}

/// Yields until the span is over.
fn yields(_: usize) {
    while ticks() < SPAN[1] {
        Thread::yield_now();
    }
}

/// Sleeps for as short as it can until the span is over.
fn naps(_: usize) {
    while ticks() < SPAN[1] {
        let _ = Thread::sleep(1);
    }
}

/// Runs threads that give their scheduler work all the time. Prints what [`flood`] prints.
fn restless(name: &[u8], threads: usize, run: fn(usize)) -> i32 {
    let handles: Vec<Handle> = (1..threads).map_while(|_| thread::spawn(run, 0).ok()).collect();
    run(0);
    handles.into_iter().for_each(Handle::join);
    tell(&format!("{} {}\n", alloc::string::String::from_utf8_lossy(name), (SPAN[1] - SPAN[0]) / 10))
}

fn number(text: &[u8]) -> Option<usize> {
    core::str::from_utf8(text).ok()?.parse().ok()
}

fn shares(arguments: &Arguments) -> i32 {
    let words: Vec<&[u8]> = arguments.iter().skip(1).collect();
    match words[..] {
        [verb @ (b"spin" | b"time"), name, threads] => {
            let what = if verb == b"spin" { &DONE } else { &HAD };
            number(threads).filter(|threads| *threads > 0).map_or(125, |threads| spin_all(name, threads, what))
        }
        [b"flood", name] => flood(name),
        [verb @ (b"yield" | b"nap"), name, threads] => number(threads).map_or(125, |threads| restless(name, threads, if verb == b"yield" { yields } else { naps })),
        [b"wait"] => asked::wait(),
        // Its own share is what its neighbour is not to have.
        [b"asked", name] => asked::ask().map_or_else(|why| tell(&why).max(1), |()| tell(&format!("{} {}\n", alloc::string::String::from_utf8_lossy(name), (SPAN[1] - SPAN[0]) / 10))),
        [b"inversion"] => tell(inversion::tried()),
        [b"wait", work, count] => number(count).and_then(|count| waits::longest(work, count as u64)).map_or(125, |longest| tell(&format!("{longest}\n"))),
        _ => 125,
    }
}
