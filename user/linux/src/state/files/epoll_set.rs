//! The files that an `epoll` file watches.
//!
//! A file of which the board is to tell, and has not, stands on a *shelf*, where no wait looks.
//! When the board tells of a shelf, all files leave it. Files that no shelf holds are *loud*: each
//! wait looks at them. Files that were told of once, which was all that was asked for, are neither.

use crate::abi::errno::{ENOMEM, Errno};
use crate::state::files::open_file::OpenFile;
use crate::state::files::watch::{SHELVES, Watch};
use crate::state::files::watches::Watches;
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

/// Flags of `wanted` that are not events.
pub const FLAGS: u64 = 0xf << 28;

impl Entry {
    fn key(&self) -> Key {
        (self.descriptor, self.file.as_ptr().addr())
    }

    fn list(&self) -> usize {
        if self.wanted & !FLAGS == 0 { DISABLED } else { LOUD }
    }
}

/// Descriptor of an entry and address of its file, which no other entry of a set has. While the
/// entry is there, nobody else has the address of a file that was closed.
type Key = (u64, usize);

/// Number of entries from which on those of closed files are looked for.
const FEW: usize = 64;
/// Lists of places: free ones, loud entries, disabled ones, and one for each shelf.
const FREE: usize = 0;
const LOUD: usize = 1;
const DISABLED: usize = 2;
const FIRST_SHELF: usize = 3;
/// Place that is none.
const NONE: u32 = u32::MAX;

/// A place for an entry, in a ring of places.
struct Place {
    entry: Option<Entry>,
    list: u16,
    next: u32,
    previous: u32,
}

/// A set of files.
pub struct Set {
    places: Vec<Place>,
    /// First place of each list.
    heads: Vec<u32>,
    /// Places of the entries.
    found: BTreeMap<Key, u32>,
    /// Number of entries at which those of closed files are taken out.
    crowded: usize,
    serials: u64,
    /// Number of loud entries.
    loud: usize,
    /// Number of entries on shelves.
    shelved: usize,
    /// Number of the board's tellings that were seen to.
    tellings: u64,
}

impl Set {
    /// An empty one.
    pub const fn new() -> Set {
        Set { places: Vec::new(), heads: Vec::new(), found: BTreeMap::new(), crowded: FEW, serials: 0, loud: 0, shelved: 0, tellings: 0 }
    }

    /// Number of entries. Some may be of files that are closed.
    pub fn len(&self) -> usize {
        self.found.len()
    }

