//! Everything here that reads what an enemy may have written, as functions of bytes: an engine that
//! follows coverage (`main.rs`, `./nacre fuzz`) makes up the bytes, and so do the tests of this
//! crate, from the corpus. A target passes unless it panics, overflows, or does not come back.
#![forbid(unsafe_code)]

#[path = "../../host/src/absolute.rs"]
#[allow(dead_code)]
mod absolute;
#[path = "../../host/src/whole_file.rs"]
#[allow(dead_code, reason = "the target writes no file on a disk")]
mod whole_file;
pub mod bytes;
pub mod corpus;
pub mod mutate;
pub mod targets;

pub use targets::{TARGETS, Target};
