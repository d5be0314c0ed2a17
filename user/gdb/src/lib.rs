//! The remote serial protocol of gdb, for a stub that debugs several processes: packets,
//! registers of x86-64, and the questions and commands of a session. What the session can do to a
//! system is the trait [`Target`].
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod description;
mod files;
mod memory;
pub mod packet;
mod query;
pub mod registers;
mod resume;
pub mod session;
mod signals;
pub mod target;
mod text;
#[cfg(test)]
mod tests;

pub use registers::Registers;
pub use session::{Session, gone};
pub use target::{Action, Caught, Events, Reason, Stop, Target, ThreadId};
