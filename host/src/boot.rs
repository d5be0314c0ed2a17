//! The boot image: its files, root's segments, and the bytes.

mod command;
mod data;
pub mod elf;
pub mod files;
mod given;
pub mod guest;
mod hint;
mod libraries;
mod links;
mod packages;
mod prefix;
pub mod program;
pub mod writer;
