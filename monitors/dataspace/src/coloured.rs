//! Coloured memory: pages whose addresses select a part of the processor's caches.

use crate::colours::{Colours, USUAL};
use crate::means::{Means, plan};
use alloc::boxed::Box;
use alloc::string::String;
use nacre_dataspaces::policy::Fifo;
use nacre_dataspaces::store::Compressed;
use nacre_memory::keeper::ALL_OPERATIONS;
use nacre_memory::stage::Plan;
use nacre_memory::tables::Source;
use nacre_proto::flags::DATASPACE_STAYS;

/// Name of the manager.
pub const NAME: &str = "coloured";
/// There is a frame for each page that is promised, and no store, so nothing has to go.
pub fn make<'a>(means: &Means<'a>) -> Result<Plan<'a>, String> {
    let Colours { all, chosen } = means.colours.clone().unwrap_or(USUAL);
    let made = plan(NAME, ALL_OPERATIONS | DATASPACE_STAYS, means.quota, means, Box::new(Compressed::new(0)), Box::new(Fifo::default()));
    Ok(Plan { from: Source::Coloured(all, chosen), ..made })
}
