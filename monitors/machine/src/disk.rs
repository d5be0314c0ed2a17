//! Disks whose contents are files of the environment.

use crate::files::{self, File};
use alloc::string::String;
use nacre_machine_virtio::{Disk, DiskError};
use nacre_nest::Services;
use nacre_proto::file;
use nacre_proto::flags::{O_RDONLY, O_RDWR};

/// File that is a disk.
pub struct FileDisk {
    file: File,
    is_read_only: bool,
}

impl FileDisk {
    /// Opens a file of the environment.
    pub fn open(services: &Services, path: &[u8], is_read_only: bool) -> Result<FileDisk, String> {
        let flags = if is_read_only { O_RDONLY } else { O_RDWR };
        let file = files::open(services, path, flags)?;
        Ok(FileDisk { file, is_read_only })
    }
}

impl Disk for FileDisk {
    fn size(&self) -> u64 {
        self.file.size()
    }

    fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    fn read(&mut self, at: u64, into: &mut [u8]) -> Result<(), DiskError> {
        self.file.read_exact(at, into).map_err(|_| DiskError)
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), DiskError> {
        files::write_all(self.file.port(), at, bytes).1.map_err(|_| DiskError)
    }

    fn flush(&mut self) -> Result<(), DiskError> {
        file::sync(self.file.port()).map(drop).map_err(|_| DiskError)
    }
}
