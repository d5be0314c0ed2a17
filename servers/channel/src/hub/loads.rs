//! Loads of accounts: bytes and references that they keep in queues, so that no process takes all.
//!
//! An account holds at most as much as is still free: alone half of all. The last quarter is for
//! accounts that hold little. What is sent to an end counts on the account that it was made on.
//! Account 0 is whoever made the service, and has no share to keep to.

use alloc::collections::BTreeMap;
use nacre_proto::Errno;

/// Limit of bytes of all queues, and of what is kept beside.
pub(super) const MAX_BYTES: usize = 32 << 20;
/// Limit of references of all queues.
pub(super) const MAX_REFERENCES: usize = 4096;
/// Bytes up to which an account holds little: a usual pipe, with what it takes beside.
const FEW_BYTES: usize = 96 << 10;
/// References up to which an account holds few.
const FEW_REFERENCES: usize = 16;

/// Bytes and references.
pub(super) type Load = (usize, usize);

/// Returns true if an account that holds `held` of `most`, of which `used` are taken, may take
/// `more`. Up to `few` it holds little.
pub(crate) fn may_take(account: u64, (most, few): (usize, usize), used: usize, held: usize, more: usize) -> bool {
    let free = most.saturating_sub(used + more);
    let has_share = held + more > free || free < most / 4;
    used + more <= most && (account == 0 || more == 0 || held + more <= few || !has_share)
}

/// Loads of accounts, without those that hold nothing.
#[derive(Debug, Default)]
pub(super) struct Loads {
    /// Loads by account.
    pub(super) held: BTreeMap<u64, Load>,
}

impl Loads {
    /// `ENOMEM`, `ETOOMANYREFS`: so many more bytes and references are too many beside those that
    /// are `used`, or more than the account's share.
    pub(super) fn check(&self, account: u64, used: Load, more: Load) -> Result<(), Errno> {
        let held = self.held.get(&account).copied().unwrap_or_default();
        if !may_take(account, (MAX_BYTES, FEW_BYTES), used.0, held.0, more.0) {
            return Err(Errno::ENOMEM);
        }
        if may_take(account, (MAX_REFERENCES, FEW_REFERENCES), used.1, held.1, more.1) { Ok(()) } else { Err(Errno::ETOOMANYREFS) }
    }

    /// The account held so many bytes and references of something, and holds other ones now.
    pub(super) fn count(&mut self, account: u64, before: Load, after: Load) {
        let load = self.held.entry(account).or_default();
        *load = ((load.0 + after.0).saturating_sub(before.0), (load.1 + after.1).saturating_sub(before.1));
        if *load == (0, 0) {
            self.held.remove(&account);
        }
    }
}
