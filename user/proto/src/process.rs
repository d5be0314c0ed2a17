//! Protocol 7, `process`: reserved for the process manager.

crate::protocol! {
    /// Reserved for the process manager, which comes with its own operations.
    process = 7;
}
