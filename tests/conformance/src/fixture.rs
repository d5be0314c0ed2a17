//! Fixture of the tests: an arena of memory with each object of the kernel once, made anew for each
//! test.

use nacre_raw::{call, write};
use nacre_abi::manual::Kind;
use nacre_abi::rights::{REFERENCE_ALL, REFERENCE_NOTIFY, REFERENCE_USE};
use nacre_abi::{Call, ObjectType, Rights, Status};
use nacre_rt::memory::Segment;

/// Address of the arena.
pub const ARENA: u64 = 0x3000_0000_0000;
/// Size of the arena.
pub const ARENA_SIZE: u64 = 0x40_0000;

const fn page(number: u64) -> u64 {
    ARENA + number * 4096
}

/// A space with a pool of its own.
pub const SPACE: u64 = page(0);
/// A region over four plain pages of the own space.
pub const REGION: u64 = page(0) + 256;
/// A mapping of the region's first page into `SPACE` at `MAPPED_AT`.
pub const MAPPING: u64 = page(0) + 384;
/// A port.
pub const PORT: u64 = page(0) + 512;
/// A set of ports.
pub const PORT_SET: u64 = page(0) + 640;
/// A mutex.
pub const MUTEX: u64 = page(0) + 768;
/// A condition variable.
pub const CONDITION: u64 = page(0) + 832;
/// A null reference.
pub const NULL: u64 = page(0) + 896;
/// A free unit in an object page.
pub const FREE_UNIT: u64 = page(0) + 1024;
/// A view of the region in `SPACE` at `VIEWED_AT`.
pub const VIEW: u64 = page(1) + 3072;
/// A stopped thread in `SPACE`.
pub const THREAD: u64 = page(2);
/// Plain pages for new objects.
pub const FREE: u64 = page(4);
/// A plain buffer, eight pages.
pub const BUFFER: u64 = page(16);
/// An array of addresses of references.
pub const LINKS: u64 = page(24);
/// The four pages that `REGION` exports.
pub const EXPORTED: u64 = page(32);
/// Pages to donate.
pub const POOL: u64 = page(64);
/// More pages to donate.
pub const SPARE: u64 = page(96);
/// Address of `MAPPING` in `SPACE`.
pub const MAPPED_AT: u64 = 0x10_0000;
/// Address of `VIEW` in `SPACE`.
pub const VIEWED_AT: u64 = 0x40_0000_0000;
/// Size of `VIEW`.
pub const VIEWED_SIZE: u64 = 0x8000_0000;
/// An address at which nothing is mapped.
pub const UNMAPPED: u64 = 0x3100_0000_0000;
/// Address at which `deep` puts a page under too many layers.
pub const DEEP: u64 = 0x3200_0000_0000;

/// A reference to the object of this type with all rights.
pub fn strong(object: ObjectType) -> u64 {
    page(1) + 64 * object as u64
}

/// A reference to it without any.
pub fn weak(object: ObjectType) -> u64 {
    page(1) + 1024 + 64 * object as u64
}

/// A reference to the port by which its holder can send, and no more.
pub const SENDER: u64 = page(1) + 2048;

/// The fixture's object of this type.
pub fn object(object: ObjectType) -> u64 {
    match object {
        ObjectType::Space => SPACE,
        ObjectType::Region => REGION,
        ObjectType::Mapping => MAPPING,
        ObjectType::Thread => THREAD,
        ObjectType::Port => PORT,
        ObjectType::PortSet => PORT_SET,
        ObjectType::Reference => strong(ObjectType::Port),
        ObjectType::Mutex => MUTEX,
        ObjectType::Condition => CONDITION,
    }
}

/// A call that must succeed.
pub fn must(which: Call, arguments: &[u64]) -> Result<(u64, u64), Status> {
    let mut all = [0; 8];
    all[..arguments.len()].copy_from_slice(arguments);
    let (status, first, second) = call(which, all);
    status.result().map(|()| (first, second))
}

/// The calls that refer to an object of each type.
const REFERENCE_CALLS: [(ObjectType, Call); 8] = [
    (ObjectType::Space, Call::SpaceReference),
    (ObjectType::Region, Call::RegionReference),
    (ObjectType::Mapping, Call::MappingReference),
    (ObjectType::Thread, Call::ThreadReference),
    (ObjectType::Port, Call::PortReference),
    (ObjectType::PortSet, Call::PortSetReference),
    (ObjectType::Mutex, Call::MutexReference),
    (ObjectType::Condition, Call::ConditionReference),
];

