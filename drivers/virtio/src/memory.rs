//! Memory that a device shares with the driver, and registers of devices.

/// A range of memory or registers that the device reads and writes, too. Places outside of it read
/// as ones and are not written.
pub trait Memory: Clone {
    /// Reads `width` bytes (1, 2, 4 or 8) in one access at `at`, a multiple of the width.
    fn read(&self, at: u64, width: u64) -> u64;
    /// Writes `width` bytes (1, 2, 4 or 8) in one access at `at`, a multiple of the width.
    fn write(&self, at: u64, width: u64, value: u64);
    /// Copies the bytes from `at` on into `to`.
    fn copy_out(&self, at: u64, to: &mut [u8]);
    /// Copies `from` to `at`.
    fn copy_in(&self, at: u64, from: &[u8]);
}

/// Memory that the device reaches by its address.
#[derive(Clone, Debug)]
pub struct Shared<M> {
    /// The memory, all zeros at first.
    pub memory: M,
    /// Address of its first byte, as the device counts.
    pub address: u64,
}
