//! The guard's parts, apart from its first instruction: see the README.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod audit;
pub mod access_request;
pub mod claims;
pub mod closure;
pub mod denied;
pub mod dns;
pub mod groups;
pub mod guardian;
pub mod limits;
mod machines;
pub mod manifest;
pub mod names;
pub mod network;
pub mod options;
pub mod paths;
pub mod pattern;
pub mod peer;
pub mod policy;
mod pools;
pub mod processes;
pub mod reach;
pub mod subject;
