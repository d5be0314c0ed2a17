//! Sharing between CPUs of things that are written while only one of them runs.

use core::cell::UnsafeCell;
use core::mem::MaybeUninit;

/// A static value that is set once, by the first CPU, before anybody reads it.
pub struct BootCell<T>(UnsafeCell<MaybeUninit<T>>);

// SAFETY: `set` happens before any other CPU runs kernel code; afterwards the value is only read.
// What is inside is either plain data or `Cell`s reached under all locks alone.
unsafe impl<T> Sync for BootCell<T> {}

impl<T> BootCell<T> {
    /// Creates a cell without a value.
    pub const fn new() -> BootCell<T> {
        BootCell(UnsafeCell::new(MaybeUninit::uninit()))
    }

    /// Sets the value.
    ///
    /// # Safety
    /// Only while one CPU runs, and before the first `get`.
    pub unsafe fn set(&self, value: T) {
        // SAFETY: nobody else looks, as the caller promises.
        unsafe { (*self.0.get()).write(value) };
    }

    /// The value.
    ///
    /// Safe to call from everything that runs after `start` has set all of these cells, which is
    /// all entry code.
    #[inline(always)]
    pub fn get(&self) -> &T {
        // SAFETY: every path here starts at an entry that exists only once the cells are set.
        unsafe { (*self.0.get()).assume_init_ref() }
    }
}

impl<T> Default for BootCell<T> {
    fn default() -> Self {
        BootCell::new()
    }
}

/// A value that only one CPU at a time reaches: the one that has all locks.
pub struct Locked<T>(pub T);

// SAFETY: reached under all locks only (and by the first CPU before the others run).
unsafe impl<T> Sync for Locked<T> {}
