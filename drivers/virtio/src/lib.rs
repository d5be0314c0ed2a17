//! Virtio devices on PCI: the console with many ports, the device of files, the network card,
//! disks, and the source of random bytes: drivers without a kernel.
//!
//! Nothing that the device says is trusted. A program that uses this gives memory and registers in
//! through [`Memory`] and [`Configuration`].

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod block;
mod console;
mod control;
mod entropy;
mod exchange;
#[cfg(any(test, feature = "fake"))]
pub mod fake;
#[cfg(test)]
mod hostile_tests;
mod memory;
mod network;
mod pci;
mod queue;
mod slots;
#[cfg(test)]
mod tests;
mod transport;

pub use block::{Block, Refusal, SECTOR};
pub use console::{Console, MAX_PORTS, Port, WRITE_SIZE};
pub use entropy::{Entropy, PORTION};
pub use exchange::Exchange;
pub use memory::{Memory, Shared};
pub use network::{MAX_FRAME, Network};
pub use pci::{Bar, Configuration, Function, find, find_next};
pub use queue::Queue;
pub use transport::{Layout, Transport};

/// Number of the vendor of all virtio devices.
pub const VENDOR: u16 = 0x1af4;
/// Number of the console, without the transitional interface.
pub const CONSOLE: u16 = 0x1043;
/// Number of the device that speaks 9P, without the transitional interface.
pub const FILES: u16 = 0x1049;
/// Number of the network card, without the transitional interface.
pub const NETWORK: u16 = 0x1041;

/// Number of the source of random bytes, without the transitional interface.
pub const ENTROPY: u16 = 0x1044;

/// Number of disks, without the transitional interface.
pub const BLOCK: u16 = 0x1042;

/// The device broke the rules, or lacks something that the driver needs. It is not used any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault(
    /// Rule that was broken, for a person.
    pub &'static str,
);
