//! Ends that accounts hold: which process has made how many ends, so that none takes all.
//!
//! An account holds at most as many ends as are still free: alone half of all. The last quarter is
//! for accounts that hold few. An end stays in the account that it was made on, whoever has it.
//! Account 0 is whoever made the service, and has no share to keep to.

use alloc::collections::BTreeMap;
use nacre_proto::Errno;

/// Maximum number of ends.
pub const MAX_ENDS: usize = 4096;
/// Number of ends that only accounts with few of them may take.
const KEPT: usize = MAX_ENDS / 4;
/// Number of ends up to which an account holds few.
const FEW: usize = 16;

/// Ends that each account holds.
#[derive(Debug, Default)]
pub(super) struct Accounts {
    /// Account that the next ends are made on.
    pub(super) payer: u64,
    /// Number of ends, without accounts that hold none.
    pub(super) held: BTreeMap<u64, usize>,
}

impl Accounts {
    /// Charges one more end, of which there are `all`, and returns the account that pays. `ENFILE`:
    /// there are too many, or the account holds its share.
    pub(super) fn charge(&mut self, all: usize) -> Result<u64, Errno> {
        let free = MAX_ENDS.saturating_sub(all);
        let held = self.held.entry(self.payer).or_default();
        let has_share = *held >= free || *held >= FEW && free <= KEPT;
        if free == 0 || self.payer != 0 && has_share {
            return Err(Errno::ENFILE);
        }
        *held += 1;
        Ok(self.payer)
    }

    /// The account that what is made next is made on.
    pub(super) fn payer(&self) -> u64 {
        self.payer
    }

    /// An end of the account has gone.
    pub(super) fn release(&mut self, account: u64) {
        if let Some(held) = self.held.get_mut(&account) {
            *held = held.saturating_sub(1);
            if *held == 0 {
                self.held.remove(&account);
            }
        }
    }
}
