//! The table of descriptors, and the open files behind them. `dup` makes two descriptors of one
//! open file, so an open file is shared.

use crate::abi::errno::{EBADF, EMFILE, Errno};
use crate::abi::file_flags::O_RDWR;
use crate::state::files::open_file::{Kind, OpenFile};
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::OnceCell;

/// One descriptor.
struct Slot<F> {
    file: Rc<F>,
    close_on_exec: bool,
}

/// The table: descriptor `n` is entry `n`.
pub struct Descriptors<F = OpenFile> {
    slots: Vec<Option<Slot<F>>>,
    /// Below this one there is no free one.
    taken: usize,
}

impl Descriptors {
    /// Makes the table of a program that was handed no others: its streams.
    pub fn standard() -> Result<Descriptors, Errno> {
        let mut descriptors = Descriptors::new();
        for number in 0..3 {
            let stream = OpenFile::new(Kind::Stream(number, OnceCell::new()), 0, O_RDWR);
            descriptors.insert(Rc::new(stream), 0, false, 3)?;
        }
        Ok(descriptors)
    }
}

impl<F> Descriptors<F> {
    /// An empty table.
    pub const fn new() -> Descriptors<F> {
        Descriptors { slots: Vec::new(), taken: 0 }
    }

    /// The entry of a descriptor, of which only 32 bits count.
    fn slot(&self, descriptor: u64) -> Result<&Slot<F>, Errno> {
        self.slots.get(descriptor as u32 as usize).and_then(Option::as_ref).ok_or(EBADF)
    }

    /// The open file behind a descriptor.
    pub fn get(&self, descriptor: u64) -> Result<Rc<F>, Errno> {
        self.slot(descriptor).map(|slot| slot.file.clone())
    }

    /// Returns the file of a descriptor, for reading only.
    pub fn look(&self, descriptor: u64) -> Option<&F> {
        self.slot(descriptor).ok().map(|slot| &*slot.file)
    }

    /// Returns true if `execve` closes the descriptor.
    pub fn close_on_exec(&self, descriptor: u64) -> Result<bool, Errno> {
        self.slot(descriptor).map(|slot| slot.close_on_exec)
    }

    /// Sets whether it is.
    pub fn set_close_on_exec(&mut self, descriptor: u64, close_on_exec: bool) -> Result<(), Errno> {
        let slot = self.slots.get_mut(descriptor as u32 as usize).and_then(Option::as_mut).ok_or(EBADF)?;
        slot.close_on_exec = close_on_exec;
        Ok(())
    }

    /// Enters a file at the lowest free descriptor from `lowest` on and below `limit`.
    pub fn insert(&mut self, file: Rc<F>, lowest: usize, close_on_exec: bool, limit: usize) -> Result<u64, Errno> {
        let index = self.free(lowest);
        if index >= limit {
            return Err(EMFILE);
        }
        self.put(index, file, close_on_exec)?;
        if lowest <= self.taken {
            self.taken = index + 1;
        }
        Ok(index as u64)
    }

    /// The lowest free descriptor from `lowest` on.
    fn free(&self, lowest: usize) -> usize {
        let from = lowest.max(self.taken);
        let free = (from..self.slots.len()).find(|index| self.slots[*index].is_none());
        free.unwrap_or(self.slots.len().max(from))
    }

    /// Returns true if no descriptor below `limit` is free.
    pub fn is_full(&self, limit: usize) -> bool {
        self.free(0) >= limit
    }

    /// `EMFILE` unless so many more descriptors can be had.
    pub fn check_room(&self, count: usize, limit: usize) -> Result<(), Errno> {
        let used = self.slots.iter().take(limit).flatten().count();
        if used + count <= limit { Ok(()) } else { Err(EMFILE) }
    }

    /// Enters a file at `descriptor`, in place of what is there.
    pub fn replace(&mut self, descriptor: u64, file: Rc<F>, close_on_exec: bool, limit: usize) -> Result<(), Errno> {
        let index = descriptor as u32 as usize;
        if index >= limit {
            return Err(EBADF);
        }
        self.put(index, file, close_on_exec)
    }

    fn put(&mut self, index: usize, file: Rc<F>, close_on_exec: bool) -> Result<(), Errno> {
        if index >= self.slots.len() {
            self.slots.try_reserve(index + 1 - self.slots.len()).map_err(|_| EMFILE)?;
            self.slots.resize_with(index + 1, || None);
        }
        self.slots[index] = Some(Slot { file, close_on_exec });
        Ok(())
    }

    /// Closes a descriptor; the file that was open.
    pub fn close(&mut self, descriptor: u64) -> Result<Rc<F>, Errno> {
        let index = descriptor as u32 as usize;
        let slot = self.slots.get_mut(index).and_then(Option::take).ok_or(EBADF)?;
        self.taken = self.taken.min(index);
        Ok(slot.file)
    }

    /// Returns the lowest open descriptor that is not below `first`.
    pub fn open_from(&self, first: u64) -> Option<u64> {
        let first = usize::try_from(first).ok()?;
        let free = self.slots.get(first..)?.iter().position(Option::is_some)?;
        Some((first + free) as u64)
    }

    /// Every open descriptor, in ascending order.
    pub fn open(&self) -> impl Iterator<Item = u64> {
        self.slots.iter().enumerate().filter(|(_, slot)| slot.is_some()).map(|(index, _)| index as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_free_descriptor_is_taken() {
        let mut table = Descriptors::new();
        for number in 0..3 {
            assert_eq!(table.insert(Rc::new(number), 0, false, 8), Ok(number));
        }
        assert_eq!(*table.close(1).unwrap(), 1);
        assert_eq!(table.get(1).err(), Some(EBADF));
        assert_eq!(table.insert(Rc::new(9), 0, true, 8), Ok(1));
        assert_eq!(table.insert(Rc::new(9), 5, false, 8), Ok(5));
        assert_eq!(table.insert(Rc::new(9), 8, false, 8), Err(EMFILE));
        assert!(!table.is_full(4) && table.is_full(3));
        assert_eq!(table.close_on_exec(1), Ok(true));
        assert_eq!(table.get(0xffff_ffff).err(), Some(EBADF));
        assert_eq!(table.open().collect::<Vec<_>>(), [0, 1, 2, 5]);
        assert_eq!([0, 3, 6, u64::MAX].map(|first| table.open_from(first)), [Some(0), Some(5), None, None]);
    }
}
