//! What the programs that drive a device for root have in common: the device and memory that root
//! gives, and requests that are carried out one after the other. The README says more.

#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;

mod carrier;
mod hands;
mod interrupts;
mod patience;

pub use carrier::{Carrier, IDLE, say, serve};
pub use hands::{DeviceMemory, Hands, registers};
pub use interrupts::interrupts;
pub use patience::patience;
