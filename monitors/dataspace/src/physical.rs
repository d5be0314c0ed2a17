//! Physical memory: each dataspace lies in one run of the machine's memory, and its address is
//! told.

use crate::means::{Means, plan};
use alloc::boxed::Box;
use alloc::string::String;
use nacre_dataspaces::policy::Fifo;
use nacre_dataspaces::store::Compressed;
use nacre_dataspaces::Access;
use nacre_memory::keeper::ALL_OPERATIONS;
use nacre_memory::stage::Plan;
use nacre_memory::tables::Source;
use nacre_proto::flags::{DATASPACE_COPY, DATASPACE_STAYS};

/// Name of the manager.
pub const NAME: &str = "physical";

/// The frames are one run, and so are those of each dataspace, for good. A copy takes pages where
/// it
/// finds room, so there is none.
pub fn make<'a>(means: &Means<'a>) -> Result<Plan<'a>, String> {
    let operations = ALL_OPERATIONS & !DATASPACE_COPY | DATASPACE_STAYS;
    let made = plan(NAME, operations, means.quota, means, Box::new(Compressed::new(0)), Box::new(Fifo::default()));
    Ok(Plan { from: Source::Run, homes: Some(Access::Memory), ..made })
}
