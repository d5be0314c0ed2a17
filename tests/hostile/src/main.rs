//! The hostile program: makes threads do their worst in an arena, and checks that nothing outside
//! it changes and that its own parent still answers.
#![cfg_attr(target_os = "none", no_std, no_main)]
#![forbid(unsafe_code)]
#![cfg_attr(not(target_os = "none"), allow(dead_code))]

extern crate alloc;

mod arena;
mod moves;
mod torture;

use alloc::format;
use alloc::string::String;
use nacre_abi::{Call, Rights};
use nacre_proto::{directory, flags, memory, parent};
use nacre_raw::{call, read, write};
use nacre_rt::memory::Segment;
use nacre_rt::{Arguments, stream};
use nacre_sys::{OwnedReference, Reference, Thread};
use nacre_raw::random::Random;

nacre_rt::entry!(hostile);

#[cfg(not(target_os = "none"))]
fn main() {
    println!("This is a program of Nacre: build it for a target without an operating system.");
}

/// A page of ours that nothing in the arena may touch, beside its memory.
const CANARY: u64 = 0x3100_0000_0000;
/// Time without progress after which a thread counts as blocked, in looks of a fifth of a
/// millisecond.
const PATIENCE: u32 = 4;
const LOOK: u64 = 200_000;
/// Limit of the arena's pool of memory.
const LIMIT: u64 = 512 << 10;

/// Limit of the files that the arena writes.
const SLACK: u64 = 64 << 20;

/// References to the outside that the arena is given.
struct Outside {
    files: OwnedReference,
    memory: OwnedReference,
    /// Bytes of memory in use at the start.
    used: u64,
    input: OwnedReference,
}

fn say(line: String) {
    let _ = stream::write(stream::OUTPUT, line.as_bytes());
}

fn option(arguments: &Arguments, name: &str, default: u64) -> u64 {
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        if word == name.as_bytes() {
            let text = words.next().and_then(|value| core::str::from_utf8(value).ok());
            return text.and_then(|value| value.parse().ok()).unwrap_or(default);
        }
    }
    default
}

fn outside() -> Result<Outside, String> {
    let told = |errno| format!("the parent does not answer: {errno:?}");
    let all = parent::find(Reference::PARENT, flags::SERVICE_MEMORY).map_err(told)?.found;
    let files = parent::find(Reference::PARENT, flags::SERVICE_FILES).map_err(told)?.found;
    let input = directory::open(files.handle(), flags::O_RDWR, 0, b"/dev/zero").map_err(told)?.file;
    let used = memory::status(all.handle()).map_err(told)?.used;
    Ok(Outside { files, memory: all, used, input })
}

/// Checks the invariants that hold whatever the arena does.
fn check(outside: &Outside) -> Result<(), String> {
    for word in 0..512 {
        if read(CANARY + 8 * word) != canary(word) {
            return Err(format!("word {word} of a page outside the arena has changed"));
        }
    }
    let mut status = [0u8; 256];
    let answered = directory::status_at(outside.files.handle(), 0, b"/", &mut status);
    answered.map(|_| ()).map_err(|errno| format!("the file system does not answer any more: {errno:?}"))?;
    let status = memory::status(outside.memory.handle()).map_err(|errno| format!("the pool does not answer any more: {errno:?}"))?;
    if status.used > outside.used + LIMIT + SLACK {
        return Err(format!("{} bytes are in use, {} were at the start: memory is lost", status.used, outside.used));
    }
    Ok(())
}

fn canary(word: u64) -> u64 {
    word.wrapping_mul(0x0123_4567_89ab_cdef)
}

/// Runs the threads until they are done or blocked. Returns the number of calls that they made.
fn watch() -> u64 {
    let (mut last, mut still) = (u64::MAX, 0);
    loop {
        let _ = Thread::sleep(LOOK);
        let made: u64 = (0..arena::THREADS).map(arena::progress).sum();
        still = if made == last { still + 1 } else { 0 };
        last = made;
        if made == arena::THREADS * arena::ENTRIES || still == PATIENCE {
            return made;
        }
    }
}

/// One round: an arena, a table for each thread; how many calls were made.
fn round(random: &mut Random, outside: &Outside) -> Result<u64, String> {
    // A pool of its own each time: the arena may destroy it.
    let pool = memory::pool_create(outside.memory.handle(), LIMIT).map_err(|errno| format!("no pool: {errno:?}"))?.pool;
    let services = [Reference::PARENT.0, outside.files.handle().0, pool.handle().0, outside.input.handle().0];
    arena::build(&services)?;
    arena::write_code();
    for number in 0..arena::THREADS {
        moves::fill(random, number);
    }
    let as_code = random.once_in(8);
    if as_code {
        moves::random_code(random, arena::PLAIN);
    }
    for number in 0..arena::THREADS {
        let entry = if as_code && number == 0 { arena::PLAIN + random.below(4000) } else { arena::CODE };
        if number == 0 { arena::start(number, entry)? } else { arena::start_beside(number, entry)? }
    }
    let made = watch();
    for number in 0..arena::THREADS {
        arena::renew(number);
    }
    Ok(made)
}

/// Runs `programs` of random instructions, then makes `calls`; how many it made.
fn run(seed: u64, programs: u64, calls: u64) -> Result<u64, String> {
    let more = Rights::OBJECTS.union(Rights::EXECUTE);
    let told = |errno| format!("no memory: {errno:?}");
    Segment::map(arena::BASE, arena::SIZE + arena::HOLD_SIZE, more).map_err(told)?.leak();
    Segment::map(CANARY, 4096, Rights::NONE).map_err(told)?.leak();
    (0..512).for_each(|word| write(CANARY + 8 * word, canary(word)));
    let outside = outside()?;
    if programs > 0 {
        torture::run(seed, programs)?;
        check(&outside)?;
    }
    let (mut made, mut rounds) = (0, 0u64);
    while made < calls {
        let mut random = Random::new(seed.wrapping_add(rounds));
        made += round(&mut random, &outside).map_err(|why| format!("round {rounds}: {why}"))?;
        check(&outside).map_err(|why| format!("round {rounds}: {why}"))?;
        rounds += 1;
        if rounds.is_multiple_of(256) {
            say(format!("{made} calls in {rounds} rounds\n"));
        }
    }
    let (status, ..) = call(Call::MemoryReclaim, [arena::HOLD, arena::HOLD_SIZE, 0, 0, 0, 0, 0, 0]);
    status.result().map_err(|status| format!("the arena cannot be taken back: {status:?}"))?;
    let (status, ..) = call(Call::MemoryReclaim, [arena::BASE, arena::SIZE, 0, 0, 0, 0, 0, 0]);
    status.result().map_err(|status| format!("the arena cannot be taken back: {status:?}"))?;
    Ok(made)
}

fn hostile(arguments: &Arguments) -> i32 {
    let (seed, calls) = (option(arguments, "--seed", 1), option(arguments, "--calls", 2_000_000));
    let programs = option(arguments, "--programs", 0);
    say(format!("seed {seed}, {programs} programs, {calls} calls\n"));
    match run(seed, programs, calls) {
        Ok(made) => {
            say(format!("{made} hostile calls, and everything else is as it was\n"));
            0
        }
        Err(why) => {
            say(format!("{why} (seed {seed})\n"));
            1
        }
    }
}
