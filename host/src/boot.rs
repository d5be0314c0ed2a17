//! The boot image: its files, root's segments, and the bytes.

pub mod elf;
pub mod files;
pub mod guest;
mod libraries;
pub mod program;
pub mod writer;
