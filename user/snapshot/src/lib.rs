//! An environment as plain data: every object in a range of memory, the memory beside them, and
//! which threads ran.
//!
//! All that is known of the environment is the range that it lives in, which the caller owns, and
//! the few objects outside that it is linked to.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod check;
pub mod image;
pub mod rounds;
pub mod store;
mod restore;
mod take;

use alloc::vec::Vec;
use serde::{Deserialize, Serialize};
use nacre_abi::state::{
    ConditionState, FPU_SIZE, MappingState, MutexState, PortSetState, PortState, ReferenceState, RegionState, SpaceState, ThreadState,
};
use nacre_abi::{Call, ObjectType, Status};

/// Access to calls and memory: by a program of the system, or by a test on the host.
pub trait Access {
    /// Makes a call until it is over; status and the two results.
    fn call(&mut self, call: Call, arguments: [u64; 8]) -> (Status, u64, u64);
    /// Reads a word of plain memory.
    fn read(&mut self, address: u64) -> u64;
    /// Writes a word of plain memory.
    fn write(&mut self, address: u64, value: u64);
    /// Fills all of `into` from plain memory.
    fn read_page(&mut self, address: u64, into: &mut [u8]) {
        into.chunks_exact_mut(8).zip((address..).step_by(8)).for_each(|(word, at)| word.copy_from_slice(&self.read(at).to_le_bytes()));
    }
}

/// Position of an environment in the caller's space, now or later.
#[derive(Clone, Debug)]
pub struct Frame {
    /// First page.
    pub start: u64,
    /// Size in bytes.
    pub size: u64,
    /// Objects outside that it is linked to, always in the same order.
    pub outside: Vec<u64>,
    /// Two plain pages of the caller's own.
    pub buffer: u64,
    /// Three references of the caller's own, one after the other, and 256 bytes behind the first
    /// room for a region.
    pub slots: u64,
    /// Pages for the tables of the spaces that are made.
    pub pool: u64,
}

/// Target of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Place {
    /// Reference without a target.
    Nothing,
    /// An object of the environment, by its distance from the start.
    Inside(u64),
    /// An object of `Frame::outside`, by its number.
    Outside(usize),
}

/// An object.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Object {
    /// Distance from the start.
    pub offset: u64,
    /// Type of the object.
    #[serde(with = "kind")]
    pub kind: ObjectType,
    /// State of the object. A thread's FPU state follows.
    pub words: Vec<u64>,
    /// Targets of its links. A reference's link is the object that it names.
    pub links: [Place; 3],
}

/// Types of objects as numbers.
mod kind {
    use nacre_abi::ObjectType;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(kind: &ObjectType, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(*kind as u64)
    }

    pub fn deserialize<'a, D: Deserializer<'a>>(deserializer: D) -> Result<ObjectType, D::Error> {
        ObjectType::from_number(u64::deserialize(deserializer)?).ok_or(serde::de::Error::custom("no type of objects"))
    }
}

/// An environment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Snapshot {
    /// Objects of the environment.
    pub objects: Vec<Object>,
    /// Memory: pages by their distance from the start.
    pub pages: Vec<(u64, Vec<u64>)>,
    /// The threads that were not stopped.
    pub running: Vec<u64>,
}

/// Reason why a snapshot cannot be taken or restored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trouble {
    /// A call failed.
    Call(Call, Status),
    /// The object at this distance is linked to something outside that nobody told of.
    Unknown(u64),
    /// The object at this distance has a state that no kernel has told.
    Nonsense(u64),
}

/// Words of a thread with its FPU.
const THREAD_WORDS: usize = ThreadState::WORDS + FPU_SIZE as usize / 8;
/// Bytes of a page.
const PAGE: u64 = nacre_abi::PAGE_SIZE;
/// Fewest pages for the tables of one space.
pub const POOL_PAGES: u64 = 12;

/// Returns the number of pages that the tables of these objects' spaces take, which is as many as
/// they had: with fewer a space loses entries as fast as they are made, and replies with them.
pub fn table_pages(objects: &[Object]) -> u64 {
    objects.iter().map(pool_pages).fold(0, u64::saturating_add)
}

/// Pages for the tables of an object: 0 if it is no space.
fn pool_pages(object: &Object) -> u64 {
    if object.kind == ObjectType::Space { object.words[1].max(POOL_PAGES) } else { 0 }
}

/// Makes a call that must succeed; its results.
fn must(access: &mut impl Access, call: Call, arguments: &[u64]) -> Result<(u64, u64), Trouble> {
    let mut all = [0; 8];
    all[..arguments.len()].copy_from_slice(arguments);
    let (status, first, second) = access.call(call, all);
    if status.is_ok() { Ok((first, second)) } else { Err(Trouble::Call(call, status)) }
}

/// The calls that read and set the state of a type, and make a reference lead to it.
fn verbs(kind: ObjectType) -> [Call; 3] {
    match kind {
        ObjectType::Space => [Call::SpaceGetState, Call::SpaceSetState, Call::SpaceReference],
        ObjectType::Region => [Call::RegionGetState, Call::RegionSetState, Call::RegionReference],
        ObjectType::Mapping => [Call::MappingGetState, Call::MappingSetState, Call::MappingReference],
        ObjectType::Thread => [Call::ThreadGetState, Call::ThreadSetState, Call::ThreadReference],
        ObjectType::Port => [Call::PortGetState, Call::PortSetState, Call::PortReference],
        ObjectType::PortSet => [Call::PortSetGetState, Call::PortSetSetState, Call::PortSetReference],
        ObjectType::Reference => [Call::ReferenceGetState, Call::ReferenceSetState, Call::ReferenceReference],
        ObjectType::Mutex => [Call::MutexGetState, Call::MutexSetState, Call::MutexReference],
        ObjectType::Condition => [Call::ConditionGetState, Call::ConditionSetState, Call::ConditionReference],
    }
}

/// Returns the number of words of a type's state.
fn state_words(kind: ObjectType) -> u64 {
    let words = match kind {
        ObjectType::Space => SpaceState::WORDS,
        ObjectType::Region => RegionState::WORDS,
        ObjectType::Mapping => MappingState::WORDS,
        ObjectType::Thread => THREAD_WORDS,
        ObjectType::Port => PortState::WORDS,
        ObjectType::PortSet => PortSetState::WORDS,
        ObjectType::Reference => ReferenceState::WORDS,
        ObjectType::Mutex => MutexState::WORDS,
        ObjectType::Condition => ConditionState::WORDS,
    };
    words as u64
}
