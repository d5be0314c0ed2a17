//! Persistent memory: named dataspaces are there again at the next start, as the last whole
//! generation in a file has them.

use crate::manifest::MANIFEST;
use crate::means::{Means, plan};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use nacre_abi::rights::REFERENCE_USE;
use nacre_dataspaces::generations::Generations;
use nacre_dataspaces::policy::Clock;
use nacre_memory::keeper::ALL_OPERATIONS;
use nacre_memory::stage::{Plan, kernel};
use nacre_memory::stores::BlockFile;
use nacre_nest::command::complain;
use nacre_proto::flags::DATASPACE_LASTS;
use nacre_sys::OwnedReference;

/// Name of the manager.
pub const NAME: &str = "persistent";
/// Opens the file's last whole generation. Pages that were not used lately go to the file.
pub fn make<'a>(means: &Means<'a>) -> Result<Plan<'a>, String> {
    let file = means.file.ok_or("persistent memory needs --store FILE")?;
    let reference = OwnedReference::copy_of(file.file.handle(), REFERENCE_USE).map_err(kernel("a copy of its file"))?;
    let opened = Generations::open(BlockFile::new(reference, file.blocks)).map_err(|unusable| format!("{} {unusable}", file.name))?;
    if opened.is_older {
        complain(MANIFEST.name, &format!("{}: the newest generation is damaged; the one before is used", file.name));
    }
    let made = plan(NAME, ALL_OPERATIONS | DATASPACE_LASTS, means.frames, means, Box::new(opened.store), Box::new(Clock::default()));
    Ok(Plan { saved: Some(Vec::from(opened.saved)), ..made })
}
