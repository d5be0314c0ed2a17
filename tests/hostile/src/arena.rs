//! The arena: a space in which hostile threads may do what they like, made of memory that this
//! program has set aside and takes back whole.
//!
//! In the arena's space the same pages stand at the same addresses as here, so that one table of
//! addresses serves both: code, tables of calls, plain pages, object pages, and references to what
//! the arena is given - itself, its threads, a port that nobody serves, and the parent's services.

use alloc::format;
use alloc::string::String;
use nacre_abi::rights::{REFERENCE_ALL, REFERENCE_NOTIFY, REFERENCE_USE};
use nacre_abi::state::ThreadState;
use nacre_abi::{Call, Code, Rights, Status};
use nacre_raw::{call, read, runner, write};

/// Hostile threads at once.
pub const THREADS: u64 = 3;
/// Entries in a thread's table.
pub const ENTRIES: u64 = 512;

/// Address of the arena's memory, in its space and in this one.
pub const BASE: u64 = 0x3000_0000_0000;
/// Size of the arena.
pub const SIZE: u64 = 0x20_0000;
/// The objects that hold the arena, out of the arena's reach.
pub const HOLD: u64 = BASE + SIZE;
/// Size of what is out of reach: objects, pools.
pub const HOLD_SIZE: u64 = 0x10_0000;

/// The code.
pub const CODE: u64 = BASE;
/// The tables of calls, 64 KiB a thread.
pub const TABLES: u64 = BASE + 0x1_0000;
/// Plain pages.
pub const PLAIN: u64 = BASE + 0x8_0000;
/// Size of the plain pages.
pub const PLAIN_SIZE: u64 = 0x4_0000;
/// Object pages.
pub const OBJECTS: u64 = BASE + 0x10_0000;
/// Number of pages for objects.
pub const OBJECT_PAGES: u64 = 16;
/// Pages to donate.
pub const POOL: u64 = BASE + 0x14_0000;
/// References that the arena is given.
pub const GIVEN: u64 = OBJECTS + 0xf000;
/// Number of references that the arena is given.
pub const GIVEN_COUNT: u64 = 10;

const SPACE: u64 = HOLD;
const REGION: u64 = HOLD + 256;
const MAPPING: u64 = HOLD + 384;
const PORT: u64 = HOLD + 512;
const POOL_OF_SPACE: u64 = HOLD + 0x8_0000;

fn thread(number: u64) -> u64 {
    HOLD + 0x1_0000 + number * 4096
}

/// The table of a thread.
pub fn table(number: u64) -> u64 {
    TABLES + number * 0x1_0000
}

/// A call that failed.
struct Failure(Call, Status);

impl From<Failure> for String {
    fn from(Failure(which, status): Failure) -> String {
        format!("{}: {status:?}", which.name())
    }
}

fn must(which: Call, arguments: &[u64]) -> Result<(u64, u64), Failure> {
    let mut all = [0; 8];
    all[..arguments.len()].copy_from_slice(arguments);
    let (status, first, second) = call(which, all);
    status.result().map(|()| (first, second)).map_err(|status| Failure(which, status))
}

/// Takes everything back, and makes a new arena. `services` are references of this program's that
/// the arena gets copies of.
pub fn build(services: &[u64]) -> Result<(), String> {
    must(Call::MemoryReclaim, &[HOLD, HOLD_SIZE])?;
    must(Call::MemoryReclaim, &[BASE, SIZE])?;
    must(Call::PortCreate, &[PORT, 0, 0])?;
    must(Call::SpaceCreate, &[SPACE, POOL_OF_SPACE, 32, 0])?;
    must(Call::RegionCreate, &[REGION, 0, BASE, SIZE, Rights::ALL.0, 0])?;
    must(Call::MappingCreate, &[MAPPING, SPACE, BASE, SIZE, REGION, 0, Rights::ALL.0])?;
    for number in 0..THREADS {
        must(Call::ThreadCreate, &[thread(number), SPACE])?;
    }
    give(services)?;
    make_objects()
}

