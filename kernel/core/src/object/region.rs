//! A region: a window of a space that its owner exports. It lies in the tree of regions of its space; mappings made from it hang on a ring; its keeper
//! is a link to a port.

use crate::machine::Physical;
use crate::view::view;
use nacre_abi::Rights;

view! {
    /// A region.
    Region, 16 words {
        header, set_header: u64 = 0;
        /// The exporting space.
        space, set_space: Physical = 1;
        start, set_start: u64 = 2;
        size, set_size: u64 = 3;
        rights, set_rights: Rights = 4;
    } places {
        /// Anchor of the mappings made from it.
        mappings = 9;
        /// Link to the keeper's port.
        keeper = 11;
        links = 14;
    }
}

impl Region<'_> {
    /// First address behind it, in the exporting space.
    pub fn end(self) -> u64 {
        self.start() + self.size()
    }
}
