//! Client of 9P2000.L, the protocol by which a machine's owner gives it a directory.
//!
//! Nothing that the server says is trusted: an answer that breaks the rules is an error of the one
//! request that it answers. How messages travel is the business of a [`Wire`].

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod answer;
mod attributes;
mod client;
mod message;
mod names;
mod paths;
mod room;
#[cfg(test)]
mod tests;

pub use answer::{Status, Time};
pub use client::{Capacity, Changes, Client, Fid, ROOT, Wire, open};
pub use names::Entry;
pub use paths::MAX_PATH;

/// Largest number of bytes of a file that one message carries.
pub const PAYLOAD: u32 = 128 << 10;
/// Size of the longest message, either way: with bytes of a file, and what stands before them.
pub const MAX_MESSAGE: u32 = PAYLOAD + 4096;

/// A Linux error number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Error(pub u32);

impl Error {
    /// There is no such name.
    pub const NOT_FOUND: Error = Error(2);
    /// The server broke the rules, or is gone.
    pub const BROKEN: Error = Error(5);
    /// There is no memory for the answer.
    pub const NO_MEMORY: Error = Error(12);
    /// There are too many numbers for files.
    pub const TOO_MANY: Error = Error(23);
    /// A path would become longer than the server can bear.
    pub const TOO_LONG: Error = Error(36);
    /// A name is none.
    pub const NO_NAME: Error = Error(22);
}
