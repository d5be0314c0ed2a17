//! The table of descriptors, and the open files behind them. `dup` makes two descriptors of one
//! open file, so an open file is shared. A descriptor that was inherited waits for its file until
//! it is used.

use crate::abi::errno::{EBADF, EINVAL, EMFILE, Errno};
use crate::abi::file_flags::O_RDWR;
use crate::abi::fork_record::Descriptor;
use crate::state::files::open_file::{Kind, OpenFile};
use crate::state::limits::MAX_DESCRIPTORS;
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::OnceCell;

/// Files for which descriptors wait.
pub trait Waiting<F> {
    /// Returns the file of this index for one of the descriptors that wait for it.
    fn take(&self, index: u32) -> Option<Rc<F>>;
}

/// One descriptor.
struct Slot<F> {
    /// Absent while the descriptor waits.
    file: OnceCell<Rc<F>>,
    /// Index of the file that a waiting descriptor gets.
    index: u32,
    close_on_exec: bool,
}

/// The table: descriptor `n` is entry `n`.
pub struct Descriptors<F = OpenFile> {
    slots: Vec<Option<Slot<F>>>,
    /// Below this one there is no free one.
    taken: usize,
    /// Files of the descriptors that wait.
    waiting: Option<Box<dyn Waiting<F>>>,
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
        Descriptors { slots: Vec::new(), taken: 0, waiting: None }
    }

    /// The entry of a descriptor, of which only 32 bits count.
    fn slot(&self, descriptor: u64) -> Result<&Slot<F>, Errno> {
        self.slots.get(descriptor as u32 as usize).and_then(Option::as_ref).ok_or(EBADF)
    }

    /// Makes the table of a process that inherits descriptors: each waits for its file.
    pub fn inherited(all: &[Descriptor], files: Box<dyn Waiting<F>>) -> Result<Descriptors<F>, Errno> {
        let mut descriptors = Descriptors { slots: Vec::new(), taken: 0, waiting: Some(files) };
        let end = all.iter().map(|one| one.number + 1).max().unwrap_or(0);
        if end > MAX_DESCRIPTORS {
            return Err(EINVAL);
        }
        descriptors.make_room(end as usize)?;
        for one in all {
            let slot = Slot { file: OnceCell::new(), index: one.file as u32, close_on_exec: one.close_on_exec };
            *descriptors.slots.get_mut(one.number as usize).ok_or(EINVAL)? = Some(slot);
        }
        Ok(descriptors)
    }

    /// The open file of a slot.
    fn file<'a>(&'a self, slot: &'a Slot<F>) -> Result<&'a Rc<F>, Errno> {
        match slot.file.get() {
            Some(file) => Ok(file),
            None => {
                let file = self.taken_out(slot.index)?;
                Ok(slot.file.get_or_init(|| file))
            }
        }
    }

    /// Takes the file of a descriptor that waits.
    #[cold]
    fn taken_out(&self, index: u32) -> Result<Rc<F>, Errno> {
        self.waiting.as_ref().and_then(|files| files.take(index)).ok_or(EBADF)
    }

    /// The open file behind a descriptor.
    pub fn get(&self, descriptor: u64) -> Result<Rc<F>, Errno> {
        self.slot(descriptor).and_then(|slot| self.file(slot)).cloned()
    }

    /// Returns the file of a descriptor that does not wait, for reading only.
    pub fn look(&self, descriptor: u64) -> Option<&F> {
        self.slot(descriptor).ok()?.file.get().map(|file| &**file)
    }

    /// Returns all open descriptors in ascending order: number, file, and whether `execve` closes
    /// it.
    pub fn all(&self) -> impl Iterator<Item = (u64, &Rc<F>, bool)> {
        let file = |slot| self.file(slot).ok();
        self.slots.iter().zip(0..).filter_map(move |(slot, number)| slot.as_ref().and_then(|slot| Some((number, file(slot)?, slot.close_on_exec))))
    }

    /// Returns the files that do not wait, for reading only, with their descriptors.
    pub fn used(&self) -> impl Iterator<Item = (u64, &F)> {
        self.slots.iter().zip(0..).filter_map(|(slot, number)| Some((number, &**slot.as_ref()?.file.get()?)))
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
        let slot = Slot { file: OnceCell::from(file), index: 0, close_on_exec };
        self.make_room(index + 1)?;
        let before = self.slots[index].replace(slot);
        drop(before.map(|slot| self.into_file(slot)));
        Ok(())
    }

    /// Makes the table at least so long.
    fn make_room(&mut self, size: usize) -> Result<(), Errno> {
        if size > self.slots.len() {
            self.slots.try_reserve(size - self.slots.len()).map_err(|_| EMFILE)?;
            self.slots.resize_with(size, || None);
        }
        Ok(())
    }

    /// Returns the file of a slot that has left the table.
    fn into_file(&self, slot: Slot<F>) -> Result<Rc<F>, Errno> {
        slot.file.into_inner().map_or_else(|| self.taken_out(slot.index), Ok)
    }

    /// Closes a descriptor; the file that was open.
    pub fn close(&mut self, descriptor: u64) -> Result<Rc<F>, Errno> {
        let index = descriptor as u32 as usize;
        let slot = self.slots.get_mut(index).and_then(Option::take).ok_or(EBADF)?;
        self.taken = self.taken.min(index);
        self.into_file(slot)
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
    use core::cell::RefCell;

    /// Files of which this many descriptors wait; a file is its index.
    struct Counted(Rc<RefCell<[u32; 2]>>);

    impl Waiting<u64> for Counted {
        fn take(&self, index: u32) -> Option<Rc<u64>> {
            *self.0.borrow_mut().get_mut(index as usize)? -= 1;
            Some(Rc::new(index.into()))
        }
    }

    #[test]
    fn a_descriptor_waits_for_its_file_until_it_is_used() {
        let one = |number, file| Descriptor { number, file, close_on_exec: number == 4 };
        let left = Rc::new(RefCell::new([2, 2]));
        let mut table = Descriptors::<u64>::inherited(&[one(0, 0), one(2, 1), one(4, 1), one(5, 0)], Box::new(Counted(left.clone()))).unwrap();
        assert_eq!(table.open().collect::<Vec<_>>(), [0, 2, 4, 5]);
        assert_eq!((table.close_on_exec(4), table.used().count()), (Ok(true), 0));
        assert!(Rc::ptr_eq(&table.get(2).unwrap(), &table.get(2).unwrap()));
        assert_eq!((*left.borrow(), table.used().collect::<Vec<_>>()), ([2, 1], Vec::from([(2, &1)])));
        assert_eq!(table.close(4).as_deref(), Ok(&1));
        table.replace(5, Rc::new(7), false, 8).unwrap();
        assert_eq!((*left.borrow(), table.look(5)), ([1, 0], Some(&7)));
        assert_eq!(table.insert(Rc::new(8), 0, false, 8), Ok(1));
        assert!(Descriptors::<u64>::inherited(&[one(MAX_DESCRIPTORS, 0)], Box::new(Counted(left))).is_err());
    }

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
