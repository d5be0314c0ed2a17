//! Typed handles of kernel objects, messages, slots for objects, and locks: the kernel's calls as
//! Rust sees them.
//!
//! A handle is the address of an object, or of a reference to one: `Copy`, and without a
//! destructor. What is destroyed when it is dropped stands in [`owned`]. Assembly and nearly all
//! unsafe code stand in `raw`.
#![no_std]

#[cfg(test)]
extern crate std;

pub mod clock;
pub mod fpu;
pub mod io;
pub mod gate;
pub mod ipc;
pub mod landing;
pub mod lock;
pub mod memory;
pub mod owned;
pub mod ring;
pub mod slots;
pub mod span;
pub mod window;

mod condition;
mod foreign_copy;
mod frame;
mod mapping;
mod message;
mod mutex;
mod object;
mod port;
mod port_set;
mod raw;
pub mod random;
mod reference;
mod region;
mod space;
mod thread;

pub use condition::Condition;
pub use frame::Frame;
pub use mapping::{Mapping, ViewPage};
pub use mutex::Mutex;
pub use object::Object;
pub use owned::{
    Owned, OwnedCondition, OwnedMapping, OwnedMutex, OwnedPort, OwnedPortSet, OwnedReference, OwnedRegion, OwnedSpace, OwnedThread, EmptySlot,
};
pub use port::Port;
pub use port_set::PortSet;
pub use raw::{FunctionCell, call_within, null};
pub use reference::{Reference, Revealed};
pub use region::Region;
pub use space::Space;
pub use span::{Span, SpanMut};
pub use thread::{Donation, DonationEnd, Thread, ThreadImage};
pub use window::Window;

pub use nacre_abi as abi;
pub use nacre_abi::message::Info;
pub use nacre_abi::{Code, ObjectType, Rights, Status};

/// A timeout that never passes.
pub const FOREVER: u64 = 0;
