//! PCI bus of a guest machine: configuration spaces by mechanism 1, base addresses, interrupt pins.
//!
//! Every port, width and value comes from the guest and is not trusted.

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod bus;
mod function;
mod state;

pub use bus::{Bus, LINES, SLOTS, Target, is_configuration_port, line_of};
pub use function::{Bar, Function, Identity};
pub use state::{BadState, BusState, FunctionState};