/// Maps the arena; for the whole run.
pub fn map_arena() -> bool {
    Segment::map(ARENA, ARENA_SIZE, Rights::OBJECTS.union(Rights::EXECUTE)).map(Segment::leak).is_ok()
}

/// Makes everything anew.
pub fn fresh() -> Result<(), Status> {
    must(Call::MemoryReclaim, &[ARENA, ARENA_SIZE])?;
    must(Call::PortCreate, &[PORT, 77, 0])?;
    must(Call::PortSetCreate, &[PORT_SET])?;
    must(Call::SpaceCreate, &[SPACE, POOL, 8, PORT])?;
    must(Call::RegionCreate, &[REGION, 0, EXPORTED, 0x4000, Rights::ALL.0, 0])?;
    must(Call::MappingCreate, &[MAPPING, SPACE, MAPPED_AT, 0x1000, REGION, 0, Rights::ALL.0])?;
    must(Call::MappingCreate, &[VIEW, SPACE, VIEWED_AT, VIEWED_SIZE, REGION, 0, Rights::VIEW.0 | 7])?;
    must(Call::ThreadCreate, &[THREAD, SPACE])?;
    must(Call::MutexCreate, &[MUTEX])?;
    must(Call::ConditionCreate, &[CONDITION])?;
    must(Call::ReferenceCreate, &[NULL])?;
    for (kind, refer) in REFERENCE_CALLS {
        must(Call::ReferenceCreate, &[strong(kind)])?;
        must(Call::ReferenceCreate, &[weak(kind)])?;
        must(refer, &[object(kind), strong(kind), REFERENCE_ALL])?;
        must(refer, &[object(kind), weak(kind), 0])?;
    }
    must(Call::PortReference, &[PORT, SENDER, REFERENCE_USE | REFERENCE_NOTIFY])?;
    for slot in 0..8 {
        write(LINKS + 8 * slot, FREE + 0x800 + 64 * slot);
    }
    Ok(())
}

/// Returns the number of objects in the arena.
pub fn population() -> u64 {
    let (mut at, mut count) = (ARENA, 0);
    loop {
        let Ok((found, next)) = must(Call::MemoryObjects, &[at, ARENA + ARENA_SIZE - at, BUFFER + 0x4000, 128]) else { return u64::MAX };
        count += found;
        if next == 0 {
            return count;
        }
        at = next;
    }
}

/// A value that is right for an argument of this kind.
pub fn right_value(kind: Kind) -> u64 {
    match kind {
        Kind::Object(of) | Kind::Use(of) => object(of),
        Kind::Notified => PORT,
        Kind::Reference => NULL,
        Kind::Slot(ObjectType::Thread) => FREE + 0x1000,
        Kind::Slot(_) | Kind::ReferenceSlot => FREE,
        Kind::Start => EXPORTED,
        Kind::Size => 0x1000,
        Kind::Donation => SPARE,
        Kind::Rights => Rights::READ.0,
        Kind::ReferenceRights => REFERENCE_ALL,
        Kind::Buffer | Kind::Word => BUFFER,
        Kind::BufferSize => 4096,
        Kind::Resource => NULL,
        Kind::SpaceOrOwn | Kind::Keeper | Kind::Links | Kind::Message | Kind::Number => 0,
    }
}

/// Puts a page under more layers than the kernel follows, at `DEEP`: a chain of spaces, each
/// mapping from the one below.
pub fn deep() -> Result<(), Status> {
    const LAYERS: u64 = 130;
    let objects = |layer: u64| page(256) + layer * 512;
    let pool = |layer: u64| page(288) + layer * 5 * 4096;
    let mut region = REGION;
    for layer in 0..LAYERS {
        let space = objects(layer);
        must(Call::SpaceCreate, &[space, pool(layer), 5, 0])?;
        must(Call::MappingCreate, &[space + 256, space, MAPPED_AT, 0x1000, region, 0, Rights::ALL.0])?;
        must(Call::RegionCreate, &[space + 384, space, MAPPED_AT, 0x1000, Rights::ALL.0, 0])?;
        region = space + 384;
    }
    must(Call::MappingCreate, &[page(14), 0, DEEP, 0x1000, region, 0, Rights::ALL.0])?;
    Ok(())
}
