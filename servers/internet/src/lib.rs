//! TCP and UDP over a network card, for the sockets of `servers/channel`: see the README.
#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod arrivals;
mod card;
mod datagrams;
mod lane;
mod lease;
mod router;
mod messages;
mod stack;
mod streams;
#[cfg(test)]
mod tests;

pub use stack::Stack;
