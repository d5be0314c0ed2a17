//! The verbs that all objects share.

use super::checks::{equal, fails, must};
use crate::fixture::{self, ARENA, ARENA_SIZE, BUFFER, CONDITION, FREE, PORT, population, strong};
use nacre_raw::{number, read};
use alloc::string::String;
use nacre_abi::state::ThreadState;
use nacre_abi::rights::REFERENCE_ALL;
use nacre_abi::{Call, Code, ObjectType};

/// Each type with its calls: move, get, set.
const VERBS: [(ObjectType, Call, Call, Call); 9] = [
    (ObjectType::Space, Call::SpaceMove, Call::SpaceGetState, Call::SpaceSetState),
    (ObjectType::Region, Call::RegionMove, Call::RegionGetState, Call::RegionSetState),
    (ObjectType::Mapping, Call::MappingMove, Call::MappingGetState, Call::MappingSetState),
    (ObjectType::Thread, Call::ThreadMove, Call::ThreadGetState, Call::ThreadSetState),
    (ObjectType::Port, Call::PortMove, Call::PortGetState, Call::PortSetState),
    (ObjectType::PortSet, Call::PortSetMove, Call::PortSetGetState, Call::PortSetSetState),
    (ObjectType::Reference, Call::ReferenceMove, Call::ReferenceGetState, Call::ReferenceSetState),
    (ObjectType::Mutex, Call::MutexMove, Call::MutexGetState, Call::MutexSetState),
    (ObjectType::Condition, Call::ConditionMove, Call::ConditionGetState, Call::ConditionSetState),
];

fn state_of(get: Call, object: u64) -> Result<[u64; ThreadState::WORDS], String> {
    (0..ThreadState::WORDS as u64).for_each(|word| nacre_raw::write(BUFFER + 8 * word, 0));
    must(get, &[object, BUFFER, ThreadState::SIZE, 0])?;
    Ok(core::array::from_fn(|word| read(BUFFER + 8 * word as u64)))
}

pub fn moved() -> Result<(), String> {
    let before = population();
    for (object, move_call, get, _) in VERBS {
        let from = fixture::object(object);
        let to = if object == ObjectType::Thread { FREE + 0x1000 } else { FREE };
        let was = state_of(get, from)?;
        must(move_call, &[from, to])?;
        fails("the old address", fixture::must(get, &[from, BUFFER, ThreadState::SIZE, 0]), Code::NotAnObject)?;
        equal("state", state_of(get, to)?, was)?;
        if object != ObjectType::Reference {
            equal("state through the reference", state_of(get, strong(object))?, was)?;
        }
        must(move_call, &[to, from])?;
    }
    equal("objects", population(), before)
}

/// The word that a thread waits with, and how its wait ended.
const WORD: u64 = BUFFER + 0x2000;

/// Waits for the fixture's condition.
fn wait(_: usize) {
    let ended = fixture::must(Call::ConditionWait, &[CONDITION, WORD, 0]);
    nacre_raw::write(WORD + 8, if ended.is_ok() { 1 } else { 2 });
}

pub fn moved_in_use() -> Result<(), String> {
    (0..2).for_each(|word| nacre_raw::write(WORD + 8 * word, 0));
    let waiter = nacre_rt::thread::spawn(wait, 0).map_err(|errno| alloc::format!("no thread: {errno:?}"))?;
    let mut place = CONDITION;
    while state_of(Call::ConditionGetState, place)?[1] == 0 {
        nacre_sys::Thread::yield_now();
    }
    for to in [FREE, FREE + 64, FREE + 128] {
        must(Call::ConditionMove, &[place, to])?;
        place = to;
        equal("who waits", state_of(Call::ConditionGetState, place)?[1], 1)?;
    }
    equal("who is woken", must(Call::ConditionSignal, &[place, 1])?.0, 1)?;
    waiter.join();
    equal("how its call ended", read(WORD + 8), 1)
}

/// Maximum of references to an object that can be moved, besides the three of the fixture and the
/// space that the port keeps.
const MOST: u64 = 496;

pub fn known_to_many() -> Result<(), String> {
    let slot = |number: u64| FREE + 0x2000 + 64 * number;
    let refer = |number: u64| {
        must(Call::ReferenceCreate, &[slot(number)])?;
        must(Call::PortReference, &[PORT, slot(number), REFERENCE_ALL])
    };
    (0..MOST).try_for_each(|number| refer(number).map(|_| ()))?;
    must(Call::PortMove, &[PORT, FREE])?;
    for number in [0, MOST / 2, MOST - 1] {
        let (address, _) = must(Call::ReferenceReveal, &[slot(number), ARENA, ARENA_SIZE])?;
        equal("where a reference leads to", address, FREE)?;
    }
    must(Call::PortMove, &[FREE, PORT])?;
    refer(MOST)?;
    fails("one more", fixture::must(Call::PortMove, &[PORT, FREE]), Code::Busy)
}

pub fn states() -> Result<(), String> {
    for (object, _, get, set) in VERBS {
        let at = fixture::object(object);
        let was = state_of(get, at)?;
        if object == ObjectType::Reference {
            // A state with a target cannot be set; that of a null reference can.
            fails("a target", fixture::must(set, &[at, BUFFER, ThreadState::SIZE, 0]), Code::BadArgument)?;
            continue;
        }
        must(set, &[at, BUFFER, ThreadState::SIZE, 0])?;
        equal("state", state_of(get, at)?, was)?;
        nacre_raw::write(BUFFER, was[0] + 0x1_0000);
        fails("another version", fixture::must(set, &[at, BUFFER, ThreadState::SIZE, 0]), Code::BadVersion)?;
    }
    Ok(())
}

pub fn revealed() -> Result<(), String> {
    let (address, kind) = must(Call::ReferenceReveal, &[strong(ObjectType::Port), ARENA, ARENA_SIZE])?;
    equal("address and type", (address, kind), (PORT, ObjectType::Port as u64))?;
    let (address, _) = must(Call::ReferenceReveal, &[strong(ObjectType::Port), FREE, 0x4000])?;
    equal("in a range without it", address, 0)?;
    let (address, _) = must(Call::ReferenceReveal, &[nacre_abi::environment::PARENT, ARENA, ARENA_SIZE])?;
    equal("the parent's port", address, 0)
}

pub fn unknown() -> Result<(), String> {
    let before = population();
    let past = nacre_abi::call::CALL_BASE + nacre_abi::call::CALL_COUNT;
    for unknown in [past, past + 1, 0, 1, 39, u64::MAX, 1 << 32] {
        let (status, ..) = number(unknown, [PORT; 8]);
        equal("status", status.code(), Some(Code::UnknownCall))?;
    }
    equal("objects", population(), before)
}
