//! Every error that the kind of an argument can bring, for every argument of every call, as the
//! manual lists them: one value is made wrong, all others are right, the status must name code and
//! argument, and the number of objects must be what it was.

use crate::fixture::{self, BUFFER, DEEP, FREE_UNIT, MUTEX, NULL, PORT, SENDER, UNMAPPED, population, right_value, strong, weak};
use alloc::format;
use alloc::string::String;
use nacre_abi::manual::{Entry, Kind};
use nacre_abi::{Call, Code, ObjectType};
use nacre_raw::call;

/// An address of this program that no objects may be created in.
const NOT_OBJECT_MEMORY: u64 = 0x1000_0000;

/// Values that must bring `code` for an argument of this kind; none where no value can.
fn wrong_values(kind: Kind, code: Code) -> [Option<u64>; 3] {
    let one = |value| [Some(value), None, None];
    match (kind, code) {
        (Kind::Object(of) | Kind::Use(of), Code::BadAddress) => [Some(UNMAPPED), Some(fixture::object(of) + 8), Some(0xffff_8000_0000_0000)],
        (Kind::SpaceOrOwn | Kind::Keeper | Kind::Notified | Kind::Reference | Kind::Resource, Code::BadAddress) => [Some(UNMAPPED), Some(NULL + 8), Some(u64::MAX)],
        (Kind::Slot(_) | Kind::ReferenceSlot, Code::BadAddress) => [Some(UNMAPPED), Some(FREE_UNIT + 8), Some(u64::MAX & !4095)],
        (Kind::Donation, Code::BadAddress) => one(UNMAPPED),
        (Kind::Buffer | Kind::Links, Code::BadAddress) => [Some(UNMAPPED), Some(BUFFER + 4), Some(u64::MAX & !63)],
        (Kind::Word, Code::BadAddress) => [Some(UNMAPPED), Some(BUFFER + 2), None],
        (Kind::Word | Kind::Buffer, Code::TooDeep) => one(DEEP),
        (_, Code::TooDeep) => one(DEEP),
        (Kind::Links, _) => [None; 3],
        (_, Code::NotAnObject) => [Some(BUFFER), Some(FREE_UNIT), None],
        (Kind::Object(ObjectType::Port) | Kind::Use(ObjectType::Port) | Kind::Keeper | Kind::Notified, Code::WrongType) => [Some(MUTEX), Some(strong(ObjectType::Mutex)), None],
        (_, Code::WrongType) => [Some(PORT), if matches!(kind, Kind::Reference) { None } else { Some(strong(ObjectType::Port)) }, None],
        (_, Code::NullReference) => one(NULL),
        (Kind::Object(of) | Kind::Use(of), Code::Denied) => one(weak(of)),
        (Kind::SpaceOrOwn, Code::Denied) => one(weak(ObjectType::Space)),
        (Kind::Notified, Code::Denied) => one(weak(ObjectType::Port)),
        (Kind::Keeper, Code::Denied) => [Some(weak(ObjectType::Port)), Some(SENDER), None],
        (Kind::Slot(ObjectType::Thread) | Kind::Donation, Code::NotObjectMemory) => one(NOT_OBJECT_MEMORY),
        (_, Code::NotObjectMemory) => one(NOT_OBJECT_MEMORY),
        (Kind::Slot(of), Code::SlotOccupied) => one(fixture::object(of)),
        (Kind::ReferenceSlot, Code::SlotOccupied) => one(PORT),
        (Kind::Start, Code::BadRange) => [Some(1), Some(0xffff_ffff_ffff_f000), Some(nacre_abi::USER_END)],
        (Kind::Size, Code::BadRange) => [Some(0), Some(4097), Some(0xffff_ffff_ffff_f000)],
        (Kind::Donation, Code::BadRange) => one(fixture::SPARE + 8),
        (Kind::Donation, Code::Busy) => one(fixture::SPACE),
        (_, Code::BadRights) => one(0x100),
        (_, Code::BufferTooSmall) => one(8),
        _ => [None; 3],
    }
}

