//! Pipes and local sockets: see the README.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod bytes;
pub mod hub;
pub mod keyed;
pub mod mailbox;
pub mod pages;
pub mod queue;
pub mod service;
pub mod shared;
