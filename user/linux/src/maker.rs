//! Where the parts of a new environment come from when a process makes one: files from where the process finds them, memory from its manager.

use crate::errno::{E2BIG, EACCES, ENOENT, ENOEXEC, ENOMEM, Errno};
use nacre_abi::Rights;
use nacre_nest::places::Place;
use nacre_nest::services::{File, open};
use nacre_nest::{Refusal, supply};
use nacre_proto::process;
use nacre_sys::{OwnedMapping, OwnedReference, Reference, Region, Space, Window};

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

/// Memory that the manager has prepared: it is the manager's to give back.
pub struct Prepared {
    _mapping: OwnedMapping,
    region: OwnedReference,
    place: Place,
}

impl supply::Segment for Prepared {
    fn window(&self) -> Window {
        self.place.window()
    }

    fn region(&self) -> Region {
        Region::through(self.region.handle())
    }
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
        let prepared = process::prepare(self.port, size).map_err(|errno| Refusal::Service("taking memory", errno))?;
        if prepared.size < size {
            return Err(Refusal::TooLarge(size, None));
        }
        let place = Place::take(size).ok_or(Refusal::TooLarge(size, None))?;
        let region = Region::through(prepared.region.handle());
        let mapping = OwnedMapping::new(Space::SELF, place.window().start(), place.window().size(), region, 0, Rights::ALL)
            .map_err(|status| Refusal::Kernel("a view of its memory", status))?;
        Ok(Prepared { _mapping: mapping, region: prepared.region, place })
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
