//! State of a mutex. Links: none. Whether it is locked stands in the user's own word.

super::state! {
    /// A lock.
    MutexState, Mutex, version 1, 2 words {
        /// Number of threads that wait (read only).
        waiting,
    }
}
