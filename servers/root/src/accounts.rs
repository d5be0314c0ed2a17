//! Accounts: who pays for the records that this program keeps for clients.
//!
//! Records are open files, segments, locks, waits, watches, views and events that nobody has read.
//! Each is charged to an account and to every account around that one. Invariant: an account never
//! grows beyond three quarters of what its parent could give to it alone. So the greediest account
//! leaves the others something, at every depth. An account with bounds does not grow beyond those
//! either, with all accounts inside it. An account lives as long as it uses anything.

use crate::table::{Key, Table};
use nacre_proto::Errno;

/// Bytes that each kind of record costs, with what belongs to it in the kernel.
pub mod cost {
    /// An object: its port and its place in the tables.
    pub const OBJECT: u64 = 1024;
    /// A lock of a part of a file.
    pub const LOCK: u64 = 256;
    /// A reply that is owed to somebody who waits.
    pub const WAIT: u64 = 256;
    /// A watch of a node.
    pub const WATCH: u64 = 256;
    /// A condition of a word of memory.
    pub const CONDITION: u64 = 512;
    /// A piece of a file that a view shows.
    pub const PIECE: u64 = 512;
    /// An account.
    pub const ACCOUNT: u64 = 128;
}

/// Bytes of records that an account with a bound may have for each object, beside the object.
const RECORDS: u64 = 4096;

/// Bounds of an account and all accounts inside it; the largest number is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Number of objects at once.
    pub objects: u64,
    /// Bytes of file contents and names.
    pub storage: u64,
}

impl Bounds {
    /// Bounds that allow everything.
    pub const NONE: Bounds = Bounds { objects: u64::MAX, storage: u64::MAX };

    /// Bytes of records.
    fn records(&self) -> u64 {
        self.objects.saturating_mul(RECORDS + cost::OBJECT)
    }
}

/// Largest number of accounts around an account.
pub const MAX_DEPTH: u32 = 32;

struct Account {
    parent: Option<Key>,
    depth: u32,
    used: u64,
    /// Number of objects, with those of all accounts inside.
    objects: u64,
    bounds: Bounds,
}

/// All accounts; each is named by its key.
pub struct Accounts {
    all: Table<Account>,
    outermost: Key,
    limit: u64,
}

impl Accounts {
    /// The outermost account, of `limit` bytes.
    pub fn new(limit: u64) -> Accounts {
        let mut all = Table::new();
        let outermost = all.insert(Account { parent: None, depth: 0, used: 0, objects: 0, bounds: Bounds::NONE });
        Accounts { all, outermost, limit }
    }

    /// The outermost account.
    pub fn outermost(&self) -> Key {
        self.outermost
    }

    /// Opens an account inside `parent`. It closes when all that was charged to it is refunded.
    pub fn open(&mut self, parent: Key) -> Result<Key, Errno> {
        self.open_within(parent, Bounds::NONE)
    }

    /// Opens an account with bounds.
    pub fn open_within(&mut self, parent: Key, bounds: Bounds) -> Result<Key, Errno> {
        let depth = self.all.get(parent).ok_or(Errno::EIO)?.depth + 1;
        if depth > MAX_DEPTH {
            return Err(Errno::ENFILE);
        }
        self.all.reserve()?;
        self.charge(parent, cost::ACCOUNT)?;
        Ok(self.all.insert(Account { parent: Some(parent), depth, used: 0, objects: 0, bounds }))
    }

    /// Returns an account and those around it, from the innermost on, but for the outermost.
    pub fn chain(&self, account: Key) -> impl Iterator<Item = Key> {
        let inside = |account: &Key| *account != self.outermost;
        let parent = move |account: &Key| self.all.get(*account).and_then(|account| account.parent).filter(inside);
        core::iter::successors(Some(account).filter(inside), parent)
    }

    /// Returns an account and those around it, as [`Accounts::chain`] does, each with the bytes of
    /// contents and names that it may have.
    pub fn payers(&self, account: Key) -> impl Iterator<Item = (u64, u64)> {
        self.chain(account).filter_map(|key| self.all.get(key).map(|account| (key.to_word(), account.bounds.storage)))
    }

    /// Returns true if there is an account of this number.
    pub fn is_open(&self, number: u64) -> bool {
        self.all.get(Key::from_word(number)).is_some()
    }

    /// Bytes that can still be charged to an account.
    pub fn room(&self, account: Key) -> u64 {
        let Some(Account { parent, used, bounds, .. }) = self.all.get(account) else { return 0 };
        let share = match parent {
            None => self.limit.saturating_sub(*used),
            Some(parent) => (3 * self.room(*parent)).saturating_sub(*used) / 4,
        };
        share.min(bounds.records().saturating_sub(*used))
    }

    /// Counts one object against an account and those around it, or changes nothing and says
    /// `ENFILE`.
    pub fn add_object(&mut self, account: Key) -> Result<(), Errno> {
        let is_full = |account: &Account| account.objects >= account.bounds.objects;
        if self.chain(account).any(|key| self.all.get(key).is_none_or(is_full)) {
            return Err(Errno::ENFILE);
        }
        self.charge(account, cost::OBJECT).map_err(|_| Errno::ENFILE)?;
        self.count_objects(account, 1);
        Ok(())
    }

    /// Takes back an object, and all bytes that were charged for it.
    pub fn remove_object(&mut self, account: Key, charged: u64) {
        self.count_objects(account, -1);
        self.refund(account, charged);
    }

