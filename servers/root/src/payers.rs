//! Payers of contents of files and of names: no client takes all that there may be.
//!
//! A payer is an account's number. It has at most three times what is free: alone three quarters of
//! all. 0 is nobody: what it takes is charged to no share. A file stays with those who made it
//! grow, and a name with whoever gave it, also after they have ended.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Size of a name, beside its bytes in two orders, with what it leads to.
const NAME: u64 = 768;

/// Bytes that each payer has taken for file contents and names.
#[derive(Debug, Default)]
pub struct Payers {
    /// Payer of what is taken from now on.
    pub now: u64,
    /// Bytes of all names that somebody pays for.
    names: u64,
    held: BTreeMap<u64, u64>,
    /// Size and payer of each run of contents, by its start.
    runs: BTreeMap<u64, (u64, u64)>,
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
        let held = self.held.get(&self.now).copied().unwrap_or(0);
        bytes <= free && (self.now == 0 || held + bytes <= 3 * (free - bytes))
    }

    fn take(&mut self, bytes: u64) {
        if self.now != 0 {
            *self.held.entry(self.now).or_default() += bytes;
        }
    }

    fn give_back(&mut self, payer: u64, bytes: u64) {
        if let Some(held) = self.held.get_mut(&payer) {
            *held = held.saturating_sub(bytes);
            if *held == 0 {
                self.held.remove(&payer);
            }
        }
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
        if self.now != 0 {
            self.take(cost(length));
            self.names += cost(length);
        }
        self.now
    }

    /// A name has gone.
    pub fn give_name(&mut self, payer: u64, length: usize) {
        if payer != 0 {
            self.give_back(payer, cost(length));
            self.names = self.names.saturating_sub(cost(length));
        }
    }

    /// Charges a run of contents.
    pub fn add_run(&mut self, start: u64, size: u64) {
        if self.now != 0 {
            self.take(size);
            self.runs.insert(start, (size, self.now));
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
            self.give_back(payer, (at + size).min(end) - at.max(start));
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
            payers.now = payer;
            let before = used;
            while payers.may_take(4096, most - used - payers.names()) {
                payers.add_run(used, 4096);
                used += 4096;
            }
            while payers.take_name(10, most - used - payers.names()).is_some() {}
            taken.push(used - before);
        }
        assert!(taken[0] > most / 3 * 2 && taken[0] <= most / 4 * 3 && taken.iter().all(|taken| *taken > 0), "{taken:?}");
        payers.now = 0;
        assert!(payers.may_take(most - used, most - used), "nobody's share is all that is left");
        payers.remove_run(0, used);
        assert!(payers.runs.is_empty() && payers.held.values().sum::<u64>() == payers.names());
    }

    #[test]
    fn runs_go_in_parts_and_together() {
        let mut payers = Payers::default();
        for (payer, start) in [(7, 0), (8, 10), (0, 20), (9, 30)] {
            payers.now = payer;
            payers.add_run(start, 10);
        }
        payers.remove_run(2, 3);
        payers.remove_run(8, 24);
        assert_eq!(payers.runs.iter().map(|(start, (size, payer))| (*start, *size, *payer)).collect::<Vec<_>>(), [(0, 2, 7), (5, 3, 7), (32, 8, 9)]);
        assert_eq!(payers.held.into_iter().collect::<Vec<_>>(), [(7, 5), (9, 8)]);
    }
}
