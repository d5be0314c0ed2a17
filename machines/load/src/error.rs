//! Errors of the loaders, as sentences for a person.

use crate::OutOfRange;
use core::fmt;

/// Reason why a kernel cannot be loaded. Its text is a sentence for a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadError {
    /// File that is no bzImage, or one of another age or architecture.
    NotLinux,
    /// ELF file that is no kernel for this architecture.
    NotKernel,
    /// ELF file without a note that names an entry inside it.
    NoEntry,
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
            LoadError::NotLinux => "the kernel is not a bzImage with a 64-bit entry",
            LoadError::NotKernel => "the kernel is an ELF file for another machine",
            LoadError::NoEntry => "the kernel is an ELF file without an entry of the protocol PVH",
            LoadError::Truncated => "the kernel's file is cut off",
            LoadError::BadAddress => "the kernel asks for an address that no machine has",
            LoadError::KernelUnreadable => "the kernel's file cannot be read",
            LoadError::InitrdUnreadable => "the initial file system cannot be read",
            LoadError::MemoryTooLarge => "a machine has at most 3 GiB of memory",
            LoadError::MemoryTooSmall => "a machine needs at least 2 MiB of memory",
            LoadError::KernelTooLarge => "the machine has too little memory for the kernel",
            LoadError::InitrdTooLarge => {
                "the machine has too little memory for the initial file system"
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
