//! The manager's table of parents, mapped to be read: so that `getppid` asks nobody, and is right
//! when the parent has ended.

use crate::abi::errno::{ENOMEM, Errno};
use nacre_abi::Rights;
use nacre_nest::places::Place;
use nacre_proto::process;
use nacre_sys::{OwnedMapping, OwnedReference, Reference, Region, Space};

/// Access to the table.
#[derive(Default)]
pub enum Parents {
    /// Unknown: the library has not asked yet.
    #[default]
    Unasked,
    /// Somebody has, once: that was answered by a message.
    Asked,
    /// There is none.
    Absent,
    /// Mapped table.
    Mapped(Table),
}

/// The table.
pub struct Table {
    // Dropped in this order: first nothing is mapped any more.
    _mapping: OwnedMapping,
    _region: OwnedReference,
    pub place: Place,
}

impl Table {
    pub fn map() -> Result<Table, Errno> {
        let reply = process::parents(Reference::PARENT)?;
        let place = Place::take(reply.size).ok_or(ENOMEM)?;
        let (window, region) = (place.window(), Region::through(reply.region.handle()));
        let mapping = OwnedMapping::new(Space::SELF, window.start(), window.size(), region, 0, Rights::READ).map_err(|_| ENOMEM)?;
        Ok(Table { _mapping: mapping, _region: reply.region, place })
    }

    /// Returns the address of this process's parent number.
    pub fn address(&self, pid: u64) -> Option<u64> {
        self.place.window().part(pid.checked_mul(8)?, 8).map(|word| word.start())
    }
}
