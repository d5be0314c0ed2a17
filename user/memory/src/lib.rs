//! Memory servers: pools, segments and dataspaces for a monitor's child, over the banks of
//! `user/dataspace`.
//!
//! Reading on: [`keeper`] serves; [`stage`] divides memory among managers and runs a child over
//! them.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod keeper;
mod located;
mod page_counts;
pub mod pools;
pub mod shares;
pub mod stage;
pub mod stores;
pub mod tables;
pub mod watch;

mod attachments;
mod dataspaces;
mod files;
mod lasting;
mod mapped_files;
mod pins;
mod remote_file;
mod segments;
mod tally;
mod unpaid;
mod window_service;
mod windows;
mod words;

pub use remote_file::RemoteFile;
