//! Makes a process out of this program: what a Linux program's library does for `fork` and `exec`.

use alloc::vec::Vec;
use nacre_abi::Rights;
use nacre_abi::rights::{REFERENCE_ALL, REFERENCE_USE};
use nacre_nest::places::Place;
use nacre_nest::supply::{Segment, ResourceSource};
use nacre_nest::{Child, Ports, Program, SpawnError, Services, Sizes, services, spawn};
use nacre_proto::flags::BEGIN_PROGRAM;
use nacre_proto::{Errno, process};
use nacre_sys::{OwnedMapping, OwnedReference, Reference, Region, Space, Window};

/// Path of this program.
const PATH: &[u8] = b"/bin/processes";
/// The signal that a parent hears of its child's end.
pub const SIGCHLD: u64 = 17;

/// Memory that the manager has prepared.
pub struct Prepared {
    _mapping: OwnedMapping,
    region: OwnedReference,
    place: Place,
}

impl Segment for Prepared {
    fn window(&self) -> Window {
        self.place.window()
    }

    fn region(&self) -> Region {
        Region::through(self.region.handle())
    }
}

/// Takes files from our own services, and memory from the manager.
pub struct Maker {
    services: Services,
    port: Reference,
}

impl ResourceSource for Maker {
    type File = services::File;
    type Segment = Prepared;

    fn open(&mut self, path: &[u8]) -> Result<services::File, SpawnError> {
        self.services.open(path)
    }

    fn segment(&mut self, size: u64) -> Result<Prepared, SpawnError> {
        let region = process::prepare(self.port, size).map_err(|errno| SpawnError::Service("preparing memory", errno))?.region;
        let place = Place::take(size).ok_or(SpawnError::TooLarge(size, None))?;
        let (start, size) = (place.window().start(), place.window().size());
        let mapping = OwnedMapping::new(Space::SELF, start, size, Region::through(region.handle()), 0, Rights::ALL);
        Ok(Prepared { _mapping: mapping.map_err(|status| SpawnError::Kernel("a view of its memory", status))?, region, place })
    }
}

/// Builds a process of this program at `port`, which does not run yet.
pub fn build(port: Reference, words: &[&[u8]]) -> Result<Child<Maker>, Errno> {
    let mut maker = Maker { services: Services::find().map_err(|_| Errno::ENOENT)?, port };
    let arguments: Vec<&[u8]> = [&[PATH], words].concat();
    let program = Program { path: PATH, arguments: &arguments, environment: &[], directory: b"", random: [7; 16], sizes: Sizes::default() };
    spawn(&mut maker, &program, Ports { parent: port, keeper: Reference::NONE }).map_err(|_| Errno::ENOEXEC)
}

/// Begins a process of this program at `port`.
pub fn begin_at(port: Reference, flags: u64, words: &[&[u8]]) -> Result<(), Errno> {
    begin_visited(port, flags, 0, words)
}

/// Begins a process of this program at `port`. Threads that carry questions begin at the address
/// `visited`, which is the same in all that run this program.
fn begin_visited(port: Reference, flags: u64, visited: u64, words: &[&[u8]]) -> Result<(), Errno> {
    let child = build(port, words)?;
    let (space, thread) = (OwnedReference::null()?, OwnedReference::null()?);
    child.space().reference(space.handle(), REFERENCE_ALL)?;
    child.thread().reference(thread.handle(), REFERENCE_ALL)?;
    process::begin(port, flags | BEGIN_PROGRAM, 0, visited, space.handle(), thread.handle())?;
    Ok(())
}

/// The caller becomes this role.
pub fn become_another(words: &[&[u8]]) -> Result<(), Errno> {
    begin_at(Reference::PARENT, 0, words)
}

/// A child that does not run yet: its number and port.
pub fn create() -> Result<(u64, OwnedReference), Errno> {
    process::create(Reference::PARENT, SIGCHLD).map(|created| (created.pid, created.port))
}

/// A child that plays a role, with this stream as its output.
pub fn child_with(flags: u64, output: Option<Reference>, words: &[&[u8]]) -> Result<u64, Errno> {
    let (pid, port) = create()?;
    if let Some(output) = output {
        let copy = OwnedReference::copy_of(output, REFERENCE_USE)?;
        process::stream_set(port.handle(), 1, copy.handle())?;
    }
    begin_at(port.handle(), flags, words)?;
    Ok(pid)
}

/// A child that plays a role, and can be asked.
pub fn child_asked(words: &[&[u8]]) -> Result<u64, Errno> {
    let (pid, port) = create()?;
    begin_visited(port.handle(), 0, crate::roles::idle as extern "C" fn() -> ! as usize as u64, words)?;
    Ok(pid)
}

/// A child that plays a role.
pub fn child(words: &[&[u8]]) -> Result<u64, Errno> {
    child_with(0, None, words)
}
