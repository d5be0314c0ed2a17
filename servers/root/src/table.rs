//! A table of records with names that are never reused: the index of an entry and how often the
//! entry was filled before.

use alloc::vec::Vec;
use nacre_proto::Errno;

/// Names a record of a [`Table`]. As a word it fits the word of a port.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Key {
    index: u32,
    generation: u32,
}

impl Key {
    /// The key as one word.
    pub const fn to_word(self) -> u64 {
        (self.generation as u64) << 32 | self.index as u64
    }

    /// The key that this word stands for.
    pub const fn from_word(word: u64) -> Key {
        Key { index: word as u32, generation: (word >> 32) as u32 }
    }

    /// The number of the entry, which later keys may share.
    pub const fn index(self) -> u32 {
        self.index
    }
}

struct Entry<T> {
    generation: u32,
    record: Option<T>,
}

/// Records by [`Key`].
pub struct Table<T> {
    entries: Vec<Entry<T>>,
    free: Vec<u32>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Table::new()
    }
}

impl<T> Table<T> {
    /// An empty table.
    pub const fn new() -> Table<T> {
        Table { entries: Vec::new(), free: Vec::new() }
    }

    /// Returns the number of records.
    pub fn len(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// Returns true if there are no records.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Makes sure that one more record can be added, and any record removed, without memory.
    pub fn reserve(&mut self) -> Result<(), Errno> {
        if !self.free.is_empty() || self.entries.len() < self.entries.capacity().min(self.free.capacity()) {
            return Ok(());
        }
        self.entries.try_reserve(1).map_err(|_| Errno::ENOMEM)?;
        self.free.try_reserve(self.entries.capacity() - self.free.len()).map_err(|_| Errno::ENOMEM)
    }

    /// Adds a record. Callers on behalf of a client call [`Table::reserve`] before, because the
    /// table may be large.
    pub fn insert(&mut self, record: T) -> Key {
        if let Some(index) = self.free.pop() {
            let entry = &mut self.entries[index as usize];
            entry.record = Some(record);
            return Key { index, generation: entry.generation };
        }
        let index = self.entries.len() as u32;
        self.entries.push(Entry { generation: 1, record: Some(record) });
        Key { index, generation: 1 }
    }

    /// The record named `key`, if it is still there.
    pub fn get(&self, key: Key) -> Option<&T> {
        self.entries.get(key.index as usize).filter(|entry| entry.generation == key.generation)?.record.as_ref()
    }

    /// The record named `key`, to be changed.
    pub fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        self.entries.get_mut(key.index as usize).filter(|entry| entry.generation == key.generation)?.record.as_mut()
    }

    /// Takes the record named `key` out; the key is never valid again.
    pub fn remove(&mut self, key: Key) -> Option<T> {
        let entry = self.entries.get_mut(key.index as usize).filter(|entry| entry.generation == key.generation)?;
        let record = entry.record.take()?;
        entry.generation = entry.generation.wrapping_add(1);
        self.free.push(key.index);
        Some(record)
    }

    /// Every record with its key.
    pub fn iter(&self) -> impl Iterator<Item = (Key, &T)> {
        self.entries.iter().enumerate().filter_map(|(index, entry)| {
            let key = Key { index: index as u32, generation: entry.generation };
            entry.record.as_ref().map(|record| (key, record))
        })
    }

    /// Every record with its key, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (Key, &mut T)> {
        self.entries.iter_mut().enumerate().filter_map(|(index, entry)| {
            let key = Key { index: index as u32, generation: entry.generation };
            entry.record.as_mut().map(|record| (key, record))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_removed_key_does_not_find_its_successor() {
        let mut table = Table::new();
        let first = table.insert('a');
        assert_eq!(table.remove(first), Some('a'));
        let second = table.insert('b');
        assert_eq!(second.index(), first.index());
        assert_eq!((table.get(first), table.get(second)), (None, Some(&'b')));
        assert_eq!(Key::from_word(second.to_word()), second);
        assert_eq!(table.len(), 1);
    }
}
