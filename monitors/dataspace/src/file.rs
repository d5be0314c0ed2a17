//! Files as memory: pages come from a file when they are touched, and changed ones go back there.

use crate::means::{Means, plan};
use alloc::boxed::Box;
use alloc::string::String;
use nacre_dataspaces::policy::Clock;
use nacre_dataspaces::store::Files;
use nacre_memory::RemoteFile;
use nacre_memory::stage::Plan;
use nacre_proto::flags::{DATASPACE_COPY, DATASPACE_CREATE, DATASPACE_SHARE};

/// Name of the manager.
pub const NAME: &str = "file";

/// The store is the files: no page of theirs has another place.
pub fn make<'a>(means: &Means<'a>) -> Result<Plan<'a>, String> {
    let store = Box::new(Files::<RemoteFile>::default());
    Ok(plan(NAME, DATASPACE_COPY | DATASPACE_CREATE | DATASPACE_SHARE, means.frames, means, store, Box::new(Clock::default())))
}
