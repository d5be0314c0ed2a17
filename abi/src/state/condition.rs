//! State of a condition variable. Links: none.

super::state! {
    /// A condition variable.
    ConditionState, Condition, version 1, 2 words {
        /// Number of threads that wait (read only).
        waiting,
    }
}
