//! The window of a device, which a file shows.

use alloc::format;
use alloc::string::String;
use nacre_abi::PAGE_SIZE;
use nacre_nest::Services;
use nacre_nest::command::lossy;
use nacre_proto::flags::{O_RDONLY, O_RDWR};
use nacre_proto::structures::Status;
use nacre_proto::{Errno, directory, file};
use nacre_rt::Arguments;
use nacre_sys::OwnedReference;

/// Largest window.
const MAX_SIZE: u64 = 1 << 30;

/// A window that is open.
pub struct DeviceWindow {
    /// The file.
    pub file: OwnedReference,
    /// Size in pages.
    pub pages: u64,
    /// Set if the window may be written.
    pub writable: bool,
}

impl DeviceWindow {
    /// Opens the file at a path of the command line: to be written, if that may be.
    pub fn open(path: &[u8], services: &Services, arguments: &Arguments) -> Result<DeviceWindow, String> {
        let path = arguments.absolute(path);
        let failed = |errno: Errno| format!("cannot use {}: {errno}", lossy(&path));
        let (opened, writable) = match directory::open(services.files(), O_RDWR, 0, &path[..]) {
            Err(Errno::EACCES) => (directory::open(services.files(), O_RDONLY, 0, &path[..]), false),
            opened => (opened, true),
        };
        let file = opened.map_err(failed)?.file;
        let mut bytes = [0; Status::SIZE];
        file::status(file.handle(), &mut bytes[..]).map_err(failed)?;
        let size = Status::from_bytes(&bytes).map_or(0, |status| status.size);
        if size == 0 || size > MAX_SIZE {
            return Err(format!("cannot use {}: a window has 1 byte to 1 GiB", lossy(&path)));
        }
        Ok(DeviceWindow { file, pages: size.div_ceil(PAGE_SIZE), writable })
    }
}
