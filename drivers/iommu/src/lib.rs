//! The unit that stands between devices and memory (Intel's VT-d), without a kernel: each device
//! reaches the memory that it was given, and no other.
//!
//! A program that uses this finds the unit by [`find`], gives in its registers and pages for
//! tables, and says what a device may reach before it starts the device. From [`Iommu::start`] on
//! no device reaches anything else.

#![cfg_attr(not(test), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod acpi;
mod registers;
mod tables;
#[cfg(test)]
mod tests;

pub use acpi::{Physical, find};
pub use registers::Refused;

use nacre_virtio::{Fault, Memory, Shared};
use registers::Registers;
use tables::Tables;

/// Bytes of a page, and of the registers that are used.
pub const PAGE: u64 = 4096;

/// The unit. The head of this crate describes it.
pub struct Iommu<M> {
    registers: Registers<M>,
    tables: Tables<M>,
}

impl<M: Memory> Iommu<M> {
    /// Has the unit refuse all devices everything. `registers` is its first page; `take` gives
    /// pages of zeros.
    pub fn start(registers: M, mut take: impl FnMut() -> Option<Shared<M>>) -> Result<Iommu<M>, Fault> {
        let (registers, depth) = Registers::new(registers, PAGE)?;
        let tables = Tables::new(depth, &mut take)?;
        registers.start(tables.root())?;
        Ok(Iommu { registers, tables })
    }

    /// Lets the device in this slot of the first bus reach whole pages.
    pub fn allow(&mut self, slot: u8, start: u64, size: u64, mut take: impl FnMut() -> Option<Shared<M>>) -> Result<(), Fault> {
        self.tables.allow(slot, start, size, &mut take)?;
        self.registers.forget()
    }

    /// Takes an access that a device was refused, if there was one.
    pub fn take_refused(&self) -> Option<Refused> {
        self.registers.take_refused()
    }
}
