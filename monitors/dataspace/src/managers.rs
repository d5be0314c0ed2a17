//! The managers that there are, and what they are made of.

use crate::{anonymous, compressed, pinned};
use alloc::boxed::Box;
use alloc::string::String;
use nacre_dataspaces::{Policy, Store};
use nacre_memory::keeper::Manager;
use nacre_memory::stage::Plan;
use nacre_memory::tables::Source;
use nacre_sys::Reference;

/// What managers are made of.
pub struct Means<'a> {
    /// The pool that they take memory from.
    pub pool: Reference,
    /// Frames of a manager whose pages may go.
    pub frames: u64,
    /// Frames of pinned memory.
    pub quota: u64,
    /// Bytes of a store in our own memory.
    pub store: u64,
    /// Bytes of a store in pageable memory of the layer below.
    pub below: u64,
    /// The manager of the layer below whose dataspaces all frames are.
    pub over: Option<&'a [u8]>,
}

/// Makes the plan of a manager.
pub type Make = for<'a> fn(&Means<'a>) -> Result<Plan<'a>, String>;

/// All managers.
pub const MANAGERS: &[(&str, Make)] = &[(anonymous::NAME, anonymous::make), (compressed::NAME, compressed::make), (pinned::NAME, pinned::make)];

/// A plan of this many frames.
pub fn plan<'a>(name: &'static str, operations: u64, frames: u64, means: &Means<'a>, store: Box<dyn Store + Send>, policy: Box<dyn Policy + Send>) -> Plan<'a> {
    let from = means.over.map_or(Source::Segment, Source::Manager);
    Plan { manager: Manager { name, operations }, frames: frames as usize, from, store, policy }
}
