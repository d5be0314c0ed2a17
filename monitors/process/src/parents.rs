//! The table of parents, which all processes may read: a word for each number. It saves them the
//! message that asks.

use nacre_abi::Rights;
use nacre_abi::rights::REFERENCE_USE;
use nacre_nest::places::Place;
use nacre_proto::Errno;
use nacre_rt::memory::Segment;
use nacre_sys::{OwnedReference, OwnedRegion, Reference, Space};

/// Bytes of the table: a word for each number that there can be.
pub const SIZE: u64 = 8 * (crate::world::HIGHEST + 1);

/// The table.
pub struct Parents {
    // Dropped in this order: first nobody sees it any more.
    region: OwnedRegion,
    _segment: Segment,
    place: Place,
}

impl Parents {
    /// A table of zeros.
    pub fn new() -> Result<Parents, Errno> {
        let place = Place::take(SIZE).ok_or(Errno::ENOMEM)?;
        let start = place.window().start();
        let segment = Segment::map(start, SIZE, Rights::NONE)?;
        let region = OwnedRegion::new(Space::OWN, start, SIZE, Rights::READ, Reference::NONE)?;
        Ok(Parents { region, _segment: segment, place })
    }

    /// Sets the parent of `pid`.
    pub fn set(&self, pid: u64, parent: u64) {
        // The table has a word for every number.
        let _ = self.place.window().write_word(8 * pid, parent);
    }

    /// Returns a reference for a process that reads the table.
    pub fn reference(&self) -> Result<OwnedReference, Errno> {
        Ok(self.region.new_reference(REFERENCE_USE)?)
    }
}
