//! State of a port. Links: `[set]`.

super::state! {
    /// The server's end of a channel.
    PortState, Port, version 1, 4 words {
        /// The server's own word, handed to whoever receives from the port.
        word,
        /// Pending notification bits.
        pending,
        /// Number of threads that wait to send (read only).
        waiting,
    }
}
