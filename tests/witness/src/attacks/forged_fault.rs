//! A region's keeper gets a message for each page that the region lacks. A service's port as keeper
//! got such messages from anybody.

use crate::tools::{Outpost, at_each_port, moment, why};
use crate::outcome::Outcome;
use nacre_abi::Rights;
use nacre_sys::{OwnedMapping, OwnedRegion, Reference, Region};

/// Address of the region in the space that exports it and in the space that maps it.
const WINDOW: u64 = 0x10_0000;
/// Size of the region in bytes.
const SIZE: u64 = 0x10_0000;

/// Makes a thread touch a page of an empty region of each keeper.
pub fn attack(_: &[u8]) -> Outcome {
    at_each_port(|port| {
        let source = Outpost::with_keeper(Reference::NONE)?.ok_or("a space without keeper was refused")?;
        let outpost = Outpost::with_keeper(Reference::NONE)?.ok_or("a space without keeper was refused")?;
        let made = OwnedRegion::new(source.space.handle(), WINDOW, SIZE, Rights::ALL, port);
        let Ok(region) = made else { return Ok(()) };
        let shown = Region(region.handle().address());
        let mapping = OwnedMapping::new(outpost.space.handle(), WINDOW, SIZE, shown, 0, Rights::ALL).map_err(why("a mapping"))?;
        outpost.run_from(WINDOW)?;
        moment();
        drop(outpost);
        drop(mapping);
        drop(region);
        Ok(())
    })
}
