//! The file of persistent memory.

use alloc::format;
use alloc::string::String;
use nacre_abi::PAGE_SIZE;
use nacre_nest::Services;
use nacre_nest::command::lossy;
use nacre_proto::flags::{LOCK_WHOLE, LOCK_WRITE, O_CREAT, O_RDWR};
use nacre_proto::structures::Status;
use nacre_proto::{Errno, directory, file};
use nacre_rt::Arguments;
use nacre_sys::OwnedReference;

/// Size of a file that is made.
const NEW_SIZE: u64 = 16 << 20;

/// An open file, and what messages call it.
pub struct StoreFile {
    /// The open file.
    pub file: OwnedReference,
    /// Path, for messages.
    pub name: String,
    /// Size in pages.
    pub blocks: u64,
}

impl StoreFile {
    /// Opens the file at a path of the command line, and makes it if there is none. Nobody else has
    /// it as long as this program lives.
    pub fn open(path: &[u8], services: &Services, arguments: &Arguments) -> Result<StoreFile, String> {
        let path = arguments.absolute(path);
        let name = lossy(&path);
        let failed = |errno: Errno| format!("cannot use {name}: {errno}");
        // A file that is made among the devices would go with the machine.
        let is_device = path.starts_with(b"/dev/");
        let flags = if is_device { O_RDWR } else { O_RDWR | O_CREAT };
        let file = directory::open(services.files(), flags, 0o600, &path[..]).map_err(|errno| match errno {
            Errno::ENOENT if is_device => format!("there is no {name}; `./nacre run --store FILE[:SIZE]` makes /dev/store of a file of the host"),
            errno => failed(errno),
        })?;
        let file = file.file;
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
        Ok(StoreFile { file, blocks: size / PAGE_SIZE, name })
    }

    /// Bytes that the manager keeps about the file.
    pub fn records(&self) -> u64 {
        self.blocks * 10
    }
}
