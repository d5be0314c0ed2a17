//! Calls of a program that wants no harm. Each must still succeed after an attack.

use crate::tools::{find, why};
use alloc::format;
use alloc::string::String;
use nacre_abi::Rights;
use nacre_nest::places::Place;
use nacre_proto::flags::{SERVICE_FILES, SERVICE_MEMORY};
use nacre_proto::{Errno, directory, memory, process};
use nacre_rt::memory::Segment;
use nacre_rt::{stream, thread};
use nacre_sys::{Reference, Thread};

const SIZE: u64 = 8192;
const PATTERN: u64 = 0x6e61_6372_6521;

/// Number of attempts, and nanoseconds between them: what an attack gave back is there as soon as
/// its holders have heard.
const TRIES: u32 = 3000;
const PAUSE: u64 = 10_000_000;

/// Makes one call of each service that the environment has, again if one fails: the last failure,
/// if there is none without.
pub fn calls() -> Result<(), String> {
    let mut result = calls_once();
    for _ in 1..TRIES {
        if result.is_ok() || Thread::sleep(PAUSE).is_err() {
            break;
        }
        result = calls_once();
    }
    result
}

fn calls_once() -> Result<(), String> {
    memory_serves()?;
    files_serve()?;
    manager_serves()?;
    thread::spawn(nothing, 0).map_err(why("a thread"))?.join();
    stream::write(stream::OUTPUT, b"").map_err(why("the output"))
}

fn nothing(_: usize) {}

fn memory_serves() -> Result<(), String> {
    let pool = match find(SERVICE_MEMORY) {
        Ok(pool) => pool,
        Err(Errno::ENOENT | Errno::EACCES) => return Ok(()),
        Err(errno) => return Err(format!("finding memory: {errno}")),
    };
    memory::status(pool.handle()).map_err(why("the pool"))?;
    let place = Place::take(SIZE).ok_or("no addresses")?;
    let window = place.window();
    let _segment = Segment::map(window.start(), SIZE, Rights::NONE).map_err(why("a segment"))?;
    window.write_word(4096, PATTERN).ok_or("cannot write")?;
    if window.read_word(4096) == Some(PATTERN) { Ok(()) } else { Err(String::from("memory forgets")) }
}

fn files_serve() -> Result<(), String> {
    let Ok(files) = find(SERVICE_FILES) else { return Ok(()) };
    match directory::status_at(files.handle(), 0, b"/", &mut [0; 256][..]) {
        Ok(_) | Err(Errno::EACCES) => Ok(()),
        Err(errno) => Err(format!("the files: {errno}")),
    }
}

fn manager_serves() -> Result<(), String> {
    match process::numbers(Reference::PARENT, 0) {
        Ok(_) | Err(Errno::ENOSYS | Errno::EACCES) => Ok(()),
        Err(errno) => Err(format!("the process manager: {errno}")),
    }
}
