//! Paths whose files were found lately: a path is looked up in one step, however long it is.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use nacre_machine_9p::Path;

/// Bytes that all paths take, at most, and those that one takes beside its names.
const BUDGET: usize = 512 << 10;
const COST: usize = 96;

/// Inodes by paths. A path that is not here may lead to a file, too.
#[derive(Default)]
pub struct Known {
    inodes: BTreeMap<Vec<u8>, u32>,
    spent: usize,
    /// True if the running operation has added a path.
    is_new: bool,
}

impl Known {
    /// Returns the inode that a path leads to.
    pub fn get(&self, path: &Path) -> Option<u32> {
        self.inodes.get(path).copied()
    }

    /// Notes the inode that a path leads to. Other paths are forgotten if there are too many.
    pub fn note(&mut self, path: &Path, inode: u32) {
        self.remove(path);
        let cost = COST + path.len();
        if self.spent + cost > BUDGET {
            self.clear();
        }
        self.spent += cost;
        self.inodes.insert(path.to_vec(), inode);
    }

    /// Notes the path of a file that the running operation makes.
    pub fn note_new(&mut self, path: &Path, inode: u32) {
        self.note(path, inode);
        self.is_new = true;
    }

    /// Forgets a path that is about to lead elsewhere, and no path that begins with it.
    pub fn remove(&mut self, path: &Path) {
        if self.inodes.remove(path).is_some() {
            self.spent -= COST + path.len();
        }
    }

    /// Forgets all paths.
    pub fn clear(&mut self) {
        self.inodes.clear();
        (self.spent, self.is_new) = (0, false);
    }

    /// Keeps what the running operation added.
    pub fn keep(&mut self) {
        self.is_new = false;
    }

    /// Takes back what the running operation added. What it removed is found again.
    pub fn take_back(&mut self) {
        if self.is_new {
            self.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_take_no_more_than_their_budget() {
        let mut known = Known::default();
        for number in 0..100_000u32 {
            known.note(alloc::format!("a/{}", number % 30_000).as_bytes(), number);
            assert!(known.spent <= BUDGET && known.inodes.len() * COST <= BUDGET);
        }
        known.note(b"a", 7);
        known.note(b"a", 8);
        assert_eq!(known.get(b"a"), Some(8));
        known.note_new(b"b", 9);
        known.take_back();
        assert_eq!((known.get(b"a"), known.get(b"b"), known.spent), (None, None, 0));
    }
}
