//! Persistent memory: named dataspaces are there again at the next start, as the last whole generation in a file has them.

use crate::NAME as MONITOR;
use crate::means::{Means, plan};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use nacre_abi::PAGE_SIZE;
use nacre_abi::rights::REFERENCE_USE;
use nacre_dataspaces::generations::Generations;
use nacre_dataspaces::policy::Clock;
use nacre_memory::keeper::ALL_OPERATIONS;
use nacre_memory::stage::{Plan, kernel};
use nacre_memory::stores::BlockFile;
use nacre_nest::Services;
use nacre_nest::command::{complain, lossy};
use nacre_proto::flags::{DATASPACE_LASTS, LOCK_WHOLE, LOCK_WRITE, O_CREAT, O_RDWR};
use nacre_proto::structures::Status;
use nacre_proto::{Errno, directory, file};
use nacre_rt::Arguments;
use nacre_sys::OwnedReference;

/// Name of the manager.
pub const NAME: &str = "persistent";
/// Size of a file that is made.
const NEW_SIZE: u64 = 16 << 20;

/// An open file, and what messages call it.
pub struct File {
    file: OwnedReference,
    name: String,
    blocks: u64,
}

impl File {
    /// Opens the file at a path of the command line, and makes it if there is none. Nobody else has it as long as this program lives.
    pub fn open(path: &[u8], services: &Services, arguments: &Arguments) -> Result<File, String> {
        let path = arguments.absolute(path);
        let name = lossy(&path);
        let failed = |errno: Errno| format!("cannot use {name}: {errno}");
        let file = directory::open(services.files(), O_RDWR | O_CREAT, 0o600, &path[..]).map_err(failed)?.file;
        match file::lock(file.handle(), LOCK_WRITE, LOCK_WHOLE, 0, u64::MAX) {
            Err(Errno::EAGAIN) => return Err(format!("cannot use {name}: somebody else does")),
            locked => locked.map_err(failed)?,
        };
        let mut bytes = [0; Status::SIZE];
        file::status(file.handle(), &mut bytes[..]).map_err(failed)?;
        let mut size = Status::from_bytes(&bytes).map_or(0, |status| status.size);
        if size == 0 {
            file::set_size(file.handle(), NEW_SIZE).map_err(failed)?;
            size = NEW_SIZE;
        }
        Ok(File { file, blocks: size / PAGE_SIZE, name })
    }

    /// Bytes that the manager keeps about the file.
    pub fn records(&self) -> u64 {
        self.blocks * 10
    }
}

/// Opens the file's last whole generation. Pages that were not used lately go to the file.
pub fn make<'a>(means: &Means<'a>) -> Result<Plan<'a>, String> {
    let file = means.file.ok_or("persistent memory needs --store FILE")?;
    let reference = OwnedReference::copy_of(file.file.handle(), REFERENCE_USE).map_err(kernel("a copy of its file"))?;
    let opened = Generations::open(BlockFile::new(reference, file.blocks)).map_err(|unusable| format!("{} {unusable}", file.name))?;
    if opened.is_older {
        complain(MONITOR, &format!("{}: the newest generation is damaged; the one before is used", file.name));
    }
    let made = plan(NAME, ALL_OPERATIONS | DATASPACE_LASTS, means.frames, means, Box::new(opened.store), Box::new(Clock::default()));
    Ok(Plan { saved: Some(Vec::from(opened.saved)), ..made })
}
