//! State of a region. Links: `[keeper, space]`; the space cannot be changed.

super::state! {
    /// A window of a space that its owner exports.
    RegionState, Region, version 1, 4 words {
        /// First address in the exporting space, a multiple of 4096.
        start,
        /// Size in bytes, a multiple of 4096.
        size,
        /// [`Rights`](crate::Rights).
        rights,
    }
}
