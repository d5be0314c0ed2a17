//! Loaders of guest machines: a kernel, its command line and its initial file system go into guest
//! memory, and the registers with which the first processor starts come out.
//!
//! The kernel's file is not trusted. Memory is reached through [`GuestMemory`], files through
//! [`ByteSource`], both of which may refuse.

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod acpi;
mod aml;
pub mod cpio;
mod elf;
mod error;
pub mod generation;
mod header;
pub mod linux;
mod multiboot;
pub mod multiboot1;
pub mod multiboot2;
mod place;
mod protocol;
pub mod pvh;
mod source;
mod start;

pub use error::LoadError;
pub use multiboot::{Boot, Module};
pub use nacre_machine_memory::{GuestMemory, OutOfRange, VecMemory};
pub use protocol::Protocol;
pub use source::{ByteSource, Unreadable};
pub use start::{Segment, Start};
