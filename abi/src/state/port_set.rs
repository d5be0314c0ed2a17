//! State of a port set. Links: none.

super::state! {
    /// Ports that are received from together.
    PortSetState, PortSet, version 1, 2 words {
        /// How many ports are in it (read only).
        ports,
    }
}
