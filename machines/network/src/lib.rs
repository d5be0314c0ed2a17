//! Network of a guest machine: a gateway that carries the guest's connections and datagrams over to
//! sockets, and answers ARP, DHCP and echoes itself. See the README.
//!
//! Start reading at [`Gateway`].

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod datagrams;
mod dhcp;
mod fragments;
mod frames;
mod gateway;
mod link;
mod outside;
mod streams;
#[cfg(test)]
mod tests;

pub use frames::{CARD, GATEWAY, GUEST, MAX_FRAME, NAMES};
pub use gateway::Gateway;
pub use outside::{Address, Gone, Outside, Received, Stage};

/// Maximum number of TCP connections of a guest.
pub const MAX_STREAMS: usize = 128;
/// Maximum number of the guest's ports from which datagrams go out at the same time.
pub const MAX_PORTS: usize = 64;
