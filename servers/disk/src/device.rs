//! The disk, as the volume on it wants it.

use crate::hands::DeviceMemory;
use nacre_ext4::{Disk, errno};
use nacre_machine_9p::Errno;
use nacre_nest::clock::Clock;
use nacre_virtio::{Block, MOST, Refusal, SECTOR};

/// Nanoseconds after which an answer will not come any more, and that pass between two looks, at
/// most, while the machine runs.
const LIMIT: u64 = 20_000_000_000;
const GAP: u64 = 10_000_000;

/// A disk.
pub struct Device {
    /// The device.
    pub block: Block<DeviceMemory>,
    /// The time.
    pub clock: Clock,
}

/// Returns a question for whoever waits: whether to look once more.
fn patience(clock: Clock) -> impl FnMut() -> bool {
    let (mut last, mut waited) = (clock.now(), 0);
    move || {
        // Time in which the whole machine stood still is not the device's.
        let now = clock.now();
        waited += now.saturating_sub(last).min(GAP);
        last = now;
        waited <= LIMIT
    }
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
