//! Pinned memory: what was touched stays until it is given back, within a quota.

use crate::means::{Means, plan};
use alloc::boxed::Box;
use alloc::string::String;
use nacre_dataspaces::policy::Fifo;
use nacre_dataspaces::store::Compressed;
use nacre_memory::keeper::ALL_OPERATIONS;
use nacre_memory::stage::Plan;
use nacre_proto::flags::DATASPACE_STAYS;

/// Name of the manager.
pub const NAME: &str = "pinned";

/// There is a frame for each page that is promised, and no store, so nothing has to go.
pub fn make<'a>(means: &Means<'a>) -> Result<Plan<'a>, String> {
    Ok(plan(NAME, ALL_OPERATIONS | DATASPACE_STAYS, means.quota, means, Box::new(Compressed::new(0)), Box::new(Fifo::default())))
}
