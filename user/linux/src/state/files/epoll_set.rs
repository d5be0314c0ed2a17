//! The files that an `epoll` file watches.

use crate::abi::errno::{ENOMEM, Errno};
use crate::state::files::open_file::OpenFile;
use alloc::collections::BTreeMap;
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

impl Entry {
    fn key(&self) -> Key {
        (self.descriptor, self.file.as_ptr().addr())
    }
}

/// Descriptor of an entry and address of its file, which no other entry of a set has. While the
/// entry is there, nobody else has the address of a file that was closed.
type Key = (u64, usize);

/// Number of entries from which on those of closed files are looked for.
const FEW: usize = 64;

/// A set of files.
pub struct Set {
    entries: Vec<Entry>,
    /// Places of the entries.
    places: BTreeMap<Key, usize>,
    /// Number of entries at which those of closed files are taken out.
    crowded: usize,
    /// Place of the entry that the next wait looks at first.
    pub start: usize,
    serials: u64,
}

impl Set {
    /// An empty one.
    pub const fn new() -> Set {
        Set { entries: Vec::new(), places: BTreeMap::new(), crowded: FEW, start: 0, serials: 0 }
    }

    /// All entries, in no particular order. Some may be of files that are closed.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The entry at a place.
    pub fn at(&mut self, place: usize) -> Option<&mut Entry> {
        self.entries.get_mut(place)
    }

    /// The entry of a file at a descriptor.
    pub fn find(&mut self, descriptor: u64, file: &Rc<OpenFile>) -> Option<&mut Entry> {
        let place = *self.places.get(&(descriptor, Rc::as_ptr(file).addr()))?;
        self.entries.get_mut(place)
    }

    /// Adds an entry, of which there is none yet.
    pub fn add(&mut self, entry: Entry) -> Result<(), Errno> {
        if self.entries.len() >= self.crowded {
            self.entries.retain(|entry| entry.file.strong_count() != 0);
            self.places = self.entries.iter().enumerate().map(|(place, entry)| (entry.key(), place)).collect();
            self.crowded = (2 * self.entries.len()).max(FEW);
        }
        self.entries.try_reserve(1).map_err(|_| ENOMEM)?;
        self.places.insert(entry.key(), self.entries.len());
        self.entries.push(entry);
        Ok(())
    }

    /// Takes the entry of a file at a descriptor out. False: there is none.
    pub fn remove(&mut self, descriptor: u64, file: &Rc<OpenFile>) -> bool {
        self.remove_key((descriptor, Rc::as_ptr(file).addr()))
    }

    fn remove_key(&mut self, key: Key) -> bool {
        let Some(place) = self.places.remove(&key) else { return false };
        self.entries.swap_remove(place);
        if let Some(moved) = self.entries.get(place) {
            self.places.insert(moved.key(), place);
        }
        true
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
        let found = if self.entries.get(place).is_some_and(is_it) { Some(place) } else { self.places.get(&seen.key()).copied() };
        let Some(entry) = found.and_then(|place| self.entries.get_mut(place)).filter(|entry| is_it(entry)) else { return false };
        *entry = Entry { is_looked_at: false, ..seen.clone() };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(set: &mut Set, descriptor: u64) -> Entry {
        Entry { descriptor, file: Weak::new(), wanted: 1, data: 0, told: 0, used: 0, changes: [0; 2], serial: set.next_serial(), told_in: 0, is_looked_at: true }
    }

    #[test]
    fn a_look_is_noted_where_its_entry_is_by_then() {
        let mut set = Set::new();
        for descriptor in 0..3 {
            let new = entry(&mut set, descriptor);
            set.add(new).unwrap();
        }
        let seen = Entry { told: 5, ..set.entries[2].clone() };
        assert!(set.remove_key((0, Weak::<OpenFile>::new().as_ptr().addr())));
        assert!(set.note(2, &seen));
        assert_eq!(set.entries.iter().map(|entry| (entry.serial, entry.told, entry.is_looked_at)).collect::<Vec<_>>(), [(3, 5, false), (2, 0, true)]);
        assert!(set.remove_key(seen.key()));
        assert!(!set.note(0, &seen));
        assert_eq!(set.entries.len(), 1);
    }

    #[test]
    fn entries_of_closed_files_make_room() {
        let mut set = Set::new();
        for descriptor in 0..10 * FEW as u64 {
            let new = entry(&mut set, descriptor);
            set.add(new).unwrap();
            assert!(set.entries.len() <= FEW && set.places.len() == set.entries.len());
        }
    }
}
