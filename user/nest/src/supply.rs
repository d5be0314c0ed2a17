//! What the library needs of whoever starts a child: files to load from and a segment to put it in. Monitors take both from the Common
//! Protocols ([`Services`](crate::Services)); root, which has nobody to ask, implements these traits itself.

use crate::refusal::Refusal;
use crate::spawn::{Loaded, load_library};
use nacre_sys::{Reference, Region, SpanMut, Window};

/// A file that was opened to be loaded. Kept as long as the child, which may have it mapped.
pub trait File {
    /// Its size in bytes.
    fn size(&self) -> u64;
    /// Fills all of `into` (at most `MAX_BYTES`) from `offset` on.
    fn read(&mut self, offset: u64, into: SpanMut<'_>) -> Result<(), Refusal>;
    /// A region of its contents, whole pages from its start on, that may be read and executed; `None` if it must be copied.
    fn region(&self) -> Option<Region>;
}

/// Memory for a child. Dropping it gives it back, and with it all objects that are in it.
pub trait Segment {
    /// Where the caller's own space shows it, to read, write and put objects in.
    fn window(&self) -> Window;
    /// A region of it, from its first byte on, with all rights.
    fn region(&self) -> Region;
}

/// Where the parts of a child come from.
pub trait Supplier {
    /// An open file.
    type File: File;
    /// Memory.
    type Segment: Segment;
    /// Opens the program at `path`; refuses what is no file or may not be executed.
    fn open(&mut self, path: &[u8]) -> Result<Self::File, Refusal>;
    /// Takes zeroed memory: `size` bytes, whole pages.
    fn segment(&mut self, size: u64) -> Result<Self::Segment, Refusal>;
    /// The pool for a foreign child's data segment, if it gives memory whose pages may go. `None`:
    /// the child has one segment.
    fn data_pool(&mut self) -> Option<Reference> {
        None
    }
    /// The library of foreign calls. Whoever makes one child after the other may keep it.
    fn library(&mut self) -> Result<Loaded<Self::File>, Refusal>
    where
        Self: Sized,
    {
        load_library(self)
    }
}
