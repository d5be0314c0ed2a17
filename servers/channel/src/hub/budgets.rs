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

/// Number of connections up to which an account has few.
const FEW: usize = 16;

/// The budgets, by account, and the ends of connections that are charged, with who has how many of
/// them. An end that asks for a connection is charged like one that has it.
#[derive(Debug, Default)]
pub(super) struct Budgets {
    pub(super) all: BTreeMap<u64, Budget>,
    pub(super) charged: BTreeSet<u64>,
    /// Connections that there may be; 0: whoever made the service knows no bound.
    pub(super) most: usize,
    held: BTreeMap<u64, usize>,
}

impl Budgets {
    /// Returns true if one more connection of the last account of a line leaves some to others: the
    /// last quarter is for accounts with few of them, and the last eighth for those at the top that
    /// have few, with all below them.
    pub(super) fn has_share(&self, line: &[u64]) -> bool {
        let free = self.most.saturating_sub(self.charged.len());
        let takes = |account: Option<&u64>, kept: usize| {
            let held = account.and_then(|account| self.held.get(account)).copied().unwrap_or(0);
            free > if held < FEW { 0 } else { kept }
        };
        self.most == 0 || takes(line.last(), self.most / 4) && takes(line.first(), self.most / 8)
    }

    /// Counts a connection of the accounts of a line.
    pub(super) fn charge(&mut self, end: u64, line: &[u64]) {
        if self.charged.insert(end) {
            line.iter().for_each(|account| *self.held.entry(*account).or_default() += 1);
            line.iter().for_each(|account| self.change(*account, |connections| connections - 1));
        }
    }

    /// Counts a connection of the accounts of a line no more.
    pub(super) fn release(&mut self, end: u64, line: &[u64]) {
        if !self.charged.remove(&end) {
            return;
        }
        for account in line {
            self.change(*account, |connections| connections.saturating_add(1));
            if let Some(held) = self.held.get_mut(account) {
                *held = held.saturating_sub(1);
                if *held == 0 {
                    self.held.remove(account);
                }
            }
        }
    }

    fn change(&mut self, account: u64, change: impl FnOnce(u64) -> u64) {
        if let Some(budget) = self.all.get_mut(&account) {
            budget.connections = change(budget.connections);
        }
    }
}