    fn count_objects(&mut self, account: Key, change: i64) {
        let mut at = Some(account);
        while let Some(account) = at.and_then(|key| self.all.get_mut(key)) {
            account.objects = account.objects.saturating_add_signed(change);
            at = account.parent;
        }
    }

    /// Counts `bytes` against an account and those around it, or changes nothing and says `ENOMEM`.
    pub fn charge(&mut self, account: Key, bytes: u64) -> Result<(), Errno> {
        if self.room(account) < bytes {
            return Err(Errno::ENOMEM);
        }
        let mut at = Some(account);
        while let Some(account) = at.and_then(|key| self.all.get_mut(key)) {
            account.used += bytes;
            at = account.parent;
        }
        Ok(())
    }

    /// Takes back `bytes` that were charged. An account that uses nothing is closed.
    pub fn refund(&mut self, account: Key, bytes: u64) {
        let (mut at, mut bytes) = (Some(account), bytes);
        while let Some(key) = at {
            let Some(account) = self.all.get_mut(key) else { return };
            account.used = account.used.saturating_sub(bytes);
            at = account.parent;
            if account.used == 0 && at.is_some() {
                self.all.remove(key);
                bytes += cost::ACCOUNT;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: u64 = 1 << 20;

    fn fill(accounts: &mut Accounts, account: Key, bytes: u64) -> u64 {
        let mut count = 0;
        while accounts.charge(account, bytes).is_ok() {
            count += 1;
        }
        count
    }

    #[test]
    fn the_greedy_leave_a_quarter_of_the_rest() {
        let mut accounts = Accounts::new(LIMIT);
        let greedy: Vec<Key> = (0..4).map(|_| accounts.open(accounts.outermost()).unwrap()).collect();
        let counts: Vec<u64> = greedy.iter().map(|account| fill(&mut accounts, *account, 64)).collect();
        assert!(counts.windows(2).all(|two| two[1] * 4 + 4 >= two[0] && two[1] > 0), "{counts:?}");
        let other = accounts.open(accounts.outermost()).unwrap();
        assert!(accounts.room(other) >= LIMIT / 400, "{}", accounts.room(other));
    }

    #[test]
    fn accounts_inside_an_account_bring_it_nothing() {
        let mut accounts = Accounts::new(LIMIT);
        let greedy = accounts.open(accounts.outermost()).unwrap();
        let mut inner = greedy;
        for _ in 0..40 {
            let Ok(next) = accounts.open(inner) else { break };
            fill(&mut accounts, next, 64);
            inner = next;
        }
        for _ in 0..200 {
            if let Ok(next) = accounts.open(greedy) {
                fill(&mut accounts, next, 64);
            }
        }
        fill(&mut accounts, greedy, 1);
        let other = accounts.open(accounts.outermost()).unwrap();
        assert!(accounts.room(other) >= LIMIT / 6, "{}", accounts.room(other));
    }

    #[test]
    fn what_is_refunded_can_be_charged_again() {
        let mut accounts = Accounts::new(LIMIT);
        let middle = accounts.open(accounts.outermost()).unwrap();
        let inner = accounts.open(middle).unwrap();
        let count = fill(&mut accounts, inner, 100);
        accounts.refund(inner, 100 * count);
        // It used nothing more, nor did the account around it: both are closed.
        assert_eq!((accounts.room(inner), accounts.room(middle), accounts.room(accounts.outermost())), (0, 0, LIMIT));
        assert_eq!(accounts.charge(inner, 1), Err(Errno::ENOMEM));
    }

    #[test]
    fn a_bound_holds_for_all_accounts_inside() {
        let mut accounts = Accounts::new(LIMIT);
        let bounded = accounts.open_within(accounts.outermost(), Bounds { objects: 3, ..Bounds::NONE }).unwrap();
        let inner = accounts.open(bounded).unwrap();
        assert_eq!([bounded, inner, inner, inner, bounded].map(|account| accounts.add_object(account).is_ok()), [true, true, true, false, false]);
        // Records beside the objects are bounded, too.
        let records = fill(&mut accounts, inner, 256) * 256;
        assert!(records > 0 && records <= 3 * RECORDS, "{records}");
        assert!(accounts.add_object(accounts.outermost()).is_ok());
        accounts.refund(inner, records);
        accounts.remove_object(inner, cost::OBJECT);
        assert!(accounts.add_object(bounded).is_ok() && accounts.add_object(inner).is_err());
        [bounded, bounded, inner].into_iter().for_each(|account| accounts.remove_object(account, cost::OBJECT));
        assert!(!accounts.is_open(bounded.to_word()) && !accounts.is_open(inner.to_word()));
        assert_eq!(accounts.room(accounts.outermost()), LIMIT - cost::OBJECT);
    }

    #[test]
    fn payers_tell_the_bounds_around_them() {
        let mut accounts = Accounts::new(LIMIT);
        let bounded = accounts.open_within(accounts.outermost(), Bounds { storage: 9, ..Bounds::NONE }).unwrap();
        let inner = accounts.open(bounded).unwrap();
        assert_eq!(accounts.payers(inner).collect::<Vec<_>>(), [(inner.to_word(), u64::MAX), (bounded.to_word(), 9)]);
        assert_eq!(accounts.payers(accounts.outermost()).count(), 0);
    }

    #[test]
    fn depth_is_bounded() {
        let mut accounts = Accounts::new(1 << 40);
        let mut at = accounts.outermost();
        for _ in 0..MAX_DEPTH {
            at = accounts.open(at).unwrap();
        }
        assert_eq!(accounts.open(at), Err(Errno::ENFILE));
    }
}
