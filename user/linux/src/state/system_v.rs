//! Objects of System V that the process holds by their keys.

use alloc::vec::Vec;
use nacre_sys::OwnedReference;

/// System V objects that a process uses.
#[derive(Default)]
pub struct SystemV {
    /// Port of the process at the service.
    pub port: Option<OwnedReference>,
    /// Segments in its memory.
    pub attached: Vec<Attached>,
}

/// A segment in the memory of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attached {
    /// First address.
    pub start: u64,
    /// Size in bytes.
    pub size: u64,
    /// Number of the segment.
    pub number: u64,
}

impl Attached {
    /// As it is handed on.
    pub fn words(self) -> [u64; 3] {
        [self.start, self.size, self.number]
    }

    /// Makes the record from words.
    pub fn of([start, size, number]: [u64; 3]) -> Attached {
        Attached { start, size, number }
    }
}
