//! Accounts: which process has made how many ends, so that none takes all.
//!
//! An account holds at most as many ends as are still free: alone half of all. The last quarter is for accounts that hold few. An end stays in the account that it was made on,
//! whoever has it. Account 0 is whoever made the service, and has no share to keep to.

use super::{Hub, MOST_ENDS};
use alloc::collections::BTreeMap;
use nacre_proto::Errno;

/// Number of ends that only accounts with few of them may take.
const KEPT: usize = MOST_ENDS / 4;
/// Number of ends up to which an account holds few.
const FEW: usize = 16;

/// Ends that each account holds.
#[derive(Debug, Default)]
pub(super) struct Accounts {
    /// Account that the next ends are made on.
    payer: u64,
    /// Number of ends, without accounts that hold none.
    held: BTreeMap<u64, usize>,
}

impl Accounts {
    /// Charges one more end, of which there are `all`, and returns the account that pays. `ENFILE`: there are too many, or the account holds its share.
    pub(super) fn charge(&mut self, all: usize) -> Result<u64, Errno> {
        let free = MOST_ENDS.saturating_sub(all);
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

impl<R> Hub<R> {
    /// The next ends are made on this account.
    pub fn charge_to(&mut self, account: u64) {
        self.accounts.payer = account;
    }

    /// The next ends are made on the account of this end.
    pub(super) fn charge_as(&mut self, key: u64) -> Result<(), Errno> {
        self.accounts.payer = self.end(key)?.account;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pipes(hub: &mut Hub<u64>, account: u64) -> usize {
        hub.charge_to(account);
        core::iter::from_fn(|| hub.pipe(0).ok()).count()
    }

    #[test]
    fn no_account_takes_all_ends() {
        let mut hub: Hub<u64> = Hub::default();
        let first = pipes(&mut hub, 1);
        assert!((MOST_ENDS / 4 - 1..=MOST_ENDS / 4).contains(&first));
        for account in 2..60 {
            assert!(pipes(&mut hub, account) > 0, "account {account} finds none");
        }
        // Account 0 may have all the rest.
        pipes(&mut hub, 0);
        assert_eq!(pipes(&mut hub, 1000), 0);
    }

    #[test]
    fn what_is_closed_is_paid_back() {
        let mut hub: Hub<u64> = Hub::default();
        for _ in 0..3 {
            hub.charge_to(7);
            let made: Vec<(u64, u64)> = core::iter::from_fn(|| hub.pipe(0).ok()).collect();
            assert!(made.len() > 1000);
            hub.charge_to(8);
            made.into_iter().for_each(|(reader, writer)| [reader, writer].into_iter().for_each(|end| hub.close(end)));
        }
        assert!(hub.accounts.held.is_empty());
    }
}
