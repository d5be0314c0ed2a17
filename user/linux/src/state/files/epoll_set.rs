//! The files that an `epoll` file watches.

use crate::state::files::open_file::OpenFile;
use alloc::rc::{Rc, Weak};
use alloc::vec::Vec;

/// One file of a set.
#[derive(Clone)]
pub struct Entry {
    pub descriptor: u64,
    pub file: Weak<OpenFile>,
    /// Events and flags; no events: it was told of once, which was all that was asked for.
    pub wanted: u64,
    pub data: u64,
    /// Events that were reported last, and the file's count of uses at that time.
    pub told: u64,
    pub used: u32,
    /// Counts of arrivals and departures at that time.
    pub changes: [u64; 2],
}

/// A set of files.
pub struct Set {
    pub entries: Vec<Entry>,
}

impl Set {
    /// An empty one.
    pub const fn new() -> Set {
        Set { entries: Vec::new() }
    }

    pub fn position(&self, descriptor: u64, file: &Rc<OpenFile>) -> Option<usize> {
        self.entries.iter().position(|entry| entry.descriptor == descriptor && entry.file.as_ptr() == Rc::as_ptr(file))
    }
}
