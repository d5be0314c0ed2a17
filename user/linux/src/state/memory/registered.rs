//! Areas whose faults a user-fault file is told of, and what a call lacks of them.

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
    /// Rights of the area.
    pub rights: Rights,
}

impl Registered {
    /// Notes the area's rights; those of its mapping.
    pub(super) fn change(&mut self, rights: Rights) -> Rights {
        self.rights = rights;
        self.shown()
    }

    pub(super) fn shown(&self) -> Rights {
        if self.missing { Rights::NONE } else { self.rights }
    }
}

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

/// State of registered areas as a whole.
#[derive(Default)]
pub struct Faults {
    /// There are, or were, some.
    pub(super) any: bool,
    /// Page that a call lacked last.
    pub(super) awaited: Cell<Option<Lacking>>,
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
