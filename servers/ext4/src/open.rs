//! Open files of a volume, and locks that they have. The volume learns of the end of an open file
//! when it looks: each shares a token with it.

use crate::disk::errno;
use alloc::collections::BTreeMap;
use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;
use nacre_machine_9p::{Errno, Lock};

/// Largest number of locks of a volume.
const MAX_LOCKS: usize = 4096;
/// Number of files that are noted before those that are closed are forgotten.
const SWEEP: usize = 256;

/// An open file or directory. It is closed when it is dropped.
pub struct Open {
    pub(crate) inode: u32,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
    /// Token of all open files of the inode.
    file: Arc<()>,
    /// Token of this one.
    own: Arc<()>,
}

/// A lock of a part of a file.
struct Held {
    inode: u32,
    owner: Weak<()>,
    kind: Lock,
    first: u64,
    last: u64,
}

/// Open files of a volume, and their locks.
pub struct OpenFiles {
    files: BTreeMap<u32, Arc<()>>,
    /// Number of files from which on those that are closed are forgotten.
    sweep_at: usize,
    locks: Vec<Held>,
}

impl OpenFiles {
    pub fn new() -> Self {
        OpenFiles { files: BTreeMap::new(), sweep_at: SWEEP, locks: Vec::new() }
    }

    /// Opens a file.
    pub fn open(&mut self, inode: u32, reads: bool, writes: bool) -> Open {
        if self.files.len() >= self.sweep_at {
            self.files.retain(|_, file| Arc::strong_count(file) > 1);
            self.sweep_at = SWEEP.max(2 * self.files.len());
        }
        let file = self.files.entry(inode).or_default().clone();
        Open { inode, reads, writes, file, own: Arc::default() }
    }

    /// Returns true if a file is open.
    pub fn is_open(&self, inode: u32) -> bool {
        self.files.get(&inode).is_some_and(|file| Arc::strong_count(file) > 1)
    }

    /// Locks a part of a file, or unlocks it.
    pub fn lock(&mut self, open: &Open, kind: Lock, first: u64, last: u64) -> Result<(), Errno> {
        debug_assert!(Arc::strong_count(&open.file) > 1);
        self.locks.retain(|held| held.owner.strong_count() > 0);
        let owner = Arc::downgrade(&open.own);
        let meets = |held: &Held| held.inode == open.inode && held.first <= last && held.last >= first;
        let hinders = |held: &Held| held.kind == Lock::Write || kind == Lock::Write;
        let others = self.locks.iter().filter(|held| !held.owner.ptr_eq(&owner));
        if kind != Lock::None && others.into_iter().any(|held| meets(held) && hinders(held)) {
            return Err(errno::AGAIN);
        }
        if self.locks.len() >= MAX_LOCKS {
            return Err(errno::NOLCK);
        }
        let mut kept = Vec::new();
        for held in core::mem::take(&mut self.locks) {
            if !held.owner.ptr_eq(&owner) || !meets(&held) {
                kept.push(held);
                continue;
            }
            let part = |first, last| Held { owner: owner.clone(), first, last, ..held };
            kept.extend((held.first < first).then(|| part(held.first, first - 1)));
            kept.extend((held.last > last).then(|| part(last + 1, held.last)));
        }
        if kind != Lock::None {
            kept.push(Held { inode: open.inode, owner, kind, first, last });
        }
        self.locks = kept;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locks_are_cut_and_end_with_their_file() {
        let mut files = OpenFiles::new();
        let (one, other) = (files.open(12, true, true), files.open(12, true, true));
        files.lock(&one, Lock::Write, 0, 99).unwrap();
        files.lock(&one, Lock::None, 40, 59).unwrap();
        assert_eq!(files.lock(&other, Lock::Read, 39, 40), Err(errno::AGAIN));
        files.lock(&other, Lock::Write, 40, 59).unwrap();
        assert_eq!(files.lock(&one, Lock::Read, 59, u64::MAX), Err(errno::AGAIN));
        drop(other);
        files.lock(&one, Lock::Read, 59, u64::MAX).unwrap();
        assert!(files.is_open(12));
        drop(one);
        assert!(!files.is_open(12));
    }
}
