//! Areas whose faults a user-fault file is told of, and what a call lacks of them.

use alloc::collections::VecDeque;
use core::cell::Cell;
use nacre_abi::Rights;

/// Kinds of faults in an area that a user-fault file is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registered {
    /// Number of the file.
    pub file: u64,
    /// Pages that are not there.
    pub missing: bool,
    /// Writes to pages that may not be written.
    pub protect: bool,
    /// Pages of shared memory that are there, and were not touched here yet.
    pub minor: bool,
    /// Rights of the area.
    pub rights: Rights,
}

impl Registered {
    /// Notes the area's rights; those of its mapping.
    pub(super) fn change(&mut self, rights: Rights) -> Rights {
        self.rights = rights;
        self.shown()
    }

    /// Returns true if the mapping is hidden, and what is there stands in front.
    pub(super) fn hides(&self) -> bool {
        self.missing || self.minor
    }

    pub(super) fn shown(&self) -> Rights {
        if self.hides() { Rights::NONE } else { self.rights }
    }
}

/// Number in place of a file's: the page lies below memory that grows downward.
pub const GROWTH: u64 = 0;

/// A page that somebody has to bring, or to let be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lacking {
    /// Number of the file that is told.
    pub file: u64,
    /// Address of the page.
    pub page: u64,
    /// The access was a write.
    pub is_write: bool,
    /// The page is there, and may not be written.
    pub is_protected: bool,
}

/// Outcome of a look for a page that somebody lacks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// A page that is missing: the file is told.
    Missing,
    /// A page that others have: the file is told of that.
    Minor,
    /// A page that is shown now. Nobody is told.
    Shown,
}

/// A change of the map that a user-fault file is told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Number of the file.
    pub file: u64,
    /// Number of the change: what came first is told first.
    pub order: u64,
    /// Kind of the message.
    pub kind: u8,
    /// Words of the message.
    pub words: [u64; 3],
    /// Index of the thread that waits until the file is read.
    pub thread: usize,
}

/// State of registered areas as a whole.
#[derive(Default)]
pub struct Faults {
    /// There are, or were, some.
    pub(super) any: bool,
    /// Page that a call lacked last.
    pub(super) awaited: Cell<Option<Lacking>>,
    /// Changes that files are to be told of.
    pub events: VecDeque<Event>,
}

impl Faults {
    /// Takes what a call lacked that gave [`EAWAITS_PAGE`].
    pub fn take_awaited(&self) -> Option<Lacking> {
        self.awaited.take()
    }

    /// Returns true if there are, or were, registered areas.
    pub fn any(&self) -> bool {
        self.any
    }
}
