//! Resources that a manager is made of.

use crate::colours::Colours;
use crate::device_window::DeviceWindow;
use alloc::boxed::Box;
use nacre_dataspaces::{Policy, Store};
use nacre_memory::keeper::Manager;
use nacre_memory::stage::Plan;
use nacre_memory::tables::Source;
use nacre_sys::Reference;

/// Resources of a manager.
pub struct Means<'a> {
    /// The pool that stores take memory from.
    pub pool: Reference,
    /// Frames of a manager whose pages may go.
    pub frames: u64,
    /// Frames of pinned memory.
    pub quota: u64,
    /// Bytes of a store in our own memory.
    pub store: u64,
    /// Bytes of a store in pageable memory of the layer below.
    pub below: u64,
    /// The tree of files.
    pub files: Reference,
    /// Limit in bytes of compressed pages of anonymous memory.
    pub compressed: Option<u64>,
    /// Absolute path of a file behind anonymous memory.
    pub backing: Option<&'a [u8]>,
    /// The file of persistent memory.
    pub file: Option<&'a crate::store_file::StoreFile>,
    /// Colours of coloured memory.
    pub colours: Option<Colours>,
    /// Window of device memory.
    pub window: Option<&'a DeviceWindow>,
    /// The manager of the layer below whose dataspaces all frames are.
    pub over: Option<&'a [u8]>,
}

/// Returns a plan with this many frames.
pub fn plan<'a>(name: &'static str, operations: u64, frames: u64, means: &Means<'a>, store: Box<dyn Store + Send>, policy: Box<dyn Policy + Send>) -> Plan<'a> {
    let from = means.over.map_or(Source::Segment, Source::Manager);
    Plan { manager: Manager { name, operations }, frames: frames as usize, from, store, policy, homes: None, saved: None }
}
