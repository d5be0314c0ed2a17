//! Where the parts of a new environment come from when a process makes one: files from where the
//! process finds them, memory from its manager.

use crate::abi::errno::{E2BIG, EACCES, ELIBBAD, ENOENT, ENOEXEC, ENOMEM, Errno};
use crate::services::library_file::Library;
use alloc::rc::Rc;
use nacre_nest::{Loaded, SpawnError, supply};
use nacre_nest::services::{File, Prepared, open_with_mode};
use nacre_sys::{OwnedReference, Reference, Region, SpanMut};

/// Makes an environment for a process.
pub struct Maker {
    /// The directory that absolute paths start at.
    pub files: Reference,
    /// The server's root directory, which has the library.
    pub world: Reference,
    /// The directory that the program's own path starts at.
    pub current: Reference,
    /// The port of the process that it is for.
    pub port: Reference,
    /// The program, if it is open already, and its mode.
    pub opened: Option<(OwnedReference, u64)>,
    /// As whose it is made to run.
    pub owners: Owners,
    /// As whose it wants to run; it is refused if that differs.
    pub found: Owners,
    /// Set if the next file to open is a dynamic linker, not a program.
    pub is_linker: bool,
    /// The library, if it was loaded before.
    pub library: Option<Rc<Library>>,
}

/// A user and a group that a program runs as, if it does not run as its caller's.
pub type Owners = [Option<u32>; 2];

/// Returns the user and group that a set-ID program runs as.
fn owners(file: &File, mode: u64) -> Result<Owners, SpawnError> {
    const SET_USER: u64 = 0o4000;
    const SET_GROUP: u64 = 0o2010;
    if mode & (SET_USER | 0o2000) == 0 {
        return Ok([None; 2]);
    }
    let status = file.status()?;
    let bits = |wanted: u64, number: u64| (status.mode & wanted == wanted).then_some(number as u32);
    Ok([bits(SET_USER, status.uid), bits(SET_GROUP, status.gid)])
}

/// A file that is loaded from.
pub enum Source {
    /// File that was opened for this.
    Opened(File),
    /// The library's, of which all is known.
    Known(Rc<Library>),
}

impl Source {
    /// Closes it, and keeps its pages, if it can be mapped.
    pub fn into_region(self) -> Option<OwnedReference> {
        match self {
            Source::Opened(file) => file.into_region(),
            Source::Known(_) => None,
        }
    }
}

impl supply::File for Source {
    fn size(&self) -> u64 {
        match self {
            Source::Opened(file) => file.size(),
            Source::Known(library) => library.size(),
        }
    }

    fn read(&mut self, offset: u64, into: SpanMut<'_>) -> Result<(), SpawnError> {
        match self {
            Source::Opened(file) => file.read(offset, into),
            Source::Known(library) => library.read(offset, into),
        }
    }

    fn region(&self) -> Option<Region> {
        match self {
            Source::Opened(file) => file.region(),
            Source::Known(library) => Some(library.region()),
        }
    }
}

impl supply::ResourceSource for Maker {
    type File = Source;
    type Segment = Prepared;

    fn open(&mut self, path: &[u8]) -> Result<Source, SpawnError> {
        let (file, mode) = match self.opened.take() {
            Some((opened, mode)) => (File::new(opened)?, mode),
            None => {
                let (opened, mode) = open_with_mode(if path.starts_with(b"/") { self.files } else { self.current }, path)?;
                (File::new(opened)?, mode)
            }
        };
        if !self.is_linker {
            // What is opened first is the program.
            (self.found, self.is_linker) = (owners(&file, mode)?, true);
            if self.found != self.owners {
                return Err(SpawnError::NotExecutable);
            }
        }
        Ok(Source::Opened(file))
    }

    fn segment(&mut self, size: u64) -> Result<Prepared, SpawnError> {
        Prepared::new(self.port, size)
    }

    fn data_pool(&mut self) -> Option<Reference> {
        // Whoever has no pageable memory is not below a pager.
        if nacre_proto::landing::is_pageable() { nacre_rt::memory::pool().ok() } else { None }
    }

    fn library(&mut self) -> Result<Loaded<Source>, SpawnError> {
        if let Some(library) = &self.library {
            return Ok(Loaded { image: library.image().clone(), file: Source::Known(library.clone()) });
        }
        let root = core::mem::replace(&mut self.files, self.world);
        let loaded = nacre_nest::load_library(self);
        self.files = root;
        let Loaded { file, image } = loaded?;
        let Source::Opened(file) = file else { return Ok(Loaded { file, image }) };
        if !Library::is_small(&file, &image) {
            return Ok(Loaded { file: Source::Opened(file), image });
        }
        let library = Rc::new(Library::of(file, &image)?);
        self.library = Some(library.clone());
        Ok(Loaded { file: Source::Known(library), image })
    }
}

/// The error that Linux has for it.
pub fn errno(refusal: &SpawnError) -> Errno {
    match refusal {
        SpawnError::NotFound => ENOENT,
        SpawnError::NotExecutable | SpawnError::Directory => EACCES,
        SpawnError::Service(_, errno) => *errno,
        SpawnError::Linker(_, why) => errno_of_linker(why),
        SpawnError::TooLarge(..) | SpawnError::Kernel(..) => ENOMEM,
        SpawnError::Arguments => E2BIG,
        _ => ENOEXEC,
    }
}

fn errno_of_linker(why: &SpawnError) -> Errno {
    if *why == SpawnError::NotElf { ELIBBAD } else { errno(why) }
}
