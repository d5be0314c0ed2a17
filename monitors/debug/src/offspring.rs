//! Processes of a replay: what a manager does for processes, `debug` does here, and nobody outside
//! hears of them. Their memory is the monitor's own.

use alloc::collections::BTreeMap;
use nacre_abi::rights::REFERENCE_USE;
use nacre_proto::flags::{SEGMENT_OBJECTS, SERVICE_OBJECTS};
use nacre_proto::{Errno, memory, parent, segment};
use nacre_sys::{OwnedReference, Reference};

/// Memory of an environment. All that is in it goes with it.
struct Environment {
    segment: OwnedReference,
    /// Stays until the process has a reference of its own.
    _region: OwnedReference,
}

impl Drop for Environment {
    fn drop(&mut self) {
        // Nobody answers for memory that has gone.
        let _ = segment::destroy(self.segment.handle());
    }
}

/// Processes that the first one has made, by the tags of their ports.
#[derive(Default)]
pub struct Offspring {
    /// Pool of memory that may hold kernel objects.
    pool: Option<OwnedReference>,
    /// Port that processes have for their parent.
    parent: Option<OwnedReference>,
    prepared: BTreeMap<u32, Environment>,
    living: BTreeMap<u32, Environment>,
}

fn kept(place: &mut Option<OwnedReference>, find: impl FnOnce() -> Result<OwnedReference, Errno>) -> Result<Reference, Errno> {
    if place.is_none() {
        *place = Some(find()?);
    }
    place.as_ref().map(OwnedReference::handle).ok_or(Errno::ENOENT)
}

impl Offspring {
    /// Port that a new process gets for its parent: where memory of its own is asked for.
    pub fn port(&mut self) -> Result<Reference, Errno> {
        kept(&mut self.parent, || Ok(OwnedReference::copy_of(Reference::PARENT, REFERENCE_USE)?))
    }

    /// Memory for the next environment of a process, which replaces what was prepared before.
    pub fn prepare(&mut self, process: u32, size: u64) -> Result<Reference, Errno> {
        self.prepared.remove(&process);
        let pool = kept(&mut self.pool, || Ok(parent::find(Reference::PARENT, SERVICE_OBJECTS)?.found))?;
        let taken = memory::segment_create(pool, size, SEGMENT_OBJECTS)?;
        let region = taken.region.handle();
        self.prepared.insert(process, Environment { segment: taken.segment, _region: taken.region });
        Ok(region)
    }

    /// A process lives where memory was prepared last. Where it lived before goes.
    pub fn begins(&mut self, process: u32) {
        if let Some(environment) = self.prepared.remove(&process) {
            self.living.insert(process, environment);
        }
    }

    /// A process has ended, or will not begin.
    pub fn ends(&mut self, process: u32) {
        self.prepared.remove(&process);
        self.living.remove(&process);
    }

    /// All have ended.
    pub fn clear(&mut self) {
        self.prepared.clear();
        self.living.clear();
    }
}
