//! The files that an `epoll` file watches.

use crate::state::files::open_file::OpenFile;
use alloc::rc::{Rc, Weak};
use alloc::vec::Vec;

/// One file of a set.
#[derive(Clone)]
pub struct Entry {
    pub descriptor: u64,
    pub file: Weak<OpenFile>,
    /// Events and flags; no events: it was told of once, which was all that was asked for.
    pub wanted: u64,
    pub data: u64,
    /// Events that were reported last, and the file's count of uses at that time.
    pub told: u64,
    pub used: u32,
    /// Counts of arrivals and departures at that time.
    pub changes: [u64; 2],
    /// Number by which a thread finds the entry again after it gave the lock up: another one after
    /// each change by the program.
    pub serial: u64,
    /// Number of the wait that told of it last.
    pub told_in: u64,
    /// Set while a thread looks at the file: no other one does, so that news is told of once.
    pub is_looked_at: bool,
}

/// A set of files.
pub struct Set {
    pub entries: Vec<Entry>,
    /// Place of the entry that the next wait looks at first.
    pub start: usize,
    serials: u64,
}

impl Set {
    /// An empty one.
    pub const fn new() -> Set {
        Set { entries: Vec::new(), start: 0, serials: 0 }
    }

    /// Returns a number that no entry has had.
    pub fn next_serial(&mut self) -> u64 {
        self.serials += 1;
        self.serials
    }

    /// Notes what a look at an entry has found, and that it is over. False: the program has changed
    /// the entry meanwhile, or taken it out. `place` is where it was.
    pub fn note(&mut self, place: usize, seen: &Entry) -> bool {
        let is_it = |entry: &Entry| entry.serial == seen.serial;
        let found = if self.entries.get(place).is_some_and(is_it) { Some(place) } else { self.entries.iter().position(is_it) };
        let Some(entry) = found.and_then(|place| self.entries.get_mut(place)) else { return false };
        *entry = Entry { is_looked_at: false, ..seen.clone() };
        true
    }

    pub fn position(&self, descriptor: u64, file: &Rc<OpenFile>) -> Option<usize> {
        self.entries.iter().position(|entry| entry.descriptor == descriptor && entry.file.as_ptr() == Rc::as_ptr(file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(set: &mut Set) -> Entry {
        Entry { descriptor: 0, file: Weak::new(), wanted: 1, data: 0, told: 0, used: 0, changes: [0; 2], serial: set.next_serial(), told_in: 0, is_looked_at: true }
    }

    #[test]
    fn a_look_is_noted_where_its_entry_is_by_then() {
        let mut set = Set::new();
        for _ in 0..3 {
            let new = entry(&mut set);
            set.entries.push(new);
        }
        let seen = Entry { told: 5, ..set.entries[2].clone() };
        set.entries.remove(0);
        assert!(set.note(2, &seen));
        assert_eq!(set.entries.iter().map(|entry| (entry.serial, entry.told, entry.is_looked_at)).collect::<Vec<_>>(), [(2, 0, true), (3, 5, false)]);
        set.entries.pop();
        assert!(!set.note(1, &seen));
        assert_eq!(set.entries.len(), 1);
    }
}
