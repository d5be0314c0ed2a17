//! Memory that data shows: our own, or data of an image in a store.

use super::spare::Store;
use crate::store_file::StoreFile;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::Cell;
use nacre_snapshot::store::Stored;
use nacre_sys::Region;

/// Chunk of memory.
pub enum Chunk {
    /// Memory that our parent gave.
    Own(Store),
    /// Data of an image, to which nobody writes.
    Image(Image),
}

/// Data of an image in a store.
pub struct Image {
    file: Rc<StoreFile>,
    stored: Cell<Stored>,
    size: u64,
}

impl Image {
    /// All data of an image.
    pub fn new(file: Rc<StoreFile>, stored: Stored) -> Image {
        Image { file, stored: Cell::new(stored), size: stored.data }
    }

    /// Returns the offsets of its pages in a range that may hold anything but zeros.
    pub fn filled(&self, start: u64, end: u64) -> Vec<u64> {
        self.file.filled(&self.stored.get(), (start, end.min(self.size)))
    }
}

impl Chunk {
    /// Size in bytes.
    pub fn size(&self) -> u64 {
        match self {
            Chunk::Own(store) => store.size(),
            Chunk::Image(image) => image.size,
        }
    }

    /// The region that shows it.
    pub fn region(&self) -> Region {
        match self {
            Chunk::Own(store) => store.region(),
            Chunk::Image(image) => image.file.region(),
        }
    }

    /// Offset in that region.
    pub fn base(&self) -> u64 {
        self.image().map_or(0, |image| image.stored.get().start)
    }

    /// The data of an image that it is, if it is one.
    pub fn image(&self) -> Option<&Image> {
        match self {
            Chunk::Own(_) => None,
            Chunk::Image(image) => Some(image),
        }
    }

    /// Number of the half of the store whose image it shows, if it does.
    pub fn half(&self) -> Option<u64> {
        self.image().map(|image| image.stored.get().half)
    }

    /// Shows the data of another image, which holds the same.
    pub fn set_stored(&self, stored: Stored) {
        self.image().into_iter().for_each(|image| image.stored.set(stored));
    }
}
