//! State of an address space. Links (`references` of get and set): `[keeper]`.

super::state! {
    /// An address space. Its mappings, regions and threads are objects of their own.
    SpaceState, Space, version 2, 4 words {
        /// Pages donated for tables. Read only: it is given when the space is made, and by
        /// `space_donate`.
        pool_pages,
        /// Number of mappings, regions and threads (read only).
        population,
        /// `TIME_HIDDEN` and `TIME_HELD`. Taken over by `space_set_state`; a space that is made has
        /// what the space of its maker has.
        flags,
    }
}

impl SpaceState {
    /// Flag in `flags`: the machine's time does not show. Instructions that read it (`rdtsc`,
    /// `rdtscp`) raise an exception, which the space's keeper can answer with a time of its own.
    pub const TIME_HIDDEN: u64 = 1;
    /// Flag in `flags`: for threads of the space no time passes in which a wait would end. Whoever
    /// holds the space ends waits, by the threads' states.
    pub const TIME_HELD: u64 = 2;
    /// All flags.
    pub const FLAGS: u64 = Self::TIME_HIDDEN | Self::TIME_HELD;
}
