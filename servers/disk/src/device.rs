//! The disk, as the volume on it wants it.

use nacre_driver::{DeviceMemory, patience};
use nacre_ext4::{Disk, errno};
use nacre_machine_9p::Errno;
use nacre_nest::clock::Clock;
use nacre_virtio::{Block, Refusal, SECTOR};

/// A disk.
pub struct Device {
    /// The device.
    pub block: Block<DeviceMemory>,
    /// The time.
    pub clock: Clock,
}

fn refused(_: Refusal) -> Errno {
    errno::IO
}

impl Disk for Device {
    fn size(&self) -> u64 {
        self.block.size()
    }

    fn read(&mut self, at: u64, into: &mut [u8]) -> Result<(), Errno> {
        self.block.read(at / SECTOR, into, patience(self.clock)).map_err(refused)
    }

    fn prefetch(&mut self, at: u64, size: u64) {
        self.block.prefetch(at / SECTOR, size);
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), Errno> {
        self.block.write(at / SECTOR, bytes, patience(self.clock)).map_err(refused)
    }

    fn flush(&mut self) -> Result<(), Errno> {
        self.block.flush(patience(self.clock)).map_err(refused)
    }
}
