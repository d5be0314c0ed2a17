//! State of a mutex. Links: none. Whether it is locked stands in the user's own word.

super::state! {
    /// A lock.
    MutexState, Mutex, version 1, 2 words {
        /// How many threads wait (read only).
        waiting,
    }
}
