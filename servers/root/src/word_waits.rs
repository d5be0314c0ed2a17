//! Processes that wait at words of memory, as the server keeps them.

use crate::table::Key;
use nacre_sys::{OwnedCondition, OwnedReference};

/// Request that waits at a word.
pub struct Waiting {
    /// Reply that ends the wait.
    pub reply: OwnedReference,
    /// The object that is charged for it.
    pub payer: Key,
}

/// Condition of a word.
pub struct Meeting {
    /// The condition.
    pub condition: OwnedCondition,
    /// The object that is charged for it.
    pub payer: Key,
}
