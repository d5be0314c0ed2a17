//! Errors of the loaders, as sentences for a person.

use crate::OutOfRange;
use core::fmt;

/// Reason why a kernel cannot be loaded. Its text is a sentence for a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadError {
    /// File that is no bzImage.
    NotLinux,
    /// A bzImage whose header tells no 32-bit entry that can be used without its 16-bit code.
    OldLinux,
    /// ELF file that is no kernel for this architecture.
    NotKernel,
    /// ELF file without a note that names an entry.
    NoEntry,
    /// Entry that is in no part of the kernel.
    BadEntry,
    /// Kernel's parts lie in each other.
    Overlap,
    /// File without a header of multiboot.
    NotMultiboot,
    /// Header of multiboot that contradicts itself.
    BadHeader,
    /// Header of multiboot without addresses, in a file that is no ELF file.
    NoAddresses,
    /// Kernel requires a screen.
    NeedsScreen,
    /// Kernel requires something that nobody here knows.
    UnknownRequirement,
    /// Kernel leaves no low memory for what it is told.
    NoLowMemory,
    /// Kernel's file ends too early.
    Truncated,
    /// Kernel asks for an address that no machine has.
    BadAddress,
    /// Kernel's file cannot be read.
    KernelUnreadable,
    /// Initial file system cannot be read.
    InitrdUnreadable,
    /// Machine has more memory than `linux::MAX_MEMORY`.
    MemoryTooLarge,
    /// Machine has less memory than `linux::MIN_MEMORY`.
    MemoryTooSmall,
    /// Kernel does not fit.
    KernelTooLarge,
    /// Initial file system does not fit beside the kernel.
    InitrdTooLarge,
    /// Kernel takes no command line of this length.
    CommandLineTooLong,
    /// Command line has a zero byte, which would end it.
    CommandLineWithZero,
    /// Guest memory refuses an access that its size allows.
    MemoryRefuses,
}

impl LoadError {
    fn text(self) -> &'static str {
        match self {
            LoadError::NotLinux => {
                "the kernel is not a bzImage, and has no multiboot header"
            }
            LoadError::OldLinux => {
                "the kernel starts in 16-bit code, for a BIOS: \
                 its boot protocol is older than 2.10, or it lies below 1 MiB"
            }
            LoadError::NotKernel => "the kernel is an ELF file for another machine",
            LoadError::NoEntry => {
                "the kernel is an ELF file without an entry of PVH and without a multiboot header"
            }
            LoadError::BadEntry => "the kernel's entry is not inside the kernel",
            LoadError::Overlap => "parts of the kernel overlap",
            LoadError::NotMultiboot => "the kernel has no multiboot header",
            LoadError::BadHeader => "the kernel's multiboot header contradicts itself",
            LoadError::NoAddresses => {
                "the kernel's multiboot header has no addresses, and the file is not ELF"
            }
            LoadError::NeedsScreen => {
                "the kernel's multiboot header requires a screen, which the machine lacks"
            }
            LoadError::UnknownRequirement => {
                "the kernel's multiboot header requires something that is not known here"
            }
            LoadError::NoLowMemory => {
                "the kernel leaves no memory below 1 MiB for what it is told"
            }
            LoadError::Truncated => "the kernel's file is cut off",
            LoadError::BadAddress => "the kernel asks for an address that no machine has",
            LoadError::KernelUnreadable => "the kernel's file cannot be read",
            LoadError::InitrdUnreadable => "the initial file system cannot be read",
            LoadError::MemoryTooLarge => "a machine has at most 3 GiB of memory",
            LoadError::MemoryTooSmall => "a machine needs at least 2 MiB of memory",
            LoadError::KernelTooLarge => {
                "the machine has too little memory for the kernel; --memory SIZE gives it more"
            }
            LoadError::InitrdTooLarge => {
                "the machine has too little memory for the initial file system; \
                 --memory SIZE gives it more"
            }
            LoadError::CommandLineTooLong => "the kernel's command line is too long",
            LoadError::CommandLineWithZero => "the kernel's command line has a zero byte",
            LoadError::MemoryRefuses => "the machine's memory cannot be written",
        }
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.text())
    }
}

impl core::error::Error for LoadError {}

impl From<OutOfRange> for LoadError {
    fn from(_: OutOfRange) -> Self {
        LoadError::MemoryRefuses
    }
}
