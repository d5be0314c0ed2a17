//! A child's data segment: memory without kernel objects, whose pages may go.

use crate::places::Place;
use crate::refusal::SpawnError;
use nacre_abi::Rights;
use nacre_abi::environment::DATA_REFERENCES;
use nacre_proto::flags::{SEGMENT_OVERCOMMIT, SEGMENT_PAGEABLE};
use nacre_proto::{Errno, memory};
use nacre_sys::{OwnedMapping, OwnedReference, Reference, Region, Space, Window};

/// Shows memory in our own space.
pub fn show(region: &OwnedReference, size: u64, rights: Rights) -> Result<(OwnedMapping, Place), SpawnError> {
    let place = Place::take(size).ok_or(SpawnError::TooLarge(size, None))?;
    let region = Region::through(region.handle());
    let mapping = OwnedMapping::new(Space::SELF, place.window().start(), place.window().size(), region, 0, rights)
        .map_err(|status| SpawnError::Kernel("a view of its memory", status))?;
    Ok((mapping, place))
}

/// A child's data segment, shown in our own space. It stays as long as anybody has references to
/// it: we, and the child.
pub struct Data {
    _mapping: OwnedMapping,
    place: Place,
    port: OwnedReference,
    region: OwnedReference,
}

impl Data {
    /// Takes zeroed memory from a pool: `size` bytes, whole pages, which may go.
    pub fn new(pool: Reference, size: u64) -> Result<Data, SpawnError> {
        // Where others have been promised all that there is, what is touched is promised then.
        let taken = memory::segment_create(pool, size, SEGMENT_PAGEABLE).or_else(|_| memory::segment_create(pool, size, SEGMENT_PAGEABLE | SEGMENT_OVERCOMMIT));
        let taken = taken.map_err(|errno| match errno {
            Errno::ENOMEM => SpawnError::TooLarge(size, None),
            errno => SpawnError::Service("taking memory", errno),
        })?;
        if taken.size < size {
            return Err(SpawnError::TooLarge(size, None));
        }
        let (mapping, place) = show(&taken.region, size, Rights::READ.union(Rights::WRITE))?;
        Ok(Data { _mapping: mapping, place, port: taken.segment, region: taken.region })
    }

    /// The window in which our own space shows it.
    pub fn window(&self) -> Window {
        self.place.window()
    }

    /// The region.
    pub fn region(&self) -> Region {
        Region::through(self.region.handle())
    }

    /// References that the child gets to it, in this order.
    pub fn references(&self) -> [Reference; DATA_REFERENCES as usize] {
        [self.port.handle(), self.region.handle()]
    }
}
