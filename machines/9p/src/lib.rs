//! Server of 9P2000.L, the protocol by which a Linux guest mounts a directory of its machine's
//! owner.
//!
//! Messages come from the guest and are not trusted. Each is carried out by one operation of a
//! [`Tree`], or a few, so whoever stands behind that sees everything that the guest does.

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod attributes;
mod fids;
mod list;
mod message;
mod names;
mod server;
mod tree;
mod values;

pub use message::MAX_MESSAGE;
pub use server::Server;
pub use tree::{Changes, Entry, Errno, FileSystem, Lock, OpenFlags, Part, Path, Sought, Status, Time, TimeChange, Tree};
