//! The disk, as the volume on it wants it.

use nacre_driver::{DeviceMemory, patience};
use nacre_ext4::{Disk, errno};
use nacre_machine_9p::Errno;
use nacre_nest::clock::Clock;
use nacre_virtio::{Block, MOST, Refusal, SECTOR};

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
        let mut sector = at / SECTOR;
        for part in into.chunks_mut(MOST as usize) {
            self.block.read(sector, part, patience(self.clock)).map_err(refused)?;
            sector += part.len() as u64 / SECTOR;
        }
        Ok(())
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), Errno> {
        let mut sector = at / SECTOR;
        for part in bytes.chunks(MOST as usize) {
            self.block.write(sector, part, patience(self.clock)).map_err(refused)?;
            sector += part.len() as u64 / SECTOR;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Errno> {
        self.block.flush(patience(self.clock)).map_err(refused)
    }
}
