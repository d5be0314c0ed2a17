//! A region: a window of a space that its owner exports. It lies in the tree of regions of its
//! space; mappings made from it hang on a ring; its keeper is a link to a port.

use crate::machine::Physical;
use crate::view::view;
use nacre_abi::Rights;

view! {
    /// A region.
    Region, 16 words {
        header, set_header: u64 = 0;
        /// The home of the exporting space: the frame of its root table, or of the globals for the
        /// kernel's own.
        home, set_home: Physical = 1;
        start, set_start: u64 = 2;
        size, set_size: u64 = 3;
        /// The rights, and above them `revoked`.
        rights_word, set_rights_word: u64 = 4;
    } places {
        /// Anchor of the mappings made from it.
        mappings = 9;
        /// Link to the keeper's port.
        keeper = 11;
        links = 14;
    }
}

/// First bit of the revocation's number in the word of rights.
const REVOKED_SHIFT: u32 = 8;

impl Region<'_> {
    /// Maximum rights that mappings of the region can have.
    #[inline(always)]
    pub fn rights(self) -> Rights {
        Rights(self.rights_word() & ((1 << REVOKED_SHIFT) - 1))
    }

    /// Sets the rights; no revocation is waited for.
    pub fn set_rights(self, rights: Rights) {
        self.set_rights_word(rights.0);
    }

    /// Number of the revocation of what was derived from it before it was changed or closed; 0 =
    /// that is over.
    pub fn revoked(self) -> u64 {
        self.rights_word() >> REVOKED_SHIFT
    }

    /// Sets that number.
    pub fn set_revoked(self, number: u64) {
        self.set_rights_word(self.rights().0 | number << REVOKED_SHIFT);
    }

    /// Returns true while the region is being destroyed: it has no size then, and no rights.
    pub fn is_closed(self) -> bool {
        self.size() == 0
    }

    /// First address behind it, in the exporting space.
    pub fn end(self) -> u64 {
        self.start() + self.size()
    }
}
