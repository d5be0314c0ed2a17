//! What programs get done in a span of time: see the README.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![forbid(unsafe_code)]
#![cfg_attr(not(target_os = "none"), allow(dead_code))]

extern crate alloc;

use alloc::format;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};
use nacre_rt::thread::{self, Handle};
use nacre_rt::{Arguments, stream};
use nacre_sys::clock::ticks;

nacre_rt::entry!(shares);

#[cfg(not(target_os = "none"))]
fn main() {
    println!("This is a program of Nacre: build it for a target without an operating system.");
}

/// What is counted is done between these ticks of the processor's counter, which starts with the machine: by then all programs are there.
const SPAN: [u64; 2] = [200_000_000, 1_400_000_000];
/// Steps between two looks at the counter.
const STEPS: u64 = 64;

/// What all threads of this program have done.
static DONE: AtomicU64 = AtomicU64::new(0);

/// Works until the span is over, and counts what is done in it.
fn spin(_: usize) {
    let mut done = 0;
    loop {
        let now = ticks();
        if now >= SPAN[1] {
            DONE.fetch_add(done, Ordering::Relaxed);
            return;
        }
        (0..STEPS).for_each(|step| _ = core::hint::black_box(step));
        done += u64::from(now >= SPAN[0]);
    }
}

fn spin_all(name: &[u8], threads: usize) -> i32 {
    let handles: Vec<Handle> = (1..threads).map_while(|number| thread::spawn(spin, number).ok()).collect();
    if handles.len() + 1 != threads {
        return 1;
    }
    spin(0);
    handles.into_iter().for_each(Handle::join);
    tell(&format!("{} {}\n", alloc::string::String::from_utf8_lossy(name), DONE.load(Ordering::Relaxed)))
}

/// Writes a line; 0 if that worked.
fn tell(line: &str) -> i32 {
    i32::from(stream::write(stream::OUTPUT, line.as_bytes()).is_err())
}

fn number(text: &[u8]) -> Option<usize> {
    core::str::from_utf8(text).ok()?.parse().ok()
}

fn shares(arguments: &Arguments) -> i32 {
    let words: Vec<&[u8]> = arguments.iter().skip(1).collect();
    match words[..] {
        [b"spin", name, threads] => number(threads).filter(|threads| *threads > 0).map_or(125, |threads| spin_all(name, threads)),
        _ => 125,
    }
}