/// Returns values of plain numbers that make the rest of a call right. The manual does not tell
/// them.
fn arguments(entry: &Entry) -> [u64; 8] {
    let mut values = [0; 8];
    for (value, argument) in values.iter_mut().zip(entry.arguments) {
        *value = right_value(argument.kind);
    }
    match entry.call {
        Call::SpaceCreate => values[2] = 8,
        Call::SpaceDonate => values[2] = 1,
        Call::MappingCreate => values[2] = 0x3300_0000_0000,
        Call::ViewEnter => (values[0], values[2]) = (fixture::VIEW, 1),
        Call::ViewForget => (values[0], values[1]) = (fixture::VIEW, fixture::VIEWED_AT),
        Call::ThreadSetBase => values[0] = 1,
        Call::ReferenceReveal => (values[1], values[2]) = (fixture::ARENA, fixture::ARENA_SIZE),
        Call::MemoryObjects => (values[0], values[1], values[3]) = (fixture::ARENA, 4096, 4),
        Call::MemoryReclaim | Call::MemoryTouched => (values[0], values[1]) = (fixture::SPARE, 4096),
        Call::MemoryCopy => (values[0], values[1], values[2]) = (fixture::SPARE, fixture::SPARE + 4096, 4096),
        Call::PortCreate => values[2] = 0,
        Call::PortNotify => values[1] = 1,
        Call::SpaceSetState | Call::RegionSetState | Call::MappingSetState | Call::PortSetState => read_state(entry.call, values[0]),
        _ => {}
    }
    values
}

/// Puts the object's own state into the buffer, so that setting it would be right.
fn read_state(set: Call, object: u64) {
    let get = Call::ALL[set as usize - 1];
    let _ = fixture::must(get, &[object, BUFFER, 4096, 0]);
}

/// Calls that end or block the caller when all their arguments are right, or whose first argument
/// may be another kind of object too.
fn skips(call: Call, argument: usize, code: Code) -> bool {
    use Call::*;
    match call {
        // A set is as good as a port, and a thread may name itself by 0.
        IpcReceive => code == Code::WrongType && argument == 0,
        IpcReplyReceive => code == Code::WrongType || argument != 0,
        // Verbs that take the object itself have no use for what a reference leads to.
        SpaceMove | RegionMove | MappingMove | ThreadMove | PortMove | PortSetMove | MutexMove | ConditionMove => {
            argument == 0 && matches!(code, Code::NullReference | Code::Denied)
        }
        SpaceReference | RegionReference | MappingReference | ThreadReference | PortReference | PortSetReference | MutexReference | ConditionReference => {
            argument == 0 && code == Code::Denied
        }
        // Without a client these end before they look at the rest.
        IpcDetach | IpcReply => argument != 0,
        // Resources of the machine belong to root: the first argument is never right here.
        IoPortsReference | InterruptReference | InterruptBind => argument != 0,
        // The state in the buffer comes first, or nothing that these are linked to can be set.
        ThreadSetState | PortSetSetState | ReferenceSetState | MutexSetState | ConditionSetState => argument == 3,
        // Any length of a range is right here, and any buffer alignment.
        MemoryReclaim | MemoryTouched | IoWriteBytes => argument != 0,
        _ => false,
    }
}

/// Tries every wrong value for every argument of a call; what went otherwise than it should.
pub fn check(entry: &Entry) -> Result<u32, String> {
    let mut tried = 0;
    for (index, argument) in entry.arguments.iter().enumerate() {
        for failure in argument.kind.failures() {
            if skips(entry.call, index, failure.code) {
                continue;
            }
            for value in wrong_values(argument.kind, failure.code).into_iter().flatten() {
                one(entry, index, failure.code, value)?;
                tried += 1;
            }
        }
    }
    Ok(tried)
}

fn one(entry: &Entry, index: usize, code: Code, value: u64) -> Result<(), String> {
    let mut values = arguments(entry);
    values[index] = value;
    let before = population();
    let (status, ..) = call(entry.call, values);
    let told = || format!("argument {} = {value:#x}: {status:?}, not {code:?}", index + 1);
    let Some(found) = status.code() else { return Err(told()) };
    if status.is_ok() || !entry.names(found, status.about()) {
        return Err(format!("{} (and the manual does not name it)", told()));
    }
    if found != code || status.about() as usize != index + 1 {
        return Err(told());
    }
    if population() != before {
        return Err(format!("argument {} = {value:#x}: refused, but objects came or went", index + 1));
    }
    Ok(())
}
