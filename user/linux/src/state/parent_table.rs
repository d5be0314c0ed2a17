//! The manager's table of parents, mapped to be read: so that `getppid` asks nobody, and is right when the parent has ended.

use crate::abi::errno::{ENOMEM, Errno};
use crate::process::Process;
use nacre_abi::Rights;
use nacre_nest::places::Place;
use nacre_proto::process;
use nacre_sys::{OwnedMapping, OwnedReference, Reference, Region, Space};

/// What a process has of the table.
#[derive(Default)]
pub enum Parents {
    /// Nobody has asked yet.
    #[default]
    Unasked,
    /// Somebody has, once: that was answered by a message.
    Asked,
    /// There is none.
    Absent,
    /// It is mapped.
    Mapped(Table),
}

/// The table.
pub struct Table {
    // Dropped in this order: first nothing is mapped any more.
    _mapping: OwnedMapping,
    _region: OwnedReference,
    place: Place,
}

impl Table {
    fn map() -> Result<Table, Errno> {
        let reply = process::parents(Reference::PARENT)?;
        let place = Place::take(reply.size).ok_or(ENOMEM)?;
        let (window, region) = (place.window(), Region::through(reply.region.handle()));
        let mapping = OwnedMapping::new(Space::SELF, window.start(), window.size(), region, 0, Rights::READ).map_err(|_| ENOMEM)?;
        Ok(Table { _mapping: mapping, _region: reply.region, place })
    }

    /// Where the number of this process's parent stands.
    fn address(&self, pid: u64) -> Option<u64> {
        self.place.window().part(pid.checked_mul(8)?, 8).map(|word| word.start())
    }
}

impl Process {
    /// The parent's number, if the table says it. From the second question on it does, and the entry answers for the threads that there are.
    pub fn parent_in_table(&mut self, own: u64) -> Option<u64> {
        self.parents = match core::mem::take(&mut self.parents) {
            Parents::Unasked => Parents::Asked,
            Parents::Asked => Table::map().map_or(Parents::Absent, Parents::Mapped),
            known => known,
        };
        let Parents::Mapped(table) = &self.parents else { return None };
        let address = table.address(own)?;
        let parent = table.place.window().read_word(8 * own)?;
        self.set_quick_parent(address);
        Some(parent)
    }
}
