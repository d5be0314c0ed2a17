//! The part of a device that is not the same for all: its requests.

use crate::queue::Queue;
use nacre_machine_memory::{GuestMemory, OutOfRange};

/// Error of a guest that breaks the rules of rings. The device stops until the guest resets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken;

impl From<OutOfRange> for Broken {
    fn from(_: OutOfRange) -> Self {
        Broken
    }
}

/// Result of a turn of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// Requests were completed.
    pub any: bool,
    /// Requests are left for the next turn.
    pub rest: bool,
}

/// Kind of device, and how it serves its requests.
pub trait Device: Send {
    /// Returns the device's number in the standard.
    fn number(&self) -> u16;

    /// Returns the PCI class: 24 bits.
    fn class(&self) -> u32;

    /// Returns the features that this kind of device offers, without those of the transport.
    fn features(&self) -> u64;

    /// Returns the largest size of each queue.
    fn queue_sizes(&self) -> &'static [u16];

    /// Copies the device's registers from the start on. What it does not fill reads as zeros.
    fn registers(&self, into: &mut [u8]);

    /// Serves requests that wait in a queue.
    ///
    /// It takes what is there when it begins, so a guest that adds requests at the same time does
    /// not hold it up: it notifies once more. What is more than a turn's worth of bytes is left, so
    /// that whoever waits for other devices, or for the machine's end, does not wait for all of it.
    fn serve(
        &mut self, number: usize, queue: &mut Queue, memory: &mut dyn GuestMemory,
    ) -> Result<Served, Broken>;
}
