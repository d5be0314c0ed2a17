//! Tests of the links of states: each reference that a call names is checked as an argument is.

use super::checks::equal;
use crate::fixture::{self, BUFFER, LINKS, MUTEX, NULL, PORT, SENDER, THREAD, UNMAPPED, must, population, weak};
use alloc::format;
use alloc::string::String;
use nacre_abi::{Call, Code, ObjectType, Status};
use nacre_raw::{call, write};

/// The calls that set what an object is linked to: by which entry, to what.
const SET: [(ObjectType, Call, Call, u64, ObjectType); 6] = [
    (ObjectType::Space, Call::SpaceGetState, Call::SpaceSetState, 0, ObjectType::Port),
    (ObjectType::Region, Call::RegionGetState, Call::RegionSetState, 0, ObjectType::Port),
    (ObjectType::Mapping, Call::MappingGetState, Call::MappingSetState, 0, ObjectType::Region),
    (ObjectType::Thread, Call::ThreadGetState, Call::ThreadSetState, 1, ObjectType::Thread),
    (ObjectType::Thread, Call::ThreadGetState, Call::ThreadSetState, 2, ObjectType::Port),
    (ObjectType::Port, Call::PortGetState, Call::PortSetState, 0, ObjectType::PortSet),
];
/// An address of this program that no objects may be created in.
const NOT_OBJECT_MEMORY: u64 = 0x1000_0000;

/// Tries entry `index` of the links with a value that must bring `code` about argument 4, and
/// nothing else.
fn refused(which: Call, object: u64, (index, value): (u64, u64), code: Code) -> Result<(), String> {
    (0..8).for_each(|entry| write(LINKS + 8 * entry, if entry == index { value } else { 0 }));
    let before = population();
    let (status, ..) = call(which, [object, BUFFER, 4096, LINKS, 0, 0, 0, 0]);
    equal(&format!("{} with link {index} = {value:#x}", which.name()), status, Status::argument(code, 4))?;
    equal("objects", population(), before)
}

pub fn set() -> Result<(), String> {
    for (object, get, set, index, linked) in SET {
        let at = fixture::object(object);
        must(get, &[at, BUFFER, 4096, 0]).map_err(|status| format!("{}: {status:?}", get.name()))?;
        // A mutex is nowhere what is wanted.
        let tried = [(UNMAPPED, Code::BadAddress), (BUFFER, Code::NotAnObject), (MUTEX, Code::WrongType), (NULL, Code::NullReference), (weak(linked), Code::Denied)];
        tried.into_iter().try_for_each(|(value, code)| refused(set, at, (index, value), code))?;
        if linked == ObjectType::Port {
            refused(set, at, (index, SENDER), Code::Denied)?;
        }
    }
    must(Call::ThreadGetState, &[THREAD, BUFFER, 4096, 0]).map_err(|status| format!("the thread's state: {status:?}"))?;
    // Its state says nothing of a scheduler.
    refused(Call::ThreadSetState, THREAD, (2, PORT), Code::BadArgument)
}

pub fn got() -> Result<(), String> {
    for (object, get, _, index, _) in SET {
        let tried = [(UNMAPPED, Code::BadAddress), (NOT_OBJECT_MEMORY, Code::NotObjectMemory), (PORT, Code::SlotOccupied)];
        tried.into_iter().try_for_each(|(value, code)| refused(get, fixture::object(object), (index, value), code))?;
    }
    Ok(())
}
