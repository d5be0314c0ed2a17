//! Ends that accounts hold: which process has made how many ends, so that none takes all.
//!
//! An account holds at most as many ends as are still free: alone half of all. The last quarter is
//! for accounts that hold few. An end stays in the account that it was made on, whoever has it.
//! Account 0 is whoever made the service, and has no share to keep to. An account below another
//! takes its ends from that one's share.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use nacre_proto::Errno;

/// Maximum number of ends.
pub const MAX_ENDS: usize = 32_768;
/// Number of ends that only accounts with few of them may take.
const KEPT: usize = MAX_ENDS / 4;
/// Number of ends up to which an account holds few.
const FEW: usize = 16;

/// Returns the account that pays for what the last one of a line has.
pub(super) fn top(line: &[u64]) -> u64 {
    line.first().copied().unwrap_or(0)
}

/// An account behind those that it was made below, the topmost first. Empty: account 0.
pub type Line = Arc<[u64]>;

/// Ends that each account holds.
#[derive(Debug, Default)]
pub(super) struct Accounts {
    /// Account that the next ends are made on.
    pub(super) payer: Line,
    /// Number of ends, without accounts that hold none.
    pub(super) held: BTreeMap<u64, usize>,
}

impl Accounts {
    /// Charges one more end, of which there are `all`, and returns the account that pays. `ENFILE`:
    /// there are too many, or the account holds its share.
    pub(super) fn charge(&mut self, all: usize) -> Result<Line, Errno> {
        let free = MAX_ENDS.saturating_sub(all);
        let held = |account: &u64| self.held.get(account).copied().unwrap_or(0);
        let mut shared = free;
        for (depth, account) in self.payer.iter().enumerate() {
            let own = held(account);
            if own >= shared && (depth == 0 || own >= FEW) || own >= FEW && free <= KEPT {
                return Err(Errno::ENFILE);
            }
            shared = (MAX_ENDS / 2).saturating_sub(own);
        }
        if free == 0 {
            return Err(Errno::ENFILE);
        }
        let line = self.payer.clone();
        line.iter().for_each(|account| *self.held.entry(*account).or_default() += 1);
        Ok(line)
    }

    /// The account that pays for what is made next: the topmost of the line.
    pub(super) fn payer(&self) -> u64 {
        top(&self.payer)
    }

    /// An end of the account has gone.
    pub(super) fn release(&mut self, line: &[u64]) {
        for account in line {
            if let Some(held) = self.held.get_mut(account) {
                *held = held.saturating_sub(1);
                if *held == 0 {
                    self.held.remove(account);
                }
            }
        }
    }
}
