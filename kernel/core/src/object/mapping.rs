//! A mapping: a window of a space that is filled from a region. It lies in the tree of mappings of
//! its space, and on the ring of its region. When the region goes the mapping stays, filled with
//! nothing.
//!
//! An overlay is a mapping in a second tree of the space, which is searched first: at most two
//! mappings lie at one address, an overlay and what it stands in front of.
//! One without a region shows what is below.
//!
//! A view is a mapping through which composition finds nothing. Its pages are entered into the
//! tables of its space one by one (`guest::view`), and are nowhere else.

use crate::machine::Physical;
use crate::view::view;
use nacre_abi::Rights;

view! {
    /// A mapping.
    Mapping, 16 words {
        header, set_header: u64 = 0;
        /// The home of the space that it is in: the frame of its root table.
        home, set_home: Physical = 1;
        start, set_start: u64 = 2;
        size, set_size: u64 = 3;
        /// Rights, and [`Rights::OVER`] if it is an overlay, [`Rights::VIEW`] if a view.
        rights, set_rights: Rights = 4;
        /// Number of the revocation of what it showed before it was changed or unlinked; 0 = that
        /// is over.
        revoked, set_revoked: u64 = 12;
        /// Offset of the window in the region.
        offset, set_offset: u64 = 15;
    } places {
        /// Link to the region.
        region = 9;
        links = 13;
    }
}

impl Mapping<'_> {
    /// First address behind it.
    pub fn end(self) -> u64 {
        self.start() + self.size()
    }
}
