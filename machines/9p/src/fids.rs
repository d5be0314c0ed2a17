//! Files that the guest holds by numbers of its own.

use crate::list::Listing;
use crate::tree::Errno;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Bytes that all files take, at most, if nobody says otherwise.
pub const BUDGET: usize = 8 << 20;
/// Bytes that one takes beside its path.
const COST: usize = 256;
/// Limit of open files.
const MAX_OPEN: usize = 4096;
/// Length of the longest path that a file can come to have by renames of directories above it.
const MAX_PATH: usize = 4000;

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
    /// Limit of the bytes that all files take, by this module's count, so that a guest cannot take
    /// all memory of its machine's owner.
    budget: usize,
    spent: usize,
    open_count: usize,
}

impl<O> Fids<O> {
    pub fn new(budget: usize) -> Self {
        Fids { held: BTreeMap::new(), budget, spent: 0, open_count: 0 }
    }

    /// Forgets all.
    pub fn clear(&mut self) {
        *self = Self::new(self.budget);
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
        self.check_change(0, COST + path.len())?;
        self.spent += COST + path.len();
        self.held.insert(number, Fid { path, open: None, listing: Listing::default() });
        Ok(())
    }

    /// Returns an error if more bytes come than there is room for when `gone` bytes have gone.
    fn check_change(&self, gone: usize, come: usize) -> Result<(), Errno> {
        if come > gone && self.spent - gone + come > self.budget { Err(Errno::NFILE) } else { Ok(()) }
    }

    /// Takes a number back.
    pub fn remove(&mut self, number: u32) -> Result<Fid<O>, Errno> {
        let fid = self.held.remove(&number).ok_or(Errno::BADF)?;
        self.spent -= COST + fid.path.len();
        self.open_count -= usize::from(fid.open.is_some());
        Ok(fid)
    }

    /// Returns an error if a number cannot get this path. It stays as it is.
    pub fn check_path(&self, number: u32, path: &[u8]) -> Result<(), Errno> {
        self.check_change(self.path(number)?.len(), path.len())
    }

    /// Gives a number, whose file is not open, another path. After an error it has its old one.
    pub fn set_path(&mut self, number: u32, path: Vec<u8>) -> Result<(), Errno> {
        self.check_path(number, &path)?;
        self.remove(number)?;
        self.add(number, path)
    }

    /// Returns an error if `change_paths` would make a path too long, or all of them together.
    pub fn check_paths(&self, change: impl Fn(&[u8]) -> Option<Vec<u8>>) -> Result<(), Errno> {
        let (mut gone, mut come) = (0, 0);
        for fid in self.held.values() {
            let Some(path) = change(&fid.path) else { continue };
            if path.len() > MAX_PATH.max(fid.path.len()) {
                return Err(Errno::NAMETOOLONG);
            }
            (gone, come) = (gone + fid.path.len(), come + path.len());
        }
        self.check_change(gone, come)
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

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn name(number: u32, length: usize) -> Vec<u8> {
        let mut path = vec![b'x'; length];
        path.iter_mut().zip(number.to_le_bytes()).for_each(|(place, byte)| *place = byte);
        path
    }

    /// Makes as many files as the budget has room for, with paths of this length.
    fn full(length: usize) -> Fids<()> {
        let mut fids = Fids::new(BUDGET);
        (0..).take_while(|number| fids.add(*number, name(*number, length)).is_ok()).for_each(drop);
        fids
    }

    #[test]
    fn a_file_stays_when_there_is_no_room_for_its_next_path() {
        let mut fids = full(3000);
        let count = fids.held.len();
        let step = |fids: &mut Fids<()>| fids.set_path(0, name(0, 3999));
        while step(&mut fids).is_ok() {
            fids.set_path(0, name(0, 3000)).unwrap();
            let next = fids.held.len() as u32;
            fids.add(next, Vec::new()).unwrap();
        }
        assert_eq!(step(&mut fids), Err(Errno::NFILE));
        assert_eq!(fids.path(0), Ok(&name(0, 3000)[..]));
        assert!(fids.held.len() >= count && fids.spent <= BUDGET);
        fids.set_path(0, Vec::new()).unwrap();
    }

    #[test]
    fn renames_make_no_path_too_long_and_all_of_them_no_longer_than_their_budget() {
        let mut fids = full(100);
        let longer = |path: &[u8]| Some([path, &[b'y'; 200]].concat());
        assert_eq!(fids.check_paths(longer), Err(Errno::NFILE));
        (1..fids.held.len() as u32).for_each(|number| drop(fids.remove(number)));
        let mut renames = 0;
        while fids.check_paths(longer).is_ok() {
            fids.change_paths(longer);
            renames += 1;
        }
        assert_eq!((renames, fids.check_paths(longer)), (19, Err(Errno::NAMETOOLONG)));
        assert_eq!(fids.spent, COST + 3900);
        assert_eq!(fids.check_paths(|path| Some(path[1..].to_vec())), Ok(()));
    }
}
