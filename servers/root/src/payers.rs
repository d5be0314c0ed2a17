//! Payers of contents of files, of names, and of regions of contents: no client takes all that
//! there may be.
//!
//! A payer is an account's number. What it has taken counts against every account around it, too.
//! It has at most three times what it leaves of what its parent could give to it alone: alone three
//! quarters. The outermost account is charged to no share. A file stays with those who made it
//! grow, and a name with whoever gave it, also after they have ended.

use crate::accounts::MAX_DEPTH;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Size of a name, beside its bytes in two orders, with what it leads to.
const NAME: u64 = 768;

/// Accounts of a payer: its own, and those around it but for the outermost. Each has the bytes that
/// it may take at most.
#[derive(Debug)]
pub struct Chain(Vec<(u64, u64)>);

impl Default for Chain {
    fn default() -> Chain {
        // As many as there can be, so that a request needs no memory.
        Chain(Vec::with_capacity(MAX_DEPTH as usize + 1))
    }
}

impl Chain {
    /// Lets these accounts pay, the innermost first: number and limit.
    pub fn set(&mut self, accounts: impl Iterator<Item = (u64, u64)>) {
        self.0.clear();
        self.0.extend(accounts);
    }

    /// Number of the payer; 0 if it is charged to no share.
    fn payer(&self) -> u64 {
        self.0.first().map_or(0, |(account, _)| *account)
    }
}

/// Account that has taken something.
#[derive(Debug)]
struct Holder {
    /// Amount that it has taken, with all accounts inside it.
    held: u64,
    /// The account around it; 0: the outermost.
    parent: u64,
}

/// Amounts that accounts have taken of something that is shared.
#[derive(Debug, Default)]
pub struct Shares(BTreeMap<u64, Holder>);

impl Shares {
    /// Returns how much more a payer may have if so much is free.
    pub fn room(&self, payer: &Chain, free: u64) -> u64 {
        payer.0.iter().rev().fold(free, |room, (account, _)| {
            (3 * room).saturating_sub(self.held(*account)) / 4
        })
    }

    /// Charges a payer; returns its number.
    pub fn take(&mut self, payer: &Chain, amount: u64) -> u64 {
        for (index, (account, _)) in payer.0.iter().enumerate() {
            let parent = payer.0.get(index + 1).map_or(0, |(parent, _)| *parent);
            self.0.entry(*account).or_insert(Holder { held: 0, parent }).held += amount;
        }
        payer.payer()
    }

    /// Returns the amount that an account has taken.
    fn held(&self, account: u64) -> u64 {
        self.0.get(&account).map_or(0, |holder| holder.held)
    }

    /// Takes back what [`take`](Self::take) charged.
    pub fn give_back(&mut self, payer: u64, amount: u64) {
        let mut account = payer;
        while let Some(holder) = self.0.get_mut(&account) {
            let parent = holder.parent;
            holder.held = holder.held.saturating_sub(amount);
            if holder.held == 0 {
                self.0.remove(&account);
            }
            account = parent;
        }
    }
}

/// Bytes that each payer has taken for file contents and names.
#[derive(Debug, Default)]
pub struct Payers {
    /// Payer of what is taken from now on.
    pub now: Chain,
    /// Bytes of all names that somebody pays for.
    names: u64,
    held: Shares,
    /// Size and payer of each run of contents, by its start.
    runs: BTreeMap<u64, (u64, u64)>,
    /// Bytes that accounts with a limit have written to files of other servers, by their numbers.
    spent: BTreeMap<u64, u64>,
}

/// Returns what a name of so many bytes costs.
fn cost(length: usize) -> u64 {
    NAME + 2 * length as u64
}

impl Payers {
    /// Bytes of names.
    pub fn names(&self) -> u64 {
        self.names
    }

    /// Returns true if whoever pays now may have `bytes` more, of which `free` are free.
    pub fn may_take(&self, bytes: u64, free: u64) -> bool {
        bytes <= self.held.room(&self.now, free) && self.is_within(bytes)
    }

    /// Returns true if `bytes` more are within the limits of whoever pays now.
    fn is_within(&self, bytes: u64) -> bool {
        let taken = |account: &u64| self.held.held(*account) + self.spent.get(account).copied().unwrap_or(0);
        self.now.0.iter().all(|(account, limit)| *limit == u64::MAX || bytes <= limit.saturating_sub(taken(account)))
    }

    /// Counts bytes for good that leave this server's memory, or says that they are too many.
    pub fn spend(&mut self, bytes: u64) -> bool {
        let is_within = self.is_within(bytes);
        for (account, _) in self.now.0.iter().filter(|(_, limit)| is_within && *limit != u64::MAX) {
            *self.spent.entry(*account).or_insert(0) += bytes;
        }
        is_within
    }

    /// Forgets what accounts have spent that are not open any more.
    pub fn forget_spent(&mut self, is_open: impl Fn(u64) -> bool) {
        self.spent.retain(|account, _| is_open(*account));
    }

    /// Charges a name; who pays for it. `None`: of the `free` bytes it may not have so many.
    pub fn take_name(&mut self, length: usize, free: u64) -> Option<u64> {
        if !self.may_take(cost(length), free) {
            return None;
        }
        Some(self.move_name(length))
    }

