//! State of a mapping. Links: `[region, space]`; the space cannot be changed.

super::state! {
    /// A window of a space that is filled from a region.
    MappingState, Mapping, version 1, 5 words {
        /// First address in the space, a multiple of 4096.
        start,
        /// Size in bytes, a multiple of 4096.
        size,
        /// Offset in the region at which the window starts, a multiple of 4096.
        offset,
        /// [`Rights`](crate::Rights), and [`Rights::OVER`](crate::Rights::OVER) if it is an
        /// overlay.
        rights,
    }
}
