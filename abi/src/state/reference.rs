//! State of a reference. Links: of a reply reference `[client]`, else none (what it leads to is
//! asked with `reference_reveal`, set by the target's `reference` call).

super::state! {
    /// The client's end.
    ReferenceState, Reference, version 1, 5 words {
        /// Number of the [`TargetType`](crate::object::TargetType); 0 is null.
        target,
        /// Rights of the reference (`REFERENCE_USE`, `REFERENCE_CONTROL`, `REFERENCE_NOTIFY`).
        rights,
        /// First I/O port or interrupt line, for those targets; for a region its size in bytes.
        first,
        /// Number of I/O ports or interrupt lines; for a region its rights.
        count,
    }
}