    /// Charges a name that was another one, which nobody refuses.
    pub fn move_name(&mut self, length: usize) -> u64 {
        let payer = self.held.take(&self.now, cost(length));
        if payer != 0 {
            self.names += cost(length);
        }
        payer
    }

    /// A name has gone.
    pub fn give_name(&mut self, payer: u64, length: usize) {
        if payer != 0 {
            self.held.give_back(payer, cost(length));
            self.names = self.names.saturating_sub(cost(length));
        }
    }

    /// Charges a run of contents.
    pub fn add_run(&mut self, start: u64, size: u64) {
        let payer = self.held.take(&self.now, size);
        if payer != 0 {
            self.runs.insert(start, (size, payer));
        }
    }

    /// Contents have gone, of one run or of several.
    pub fn remove_run(&mut self, start: u64, size: u64) {
        let end = start + size;
        let mut met: Vec<(u64, u64, u64)> = Vec::new();
        for (at, (size, payer)) in self.runs.range(..end).rev() {
            if at + size <= start {
                break;
            }
            met.push((*at, *size, *payer));
        }
        for (at, size, payer) in met {
            self.runs.remove(&at);
            if at < start {
                self.runs.insert(at, (start - at, payer));
            }
            if at + size > end {
                self.runs.insert(end, (at + size - end, payer));
            }
            self.held.give_back(payer, (at + size).min(end) - at.max(start));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_client_takes_all_contents_and_names() {
        let (mut payers, most, mut used) = (Payers::default(), 1 << 20, 0);
        let mut taken = Vec::new();
        for payer in 1..5 {
            payers.now.set([(payer, u64::MAX)].into_iter());
            let before = used;
            while payers.may_take(4096, most - used - payers.names()) {
                payers.add_run(used, 4096);
                used += 4096;
            }
            while payers.take_name(10, most - used - payers.names()).is_some() {}
            taken.push(used - before);
        }
        assert!(taken[0] > most / 3 * 2 && taken[0] <= most / 4 * 3 && taken.iter().all(|taken| *taken > 0), "{taken:?}");
        payers.now.set([].into_iter());
        assert!(payers.may_take(most - used, most - used), "nobody's share is all that is left");
        payers.remove_run(0, used);
        assert!(payers.runs.is_empty() && payers.held.0.values().map(|holder| holder.held).sum::<u64>() == payers.names());
    }

    #[test]
    fn runs_go_in_parts_and_together() {
        let mut payers = Payers::default();
        for (payer, start) in [(7, 0), (8, 10), (0, 20), (9, 30)] {
            payers.now.set([(payer, u64::MAX)].into_iter().filter(|(payer, _)| *payer != 0));
            payers.add_run(start, 10);
        }
        payers.remove_run(2, 3);
        payers.remove_run(8, 24);
        assert_eq!(payers.runs.iter().map(|(start, (size, payer))| (*start, *size, *payer)).collect::<Vec<_>>(), [(0, 2, 7), (5, 3, 7), (32, 8, 9)]);
        assert_eq!(payers.held.0.into_iter().map(|(payer, holder)| (payer, holder.held)).collect::<Vec<_>>(), [(7, 5), (9, 8)]);
    }

    #[test]
    fn accounts_inside_a_payers_bring_it_no_contents() {
        let (mut payers, most, mut used) = (Payers::default(), 1 << 20, 0);
        // One client with a hundred accounts in its own.
        for inner in 100..200 {
            payers.now.set([(inner, u64::MAX), (1, u64::MAX)].into_iter());
            while payers.may_take(64, most - used) {
                payers.add_run(used, 64);
                used += 64;
            }
        }
        assert!(used <= most / 4 * 3, "{used}");
        payers.now.set([(2, u64::MAX)].into_iter());
        assert!(payers.may_take(most / 8, most - used));
        payers.remove_run(0, used);
        assert!(payers.held.0.is_empty() && payers.runs.is_empty());
    }

    #[test]
    fn a_limit_holds_for_contents_names_and_what_leaves() {
        let (mut payers, most) = (Payers::default(), 1 << 20);
        // An account in one that has a limit.
        payers.now.set([(7, u64::MAX), (1, 10_000)].into_iter());
        assert!(payers.may_take(10_000, most) && !payers.may_take(10_001, most));
        payers.add_run(0, 4096);
        let payer = payers.take_name(10, most).unwrap();
        assert!(payers.spend(4096) && !payers.spend(4096) && !payers.may_take(4096, most));
        assert_eq!(payers.take_name(1000, most), None);
        payers.now.set([(2, u64::MAX)].into_iter());
        assert!(payers.may_take(most / 2, most) && payers.spend(1 << 40), "others are not concerned");
        payers.remove_run(0, 4096);
        payers.give_name(payer, 10);
        payers.now.set([(8, u64::MAX), (1, 10_000)].into_iter());
        assert!(payers.may_take(10_000 - 4096, most) && !payers.may_take(10_000, most), "what has left counts for good");
        payers.forget_spent(|account| account != 1);
        assert!(payers.may_take(10_000, most) && payers.spent.is_empty());
    }
}
