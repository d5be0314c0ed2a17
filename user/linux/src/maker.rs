//! Where the parts of a new environment come from when a process makes one: files from where the process finds them, memory from its manager.

use crate::errno::{E2BIG, EACCES, ENOENT, ENOEXEC, ENOMEM, Errno};
use nacre_nest::services::{File, Prepared, open};
use nacre_nest::{Refusal, supply};
use nacre_sys::{OwnedReference, Reference};

/// Makes an environment for a process.
pub struct Maker {
    /// The root directory.
    pub files: Reference,
    /// The directory that the program's own path starts at.
    pub current: Reference,
    /// The port of the process that it is for.
    pub port: Reference,
    /// The program, if it is open already.
    pub opened: Option<OwnedReference>,
}

impl supply::Supplier for Maker {
    type File = File;
    type Segment = Prepared;

    fn open(&mut self, path: &[u8]) -> Result<File, Refusal> {
        if let Some(opened) = self.opened.take() {
            return File::new(opened);
        }
        open(if path.starts_with(b"/") { self.files } else { self.current }, path)
    }

    fn segment(&mut self, size: u64) -> Result<Prepared, Refusal> {
        Prepared::new(self.port, size)
    }
}

/// The error that Linux has for it.
pub fn errno(refusal: &Refusal) -> Errno {
    match refusal {
        Refusal::NotFound => ENOENT,
        Refusal::NotExecutable | Refusal::Directory => EACCES,
        Refusal::Service(_, errno) => *errno,
        Refusal::Linker(_, why) => errno_of_linker(why),
        Refusal::TooLarge(..) | Refusal::Kernel(..) => ENOMEM,
        Refusal::Arguments => E2BIG,
        _ => ENOEXEC,
    }
}

fn errno_of_linker(why: &Refusal) -> Errno {
    if *why == Refusal::NotElf { crate::errno::ELIBBAD } else { errno(why) }
}
