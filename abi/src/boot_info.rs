//! What the kernel tells root about the machine, in one read-only page at
//! [`BOOT_INFO`](crate::environment::BOOT_INFO).

/// Maximum number of ranges of memory that are listed.
pub const MAX_RANGES: usize = 64;

/// A range of usable memory, in offsets of the physical region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct MemoryRange {
    /// First byte, a multiple of 4096.
    pub start: u64,
    /// Size in bytes, a multiple of 4096.
    pub size: u64,
}

/// The page itself. All fields are 64 bits wide.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct BootInfo {
    /// [`VERSION`](crate::VERSION).
    pub version: u64,
    /// Offset of the boot image in the physical region.
    pub image_start: u64,
    /// Size of the boot image in bytes.
    pub image_size: u64,
    /// CPUs that were started.
    pub cpus: u64,
    /// Ticks of the time-stamp counter a second.
    pub tsc_frequency: u64,
    /// Number of entries of `ranges` that are meaningful.
    pub range_count: u64,
    /// Memory that root may use as it likes; kernel, boot image and tables are not in it.
    pub ranges: [MemoryRange; MAX_RANGES],
    /// Number of pages of the object area that are mapped.
    pub objects_pages: u64,
    /// Time-stamp counter at kernel entry (for the cost of booting).
    pub tsc_at_entry: u64,
    /// Physical address of the ACPI root pointer, or 0.
    pub acpi_root: u64,
    /// Bytes of the kernel command line in `command_line`.
    pub command_line_size: u64,
    /// The kernel command line.
    pub command_line: [u8; 256],
}

const _: () = assert!(core::mem::size_of::<BootInfo>() <= 4096);
