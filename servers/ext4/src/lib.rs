//! An ext2, ext3 or ext4 volume as a tree of files, with its journal: what was synced is there
//! after a loss of power, and the volume is whole.
//!
//! The disk may have been written by an enemy. Whatever it says, a volume answers with an error.

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod ahead;
mod alloc_blocks;
mod attributes;
mod bytes;
mod cache;
mod checksum;
mod core;
mod directory;
mod disk;
mod extents;
mod file;
mod geometry;
mod groups;
mod hash;
mod indirect;
mod inode;
mod journal;
mod known;
mod map;
mod mount_error;
mod names;
mod open;
mod orphans;
mod room;
mod run;
mod seals;
mod tree;
mod unsealed;
mod volume;

pub use crate::core::Clock;
pub use disk::{Disk, errno};
pub use mount_error::MountError;
pub use nacre_machine_9p::{Errno, Time, Tree};
pub use open::Open;
pub use volume::{Options, Volume};
