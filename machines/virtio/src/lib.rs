//! Virtio devices of a guest machine (version 1.2 of the standard, without its legacy interfaces).
//!
//! The guest writes rings, descriptors, registers and requests, so nothing of them is trusted. Each
//! word of shared memory is read once. What no driver may do breaks the device until the guest
//! resets it; the machine goes on.
//!
//! Start reading at [`Cards`].

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod balloon;
mod block;
mod cards;
mod chain;
mod console;
mod device;
mod entropy;
mod files;
mod function;
mod net;
mod queue;
mod transport;

pub use balloon::{Balloon, Reclaim};
pub use block::{Block, Disk, DiskError, SECTOR};
pub use cards::{Cards, CardsState};
pub use chain::Chain;
pub use console::{Console, Terminal};
pub use device::{Broken, Device, Served};
pub use entropy::{Entropy, Random};
pub use files::{FileServer, Files};
pub use function::{Virtio, VirtioState};
pub use net::{Network, Wire};
pub use nacre_machine_pci::{LINES, is_configuration_port};
pub use queue::{Queue, QueueState};
pub use transport::{REGISTERS, Transport, TransportState};

/// Reason why a saved state is refused, for a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadState(
    /// Part that no device of this kind could have had.
    pub &'static str,
);
