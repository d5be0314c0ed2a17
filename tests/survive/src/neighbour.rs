//! An environment beside those that are killed: a tracer with a program that works for a while,
//! again and again.

use crate::roles::{PATH, RIGHT};
use crate::victim::Stage;
use alloc::format;
use alloc::string::String;
use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use nacre_nest::Services;
use nacre_rt::thread::{self, Handle};
use nacre_sys::lock::Lock;

const COMMAND: [&[u8]; 4] = [b"/bin/trace", b"-q", PATH, b"count"];

static STOP: AtomicBool = AtomicBool::new(false);
static RUNS: AtomicU64 = AtomicU64::new(0);
static FAULT: Lock<Option<String>> = Lock::new(None);

/// Starts it.
pub fn start() -> Result<Handle, String> {
    thread::spawn(live, 0).map_err(|errno| format!("no thread for the neighbour: {errno}"))
}

/// Stops the neighbour. Returns its fault if it was wrong once.
pub fn stop(handle: Handle) -> Result<(), String> {
    STOP.store(true, Ordering::Release);
    handle.join();
    match (FAULT.lock().take(), RUNS.load(Ordering::Acquire)) {
        (Some(fault), runs) => Err(format!("run {runs}: {fault}")),
        (None, 0) => Err(String::from("it never ran")),
        (None, _) => Ok(()),
    }
}

fn live(_: usize) {
    if let Err(why) = run_on() {
        *FAULT.lock() = Some(why);
    }
}

fn run_on() -> Result<(), String> {
    let mut stage = Stage::new(Services::find().map_err(|refusal| format!("{refusal}"))?)?;
    while !STOP.load(Ordering::Acquire) {
        stage.run(&COMMAND, RIGHT, false)?;
        RUNS.fetch_add(1, Ordering::AcqRel);
    }
    Ok(())
}
