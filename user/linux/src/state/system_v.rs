//! Objects of System V that the process holds by their keys.

use alloc::vec::Vec;
use nacre_sys::OwnedReference;

/// What a process has of them.
#[derive(Default)]
pub struct Keyed {
    /// Where it asks.
    pub port: Option<OwnedReference>,
    /// Segments in its memory.
    pub attached: Vec<Attached>,
}

/// A segment in the memory of a process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attached {
    /// Where it starts.
    pub start: u64,
    /// How long it is there.
    pub size: u64,
    /// Its number.
    pub number: u64,
}

impl Attached {
    /// As it is handed on.
    pub fn words(self) -> [u64; 3] {
        [self.start, self.size, self.number]
    }

    /// From that.
    pub fn of([start, size, number]: [u64; 3]) -> Attached {
        Attached { start, size, number }
    }
}
