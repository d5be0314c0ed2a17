//! From the boot protocol's end to the first thread.

use super::machine::Aarch64;
use crate::boot::{BootDescription, ImageLayout};
use nacre_core::Kernel;

/// Physical memory, as the boot tables show it.
pub struct BootMemory(());

impl BootMemory {
    /// `size` bytes at `start`: none, without boot tables.
    pub fn bytes(&self, _start: u64, _size: u64) -> Option<&[u8]> {
        None
    }
}

/// Starts the kernel.
pub fn start(_memory: BootMemory, _description: &BootDescription, _image: ImageLayout, _started: u64) -> ! {
    let kernel = Kernel::new(Aarch64);
    kernel.cpu_start();
    unreachable!("this machine is not written yet")
}