/// References of all rights to the arena's own parts, and copies of the services.
fn give(services: &[u64]) -> Result<(), String> {
    let slot = |number: u64| GIVEN + 64 * number;
    for number in 0..GIVEN_COUNT {
        must(Call::ReferenceCreate, &[slot(number)])?;
    }
    must(Call::SpaceReference, &[SPACE, slot(0), REFERENCE_ALL])?;
    must(Call::ThreadReference, &[thread(0), slot(1), REFERENCE_ALL])?;
    must(Call::ThreadReference, &[thread(1), slot(2), REFERENCE_ALL])?;
    must(Call::RegionReference, &[REGION, slot(3), REFERENCE_USE])?;
    must(Call::PortReference, &[PORT, slot(4), REFERENCE_USE | REFERENCE_NOTIFY])?;
    for (service, number) in services.iter().zip(5..GIVEN_COUNT) {
        must(Call::ReferenceReference, &[*service, slot(number), REFERENCE_USE])?;
    }
    Ok(())
}

/// A few objects of each kind to begin with.
fn make_objects() -> Result<(), String> {
    for page in 0..4 {
        let at = OBJECTS + page * 4096;
        must(Call::PortSetCreate, &[at])?;
        must(Call::PortCreate, &[at + 128, page, at])?;
        must(Call::PortCreate, &[at + 256, page, 0])?;
        must(Call::MutexCreate, &[at + 384])?;
        must(Call::ConditionCreate, &[at + 448])?;
        must(Call::ReferenceCreate, &[at + 512])?;
        must(Call::PortReference, &[at + 128, at + 512, REFERENCE_ALL])?;
        must(Call::RegionCreate, &[at + 640, SPACE, PLAIN, 0x8000, Rights::ALL.0, 0])?;
    }
    Ok(())
}

/// Registers of a thread that begins on its table, or on the code at `entry` of the arena.
fn first_state(number: u64, entry: u64) -> ThreadState {
    let begin = table(number);
    let rbp = begin + ENTRIES * 8 * runner::ENTRY_WORDS;
    ThreadState { rip: entry, rflags: 0x202, rbx: begin, rbp, rsp: PLAIN + 0x1000, ..ThreadState::default() }
}

/// Starts the first thread of an arena on its table, or on the code at `entry` of the arena.
pub fn start(number: u64, entry: u64) -> Result<(), String> {
    Ok(begin_with(number, first_state(number, entry))?)
}

/// Starts a thread while others of the arena run already. They have references to it and to its
/// space: they may have destroyed it (NotAnObject), started it (NotStopped), or destroyed its space
/// (Busy). Every other failure is the kernel's.
pub fn start_beside(number: u64, entry: u64) -> Result<(), String> {
    match begin_with(number, first_state(number, entry)) {
        Err(Failure(_, status)) if status.about() == 1 && matches!(status.code(), Some(Code::NotAnObject | Code::NotStopped | Code::Busy)) => Ok(()),
        begun => Ok(begun?),
    }
}

/// Starts a thread with these registers.
pub fn start_with(number: u64, state: ThreadState) -> Result<(), String> {
    Ok(begin_with(number, state)?)
}

fn begin_with(number: u64, state: ThreadState) -> Result<(), Failure> {
    let scratch = HOLD + HOLD_SIZE - 4096;
    let state = ThreadState { flags: ThreadState::STOPPED, ..state };
    for (index, word) in state.to_words().into_iter().enumerate() {
        write(scratch + 8 * index as u64, word);
    }
    must(Call::ThreadSetState, &[thread(number), scratch, ThreadState::SIZE, 0])?;
    must(Call::ThreadStart, &[thread(number)]).map(|_| ())
}

/// Returns the number of entries of its table that a thread has come through.
pub fn progress(number: u64) -> u64 {
    let done = |entry: u64| read(table(number) + 8 * (entry * runner::ENTRY_WORDS + runner::DONE)) != 0;
    let (mut low, mut high) = (0, ENTRIES);
    while low < high {
        let middle = (low + high) / 2;
        if done(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

/// Takes a thread back and makes a new one in its place; false if the space to put it in is gone.
pub fn renew(number: u64) -> bool {
    // The object may be destroyed already, because the arena has a reference to it.
    let _ = must(Call::ThreadDestroy, &[thread(number)]);
    must(Call::ThreadCreate, &[thread(number), SPACE]).is_ok()
}

/// Writes the runner's code where the arena's threads start.
pub fn write_code() {
    for (index, word) in runner::code().enumerate() {
        write(CODE + 8 * index as u64, word);
    }
}
