//! Files that the guest holds by numbers of its own.

use crate::list::Listing;
use crate::tree::Errno;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Limit of the bytes that all files take, by this module's count, so that a guest cannot take all
/// memory of its machine's owner.
const BUDGET: usize = 8 << 20;
/// Bytes that one takes beside its path.
const COST: usize = 256;
/// Limit of open files.
const MAX_OPEN: usize = 4096;

/// A file that the guest holds.
pub struct Fid<O> {
    /// Path below the shared directory.
    pub path: Vec<u8>,
    /// The open file, once the guest has opened it.
    pub open: Option<O>,
    /// Position of a directory's listing.
    pub listing: Listing,
}

/// All files that the guest holds.
pub struct Fids<O> {
    held: BTreeMap<u32, Fid<O>>,
    spent: usize,
    open_count: usize,
}

impl<O> Fids<O> {
    pub fn new() -> Self {
        Fids { held: BTreeMap::new(), spent: 0, open_count: 0 }
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        *self = Self::new();
    }

    pub fn get(&self, number: u32) -> Result<&Fid<O>, Errno> {
        self.held.get(&number).ok_or(Errno::BADF)
    }

    pub fn get_mut(&mut self, number: u32) -> Result<&mut Fid<O>, Errno> {
        self.held.get_mut(&number).ok_or(Errno::BADF)
    }

    /// Returns the path of a file.
    pub fn path(&self, number: u32) -> Result<&[u8], Errno> {
        Ok(&self.get(number)?.path)
    }

    /// Returns the open file.
    pub fn open(&self, number: u32) -> Result<&O, Errno> {
        self.get(number)?.open.as_ref().ok_or(Errno::BADF)
    }

    /// Returns an error if a number cannot get an open file: it has one, or there are too many.
    pub fn check_open(&self, number: u32) -> Result<(), Errno> {
        match self.get(number)?.open {
            Some(_) => Err(Errno::BADF),
            None if self.open_count >= MAX_OPEN => Err(Errno::NFILE),
            None => Ok(()),
        }
    }

    /// Gives a number an open file.
    pub fn set_open(&mut self, number: u32, file: O) -> Result<(), Errno> {
        self.check_open(number)?;
        self.get_mut(number)?.open = Some(file);
        self.open_count += 1;
        Ok(())
    }

    /// Gives a number to a path. `EEXIST`: the number is taken.
    pub fn add(&mut self, number: u32, path: Vec<u8>) -> Result<(), Errno> {
        if self.held.contains_key(&number) {
            return Err(Errno::EXIST);
        }
        let cost = COST + path.len();
        if self.spent + cost > BUDGET {
            return Err(Errno::NFILE);
        }
        self.spent += cost;
        self.held.insert(number, Fid { path, open: None, listing: Listing::default() });
        Ok(())
    }

    /// Takes a number back.
    pub fn remove(&mut self, number: u32) -> Result<Fid<O>, Errno> {
        let fid = self.held.remove(&number).ok_or(Errno::BADF)?;
        self.spent -= COST + fid.path.len();
        self.open_count -= usize::from(fid.open.is_some());
        Ok(fid)
    }

    /// Gives a number, whose file is not open, another path.
    pub fn set_path(&mut self, number: u32, path: Vec<u8>) -> Result<(), Errno> {
        self.remove(number)?;
        self.add(number, path)
    }

    /// Changes paths by `change`, which returns the new one of a path that changes.
    pub fn change_paths(&mut self, change: impl Fn(&[u8]) -> Option<Vec<u8>>) {
        for fid in self.held.values_mut() {
            if let Some(path) = change(&fid.path) {
                self.spent = self.spent - fid.path.len() + path.len();
                fid.path = path;
            }
        }
    }
}
