//! Memory that a device has, too, and registers of devices. It is never given back: what a device
//! may write must not be free.

use crate::memory;
use core::ops::Range;
use nacre_sys::Window;
use nacre_virtio::{Memory, Shared};

/// Addresses above this are of no device.
const END: u64 = 1 << 46;
/// Largest range of registers.
pub const MAX_REGISTERS: u64 = 1 << 20;

/// Memory or registers that a device has, too.
#[derive(Clone, Copy)]
pub struct DeviceMemory(pub Window);

impl Memory for DeviceMemory {
    fn read(&self, at: u64, width: u64) -> u64 {
        self.0.load(at, width).unwrap_or(u64::MAX)
    }

    fn write(&self, at: u64, width: u64, value: u64) {
        let _ = self.0.store(at, width, value);
    }

    fn copy_out(&self, at: u64, to: &mut [u8]) {
        let _ = self.0.read(at, to);
    }

    fn copy_in(&self, at: u64, from: &[u8]) {
        let _ = self.0.write(at, from);
    }
}

/// Maps registers, whole pages, which touch none of the `ranges` that are memory.
pub fn window(start: u64, size: u64, ranges: &[Range<u64>]) -> Option<DeviceMemory> {
    let end = start.checked_add(size).filter(|end| *end <= END && size <= MAX_REGISTERS)?;
    if ranges.iter().any(|range| range.start < end && start < range.end) {
        return None;
    }
    memory::map_window(start, size, true).ok()?;
    Some(DeviceMemory(memory::window(start, size)?))
}

/// Takes memory that a device is to reach, or the unit that stands before it.
pub fn take(size: u64) -> Option<Shared<DeviceMemory>> {
    let address = memory::allocate(size)?;
    let window = memory::window(address, size)?;
    // Pages are cleared when this program first touches them: that must be before the device
    // writes there.
    window.fill(0, size, 0)?;
    Some(Shared { memory: DeviceMemory(window), address })
}
