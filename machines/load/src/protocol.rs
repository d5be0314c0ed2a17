//! Choice of a loader by a kernel's file.

use crate::multiboot::head;
use crate::{ByteSource, LoadError, multiboot1, multiboot2, pvh};

/// Protocol by which a kernel is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Linux's 64-bit boot protocol.
    Linux,
    /// Xen's, for machines with hardware paging.
    Pvh,
    /// Multiboot 2.
    Multiboot2,
    /// Multiboot.
    Multiboot1,
}

impl Protocol {
    /// Returns the protocol of a file: the first of the list that it has. A 32-bit file's entry of
    /// PVH does not count: such a file is a Xen, whose entry is for a Xen inside another one.
    pub fn of(kernel: &dyn ByteSource) -> Result<Protocol, LoadError> {
        let start = head(kernel, 0x206)?;
        let is_elf = start.starts_with(b"\x7fELF");
        let is_linux = start.get(0x202..) == Some(b"HdrS") && crate::header::Header::decode(kernel).is_ok();
        match () {
            () if is_linux => Ok(Protocol::Linux),
            () if is_elf && pvh::has_entry(kernel) => Ok(Protocol::Pvh),
            () if multiboot2::has_header(kernel) => Ok(Protocol::Multiboot2),
            () if multiboot1::has_header(kernel) => Ok(Protocol::Multiboot1),
            () if is_elf => Ok(Protocol::Pvh),
            () => Ok(Protocol::Linux),
        }
    }
}
