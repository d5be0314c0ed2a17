//! Where pages go that are put away.

mod chain;
mod compressed;
mod files;

pub use chain::Chain;
pub use compressed::Compressed;
pub use files::{Contents, Files};

use crate::Page;
use alloc::vec::Vec;
use core::any::Any;

/// There is no room for one more page, or the place cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// A page was put away and cannot be had back: its place was changed by somebody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost;

/// Keeps pages.
pub trait Store {
    /// Keeps a page: its number from now on.
    fn put(&mut self, page: &Page) -> Result<u64, Full>;
    /// Reads one that is kept.
    fn get(&mut self, number: u64, into: &mut Page) -> Result<(), Lost>;
    /// Keeps it no longer.
    fn drop(&mut self, number: u64);
    /// Returns the number of pages that the store can keep at least, whatever they hold.
    fn capacity(&self) -> u64;
    /// Bytes that are in use.
    fn used(&self) -> u64;
    /// Returns true if each page must find a place in the store, even while it is in a frame.
    fn keeps_all(&self) -> bool {
        false
    }
    /// Returns the side that makes pages outlive this program, if there is one.
    fn lasting(&mut self) -> Option<&mut dyn Lasting> {
        None
    }
    /// Returns true if pages have their places in the store from the start, as those of files do.
    /// Such a store keeps pages of zeros, too.
    fn is_origin(&self) -> bool {
        false
    }
    /// The number of a page that has its place in the store from the start.
    fn origin(&self, _page: u64) -> Option<u64> {
        None
    }
    /// Keeps the page with this number of the bank's.
    fn put_for(&mut self, _page: u64, from: &Page) -> Result<u64, Full> {
        self.put(from)
    }
    /// Returns the store as what it is, for whoever tells it what is in it.
    fn as_any(&mut self) -> Option<&mut dyn Any> {
        None
    }
}

/// A dataspace of a generation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Saved {
    /// Name of the dataspace.
    pub name: Vec<u8>,
    /// Length in bytes, which need not be whole pages.
    pub length: u64,
    /// Size in pages, at least one.
    pub count: u64,
    /// Pages that are not zeros, in order: place in the dataspace, and number in the store.
    pub pages: Vec<(u64, u64)>,
}

/// A store that outlives the program.
pub trait Lasting {
    /// Makes the store hold these dataspaces for whoever opens it next, in the order of
    /// their names. Returns false if it did so before.
    /// On failure it holds those of the last time.
    fn commit(&mut self, saved: &[Saved]) -> Result<bool, Full>;
}

impl<S: Store + ?Sized> Store for alloc::boxed::Box<S> {
    fn put(&mut self, page: &Page) -> Result<u64, Full> {
        (**self).put(page)
    }

    fn get(&mut self, number: u64, into: &mut Page) -> Result<(), Lost> {
        (**self).get(number, into)
    }

    fn drop(&mut self, number: u64) {
        (**self).drop(number);
    }

    fn capacity(&self) -> u64 {
        (**self).capacity()
    }

    fn used(&self) -> u64 {
        (**self).used()
    }

    fn keeps_all(&self) -> bool {
        (**self).keeps_all()
    }

    fn lasting(&mut self) -> Option<&mut dyn Lasting> {
        (**self).lasting()
    }

    fn is_origin(&self) -> bool {
        (**self).is_origin()
    }

    fn origin(&self, page: u64) -> Option<u64> {
        (**self).origin(page)
    }

    fn put_for(&mut self, page: u64, from: &Page) -> Result<u64, Full> {
        (**self).put_for(page, from)
    }

    fn as_any(&mut self) -> Option<&mut dyn Any> {
        (**self).as_any()
    }
}

/// Numbers for pages, each used again when it is free.
#[derive(Debug, Default)]
pub struct Numbers {
    free: alloc::vec::Vec<u64>,
    next: u64,
}

impl Numbers {
    /// A number below `limit` that is not taken, from now on taken.
    pub fn take(&mut self, limit: u64) -> Result<u64, Full> {
        if let Some(number) = self.free.pop() {
            return Ok(number);
        }
        if self.next >= limit {
            return Err(Full);
        }
        // So that giving back, which cannot fail, never needs memory.
        let missing = (self.next as usize + 1).saturating_sub(self.free.len());
        self.free.try_reserve(missing).map_err(|_| Full)?;
        self.next += 1;
        Ok(self.next - 1)
    }

    /// Gives a number back that was taken.
    pub fn give(&mut self, number: u64) {
        self.free.push(number);
    }

    /// Returns the number of places that are taken.
    pub fn taken(&self) -> u64 {
        self.next - self.free.len() as u64
    }
}
