//! State of a port set. Links: none.

super::state! {
    /// Ports that are received from together.
    PortSetState, PortSet, version 1, 2 words {
        /// Number of ports in the set (read only).
        ports,
    }
}
