//! Device memory: the window of a device, which a file shows, handed out to one dataspace at a
//! time.

use crate::means::{Means, plan};
use alloc::boxed::Box;
use alloc::string::String;
use nacre_dataspaces::Access;
use nacre_dataspaces::policy::Fifo;
use nacre_dataspaces::store::Compressed;
use nacre_memory::stage::Plan;
use nacre_memory::tables::Source;
use nacre_proto::flags::{DATASPACE_CREATE, DATASPACE_DELETE, DATASPACE_SHARE, DATASPACE_STAYS};

/// Name of the manager.
pub const NAME: &str = "device";
/// The frames are the window. What is there stays when a dataspace goes, and the next one finds it.
pub fn make<'a>(means: &Means<'a>) -> Result<Plan<'a>, String> {
    let window = means.window.ok_or("device memory needs --window FILE")?;
    let operations = DATASPACE_CREATE | DATASPACE_DELETE | DATASPACE_SHARE | DATASPACE_STAYS;
    let access = if window.writable { Access::Device } else { Access::ReadOnlyDevice };
    let made = plan(NAME, operations, window.pages, means, Box::new(Compressed::new(0)), Box::new(Fifo::default()));
    Ok(Plan { from: Source::File(&window.file, window.writable), homes: Some(access), ..made })
}
