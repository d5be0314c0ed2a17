//! State of the bus as plain data.

use alloc::vec::Vec;

/// Reason why a saved state is refused, for a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadState(
    /// Part that no machine with these devices could have had.
    pub &'static str,
);

/// State of the bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BusState {
    /// Version of this struct.
    pub version: u32,
    /// Address register.
    pub address: u32,
    /// Functions, by slot.
    pub functions: Vec<FunctionState>,
}

/// State of a function: everything that a guest or the device can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FunctionState {
    /// Slot of the bus.
    pub slot: u8,
    /// Command register.
    pub command: u16,
    /// Size of a cache line.
    pub cache_line: u8,
    /// Latency timer.
    pub latency: u8,
    /// Base addresses, with the bits of their kinds.
    pub bases: [u32; 6],
    /// Interrupt line.
    pub line: u8,
    /// True if the device wants its pin asserted.
    pub is_pin_set: bool,
}
