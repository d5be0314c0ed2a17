//! The layouts of the nine objects: one file each, with what can be said of it by looking at
//! nothing else.

mod mapping;
mod port;
mod reference;
mod region;
mod space;
mod thread;
mod waiters;

pub use mapping::Mapping;
pub use port::{Port, Receivable, port_of_ready_node, port_of_set_node};
pub use reference::Reference;
pub use region::Region;
pub use space::Space;
pub(crate) use thread::FPU_USED;
pub use thread::{Thread, WaitKind, thread_of_queue_node};
pub use waiters::Waiters;

use crate::machine::{Machine, Physical};
use nacre_abi::ObjectType;
use nacre_abi::object::TargetType;

/// The upper bytes of every object's first word: no address, size or register image that stands at
/// the start of a unit within an object has them.
const MAGIC: u64 = 0x4e61_6372_654f_0000;

/// The first word of a live object.
pub const fn header(object: ObjectType) -> u64 {
    MAGIC | object as u64
}

/// Returns the type of the object that starts with this word.
#[inline(always)]
pub fn type_of(word: u64) -> Option<ObjectType> {
    if word & !0xffff == MAGIC { ObjectType::from_number(word & 0xffff) } else { None }
}

/// Returns the word number of the anchor of the ring of links to an object of this type. References
/// have none: a reference to a reference is a copy.
pub const fn links_anchor(object: ObjectType) -> u64 {
    match object {
        ObjectType::Space => 10,
        ObjectType::Region => 14,
        ObjectType::Mapping => 13,
        ObjectType::Thread => 30,
        ObjectType::Port | ObjectType::PortSet => 10,
        ObjectType::Mutex | ObjectType::Condition => 3,
        ObjectType::Reference => 0,
    }
}

/// The anchor of links to the object at `at`.
pub const fn links_of(object: ObjectType, at: Physical) -> Physical {
    at.add(8 * links_anchor(object))
}

/// The type of the live object at `at` (an address in an object frame).
#[inline(always)]
pub fn type_at<M: Machine>(machine: &M, at: Physical) -> Option<ObjectType> {
    type_of(machine.words::<1>(at)[0].get())
}

/// Returns the type that a reference to an object of this type shows.
pub const fn target_type(object: ObjectType) -> TargetType {
    match object {
        ObjectType::Space => TargetType::Space,
        ObjectType::Region => TargetType::Region,
        ObjectType::Mapping => TargetType::Mapping,
        ObjectType::Thread => TargetType::Thread,
        ObjectType::Port => TargetType::Port,
        ObjectType::PortSet => TargetType::PortSet,
        ObjectType::Reference => TargetType::Null,
        ObjectType::Mutex => TargetType::Mutex,
        ObjectType::Condition => TargetType::Condition,
    }
}