    /// All entries, in no particular order. Some may be of files that are closed.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.places.iter().filter_map(|place| place.entry.as_ref())
    }

    /// The loud entries.
    pub fn loud(&self) -> impl Iterator<Item = &Entry> {
        self.list(LOUD).filter_map(|place| self.places[place as usize].entry.as_ref())
    }

    /// Number of loud entries.
    pub fn loud_count(&self) -> usize {
        self.loud
    }

    fn head(&self, list: usize) -> u32 {
        self.heads.get(list).copied().unwrap_or(NONE)
    }

    /// Places of a list, from the first one on.
    fn list(&self, list: usize) -> impl Iterator<Item = u32> {
        let first = self.head(list);
        let mut next = first;
        core::iter::from_fn(move || {
            let place = next;
            let after = self.places.get(place as usize)?.next;
            next = if after == first { NONE } else { after };
            Some(place)
        })
    }

    /// Puts a place that is in no list at the end of one.
    fn put(&mut self, place: u32, list: usize) {
        let first = self.head(list);
        let (next, previous) = match self.places.get(first as usize) {
            Some(head) => (first, head.previous),
            None => (place, place),
        };
        let new = &mut self.places[place as usize];
        (new.list, new.next, new.previous) = (list as u16, next, previous);
        self.places[next as usize].previous = place;
        self.places[previous as usize].next = place;
        if first == NONE {
            self.heads[list] = place;
        }
        self.loud += usize::from(list == LOUD);
        self.shelved += usize::from(list >= FIRST_SHELF);
    }

    /// Takes a place out of its list.
    fn take(&mut self, place: u32) {
        let Place { list, next, previous, .. } = self.places[place as usize];
        self.places[previous as usize].next = next;
        self.places[next as usize].previous = previous;
        if self.head(list.into()) == place {
            self.heads[usize::from(list)] = if next == place { NONE } else { next };
        }
        let list = usize::from(list);
        self.loud -= usize::from(list == LOUD);
        self.shelved -= usize::from(list >= FIRST_SHELF);
    }

    fn move_to(&mut self, place: u32, list: usize) {
        self.take(place);
        self.put(place, list);
    }

    /// Takes the next loud entry, which goes behind all others, with its place.
    pub fn next_loud(&mut self) -> Option<(usize, &mut Entry)> {
        let place = self.head(LOUD);
        self.heads[LOUD] = self.places.get(place as usize)?.next;
        let place = place as usize;
        Some((place, self.places[place].entry.as_mut()?))
    }

    /// The entry of a file at a descriptor.
    pub fn find(&self, descriptor: u64, file: &Rc<OpenFile>) -> Option<&Entry> {
        let place = *self.found.get(&(descriptor, Rc::as_ptr(file).addr()))?;
        self.places.get(place as usize)?.entry.as_ref()
    }

    /// Returns a place that is in no list. There is room for all lists then.
    fn free_place(&mut self) -> Result<u32, Errno> {
        if self.heads.is_empty() {
            self.heads.try_reserve_exact(FIRST_SHELF + SHELVES).map_err(|_| ENOMEM)?;
            self.heads.resize(FIRST_SHELF + SHELVES, NONE);
        }
        let free = self.head(FREE);
        if free != NONE {
            self.take(free);
            return Ok(free);
        }
        let new = u32::try_from(self.places.len()).map_err(|_| ENOMEM)?;
        self.places.try_reserve(1).map_err(|_| ENOMEM)?;
        self.places.push(Place { entry: None, list: FREE as u16, next: new, previous: new });
        Ok(new)
    }

    /// Adds an entry, of which there is none yet.
    pub fn add(&mut self, entry: Entry) -> Result<(), Errno> {
        if self.found.len() >= self.crowded {
            let is_closed = |place: &Place| place.entry.as_ref().is_some_and(|entry| entry.file.strong_count() == 0);
            (0..self.places.len()).filter(|place| is_closed(&self.places[*place])).collect::<Vec<_>>().into_iter().for_each(|place| self.empty(place));
            self.crowded = (2 * self.found.len()).max(FEW);
        }
        let place = self.free_place()?;
        let list = entry.list();
        self.found.insert(entry.key(), place);
        self.places[place as usize].entry = Some(entry);
        self.put(place, list);
        Ok(())
    }

    /// Takes an entry out of its place.
    pub fn empty(&mut self, place: usize) {
        if let Some(entry) = self.places.get_mut(place).and_then(|place| place.entry.take()) {
            self.found.remove(&entry.key());
            self.move_to(place as u32, FREE);
        }
    }

    /// Puts an entry in the place of the one of the same file and descriptor. False: there is none.
    pub fn replace(&mut self, entry: Entry) -> bool {
        let Some(place) = self.found.get(&entry.key()).copied() else { return false };
        let list = entry.list();
        self.places[place as usize].entry = Some(entry);
        self.move_to(place, list);
        true
    }

    /// Takes the entry of a file at a descriptor out. False: there is none.
    pub fn remove(&mut self, descriptor: u64, file: &Rc<OpenFile>) -> bool {
        let place = self.found.get(&(descriptor, Rc::as_ptr(file).addr())).copied();
        place.inspect(|place| self.empty(*place as usize)).is_some()
    }

    /// Returns a number that no entry has had.
    pub fn next_serial(&mut self) -> u64 {
        self.serials += 1;
        self.serials
    }

    /// Notes what a look at an entry has found, and that it is over. False: the program has changed
    /// the entry meanwhile, or taken it out. `place` is where it is.
    pub fn note(&mut self, place: usize, seen: &Entry) -> bool {
        let Some(entry) = self.places.get_mut(place).and_then(|place| place.entry.as_mut()).filter(|entry| entry.serial == seen.serial) else { return false };
        *entry = Entry { is_looked_at: false, ..seen.clone() };
        if seen.list() == DISABLED {
            self.move_to(place as u32, DISABLED);
        }
        true
    }

    /// Makes entries loud of which the board has told since.
    pub fn wake(&mut self, watches: &Watches) {
        let before = core::mem::replace(&mut self.tellings, watches.tellings());
        match watches.told_since(before) {
            Some(shelves) => shelves.for_each(|shelf| self.clear_shelf(shelf)),
            None => self.wake_all(),
        }
    }

    /// Makes the entries of all shelves loud.
    pub fn wake_all(&mut self) {
        if self.shelved != 0 {
            (0..SHELVES).for_each(|shelf| self.clear_shelf(shelf));
        }
    }

    fn clear_shelf(&mut self, shelf: usize) {
        while let place = self.head(FIRST_SHELF + shelf)
            && place != NONE
        {
            self.move_to(place, LOUD);
        }
    }

    /// Puts those loud entries on their shelves for which `is_quiet` returns a watch.
    pub fn shelve(&mut self, mut is_quiet: impl FnMut(&Entry) -> Option<Watch>) {
        for _ in 0..self.loud {
            let Some((place, entry)) = self.next_loud() else { return };
            if entry.is_looked_at {
                continue;
            }
            if let Some(watch) = is_quiet(entry) {
                self.move_to(place as u32, FIRST_SHELF + watch.shelf());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(set: &mut Set, descriptor: u64) -> Entry {
        Entry { descriptor, file: Weak::new(), wanted: 1, data: 0, told: 0, used: 0, changes: [0; 2], serial: set.next_serial(), told_in: 0, is_looked_at: true }
    }

    fn with_entries(count: u64) -> Set {
        let mut set = Set::new();
        for descriptor in 0..count {
            let new = entry(&mut set, descriptor);
            set.add(Entry { is_looked_at: false, ..new }).unwrap();
        }
        set
    }

    fn loud(set: &Set) -> Vec<u64> {
        assert_eq!(set.loud().count(), set.loud_count());
        set.loud().map(|entry| entry.descriptor).collect()
    }

    #[test]
    fn a_look_is_noted_unless_the_entry_has_changed() {
        let mut set = with_entries(3);
        let (place, found) = set.next_loud().unwrap();
        let seen = Entry { told: 5, wanted: 1 << 30, ..found.clone() };
        assert_eq!((place, loud(&set)), (0, Vec::from([1, 2, 0])));
        assert!(set.note(place, &seen));
        assert_eq!((set.entries().next().unwrap().told, loud(&set)), (5, Vec::from([1, 2])), "it was all that was asked for");
        let again = entry(&mut set, 0);
        assert!(set.replace(again) && !set.note(place, &seen));
        assert_eq!(loud(&set), [1, 2, 0]);
        set.empty(place);
        assert!(!set.note(place, &seen));
        assert_eq!((set.len(), loud(&set)), (2, Vec::from([1, 2])));
    }

    #[test]
    fn shelves_are_quiet_until_the_board_tells_of_them() {
        let (mut set, mut watches) = (with_entries(6), Watches::new());
        let quiet = |entry: &Entry| (entry.descriptor % 3 != 0).then(|| Watch { id: entry.descriptor % 3, ..Watch::default() });
        set.shelve(quiet);
        assert_eq!(loud(&set), [0, 3]);
        set.wake(&watches);
        assert_eq!(loud(&set), [0, 3]);
        watches.tell(2);
        set.wake(&watches);
        assert_eq!(loud(&set), [0, 3, 2, 5]);
        set.shelve(quiet);
        watches.tell_all();
        set.wake(&watches);
        assert_eq!(loud(&set).len(), 6);
    }

    #[test]
    fn entries_of_closed_files_make_room() {
        let set = with_entries(10 * FEW as u64);
        assert!(set.len() <= FEW && set.places.len() <= FEW && set.entries().count() == set.len());
    }
}
