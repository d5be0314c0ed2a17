//! The boot image: its files, root's segments, and the bytes.

mod command;
mod contents;
mod data;
pub mod directory;
pub mod disks;
pub mod elf;
pub mod files;
mod given;
pub mod guest;
mod hint;
pub mod initramfs;
pub mod kernel;
pub mod limits;
pub mod libraries;
mod links;
mod named;
pub mod modules;
mod packages;
mod prefix;
pub mod port_program;
pub mod program;
mod scripts;
pub mod volumes;
pub mod writer;
