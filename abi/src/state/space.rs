//! State of an address space. Links (`references` of get and set): `[keeper]`.

super::state! {
    /// An address space. Its mappings, regions and threads are objects of their own.
    SpaceState, Space, version 1, 3 words {
        /// Pages donated for tables. Read only: it is given when the space is made, and by `space_donate`.
        pool_pages,
        /// How many mappings, regions and threads there are (read only).
        population,
    }
}
