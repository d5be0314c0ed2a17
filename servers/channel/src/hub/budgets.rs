//! Budgets of accounts: how many connections to the outside they may have at once, and how many
//! bytes may come from there and go there for good.
//!
//! An end is charged to all accounts of its line, so a budget bounds whatever is made below it.

use alloc::collections::{BTreeMap, BTreeSet};

/// Direction of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Towards the machine.
    In,
    /// Towards the outside.
    Out,
}

/// Rest of what an account may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Connections that may be added to those that there are.
    pub connections: u64,
    /// Bytes that may come in.
    pub bytes_in: u64,
    /// Bytes that may go out.
    pub bytes_out: u64,
}

impl Budget {
    pub(super) fn bytes(&mut self, way: Way) -> &mut u64 {
        if way == Way::In { &mut self.bytes_in } else { &mut self.bytes_out }
    }
}

/// The budgets, by account, and the inner ends of connections that are charged to some.
#[derive(Debug, Default)]
pub(super) struct Budgets {
    pub(super) all: BTreeMap<u64, Budget>,
    pub(super) charged: BTreeSet<u64>,
}
