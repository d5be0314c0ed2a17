//! A thread in memory that refers to itself ran on when its process had ended: no number named it,
//! and no signal ended it.

use crate::children::{become_role, start};
use crate::kept::{FEWEST_PAGES, take_all};
use crate::tools::{find, moment, why};
use crate::outcome::{Outcome, Verdict};
use alloc::format;
use alloc::string::String;
use nacre_proto::flags::{O_CREAT, O_RDWR, SERVICE_FILES};
use nacre_proto::{directory, file, parent};
use nacre_sys::{OwnedReference, Reference, Thread};

/// File in whose first word the threads count.
const PATH: &[u8] = b"/tmp/witness-counter";
/// Ways in which the process goes: it exits, is killed, faults, becomes another program.
const WAYS: [&[u8]; 4] = [b"exit", b"kill", b"fault", b"become"];
/// Number of moments to wait for a thread.
const PATIENCE: u32 = 3000;

fn count(counter: &OwnedReference) -> Result<u64, String> {
    let mut word = [0; 8];
    file::read(counter.handle(), 0, 8, &mut word[..]).map_err(why("reading the counter"))?;
    Ok(u64::from_le_bytes(word))
}

/// Returns true if nobody counts any more.
fn is_still(counter: &OwnedReference) -> Result<bool, String> {
    let before = count(counter)?;
    moment();
    Ok(count(counter)? == before)
}

/// Waits until `is_so`.
fn wait_until(is_so: impl Fn() -> Result<bool, String>) -> Result<bool, String> {
    for _ in 0..PATIENCE {
        if is_so()? {
            return Ok(true);
        }
        moment();
    }
    Ok(false)
}

/// Leaves threads behind in each way, and looks whether they still run.
pub fn attack(_: &[u8]) -> Outcome {
    let Ok(files) = find(SERVICE_FILES) else { return Ok(Verdict::Absent("files")) };
    let counter = directory::open(files.handle(), O_CREAT | O_RDWR, 0o600, PATH).map_err(why("a file"))?.file;
    for way in WAYS {
        file::write(counter.handle(), 0, &[0; 8][..]).map_err(why("the counter"))?;
        let Some(child) = start(b"immortal", way)? else { return Ok(Verdict::Absent("process manager")) };
        if !wait_until(|| count(&counter).map(|count| count > 0))? {
            child.kill();
            return Err(format!("no thread counts, status {:?}", child.wait()));
        }
        if way == b"become" {
            // The process lives on as a program that does nothing.
            let is_still = wait_until(|| is_still(&counter))?;
            child.kill();
            child.wait().map_err(why("its end"))?;
            if !is_still {
                return Err("a thread runs on in another program".into());
            }
        } else {
            if way == b"kill" {
                child.kill();
            }
            child.wait().map_err(why("its end"))?;
            if !is_still(&counter)? {
                return Err(format!("a thread runs on after {}", String::from_utf8_lossy(way)));
            }
        }
    }
    Ok(Verdict::Refused)
}

/// Leaves a thread in memory of each pool, then goes.
pub fn play(way: &[u8]) -> Result<i32, String> {
    for mut kept in take_all(FEWEST_PAGES)? {
        kept.run_counter(PATH)?;
    }
    moment();
    match way {
        b"exit" => Ok(0),
        b"fault" => {
            // Without a keeper of its own, the process ends by the exception.
            nacre_raw::read(8);
            Ok(1)
        }
        b"become" => become_role(b"rest", b"").map(|()| 1),
        _ => rest(),
    }
}

/// Does nothing until it is killed.
pub fn rest() -> ! {
    loop {
        let _ = Thread::sleep(u64::MAX);
        // Woken for no reason: the parent's answer does not matter.
        let _ = parent::processors(Reference::PARENT);
    }
}
