//! Commands to machines that run: a socket for each, by name, and the subcommands that use it.

pub mod arguments;
pub mod client;
mod counts;
pub mod desk;
pub mod diff;
pub mod exec;
pub mod fork;
pub mod image;
pub mod log;
pub mod names;
pub mod stats;
pub mod tasks;
pub mod trace;
