//! What the library needs of whoever starts a child: files to load from and a segment to put it in.
//! Monitors take both from the Common Protocols ([`Services`](crate::Services)); root, which has
//! nobody to ask, implements these traits itself.

use crate::elf::{self, Image};
use crate::plan::LIBRARY_RANGE;
use crate::refusal::{self, SpawnError};
use alloc::boxed::Box;
use core::ops::Range;
use nacre_sys::{Reference, Region, SpanMut, Window};

/// A file that was opened to be loaded. Kept as long as the child, which may have it mapped.
pub trait File {
    /// Returns the size of the file in bytes.
    fn size(&self) -> u64;
    /// Fills all of `into` (at most `MAX_BYTES`) from `offset` on.
    fn read(&mut self, offset: u64, into: SpanMut<'_>) -> Result<(), SpawnError>;
    /// A region of its contents, whole pages from its start on, that may be read and executed;
    /// `None` if it must be copied.
    fn region(&self) -> Option<Region>;
}

/// Memory for a child. Dropping it gives it back, and with it all objects that are in it.
pub trait Segment {
    /// Returns the window of the own space that shows it, to read, write and put objects in.
    fn window(&self) -> Window;
    /// A region of it, from its first byte on, with all rights.
    fn region(&self) -> Region;
}

/// Source of the parts of a child.
pub trait ResourceSource {
    /// An open file.
    type File: File;
    /// Memory.
    type Segment: Segment;
    /// Opens the program at `path`; refuses what is no file or may not be executed.
    fn open(&mut self, path: &[u8]) -> Result<Self::File, SpawnError>;
    /// Takes zeroed memory: `size` bytes, whole pages.
    fn segment(&mut self, size: u64) -> Result<Self::Segment, SpawnError>;
    /// The pool for a foreign child's data segment, if it gives memory whose pages may go. `None`:
    /// the child has one segment.
    fn data_pool(&mut self) -> Option<Reference> {
        None
    }
    /// The library of foreign calls. Whoever makes one child after the other may keep it.
    fn library(&mut self) -> Result<Loaded<Self::File>, SpawnError>
    where
        Self: Sized,
    {
        load_library(self)
    }
}

/// The first bytes of a file, which nearly always hold all that is decoded, and the rest of it.
struct Head<'a, F> {
    file: &'a mut F,
    bytes: [u8; 1024],
    size: usize,
}

impl<'a, F: File> Head<'a, F> {
    fn new(file: &'a mut F) -> Result<Head<'a, F>, SpawnError> {
        let mut bytes = [0; 1024];
        let size = file.size().min(1024) as usize;
        file.read(0, SpanMut::from(&mut bytes[..size]))?;
        Ok(Head { file, bytes, size })
    }
}

impl<F: File> elf::Source for Head<'_, F> {
    fn size(&self) -> u64 {
        self.file.size()
    }

    fn read(&mut self, offset: u64, into: &mut [u8]) -> Result<(), SpawnError> {
        let end = offset + into.len() as u64;
        if end <= self.size as u64 {
            into.copy_from_slice(&self.bytes[offset as usize..end as usize]);
            return Ok(());
        }
        self.file.read(offset, SpanMut::from(into))
    }
}

/// A file and its decoded headers.
pub struct Loaded<F> {
    /// The file.
    pub file: F,
    /// Decoded headers.
    pub image: Image,
}

/// Loads a file whose addresses lie in `range`, moved by `bias`.
pub(crate) fn load<S: ResourceSource>(supplier: &mut S, path: &[u8], range: Range<u64>, bias: u64) -> Result<Loaded<S::File>, SpawnError> {
    let mut file = supplier.open(path)?;
    let mut image = elf::decode(&mut Head::new(&mut file)?, range, bias)?;
    match image.native_version {
        Some(version) if version != nacre_abi::VERSION => return Err(SpawnError::OtherVersion(version)),
        // Programs of our own have been relocated when they were built.
        Some(_) => image.seal(),
        None => {}
    }
    Ok(Loaded { file, image })
}

/// The library of foreign calls.
pub fn load_library<S: ResourceSource>(supplier: &mut S) -> Result<Loaded<S::File>, SpawnError> {
    let mut library = load(supplier, refusal::FOREIGN_LIBRARY_PATH, LIBRARY_RANGE, 0).map_err(|refusal| SpawnError::Library(Box::new(refusal)))?;
    library.image.seal();
    Ok(library)
}
