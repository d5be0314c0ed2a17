//! State of a condition variable. Links: none.

super::state! {
    /// A condition variable.
    ConditionState, Condition, version 1, 2 words {
        /// How many threads wait (read only).
        waiting,
    }
}
