//! Functions of PCI: finding one on the first bus, its capabilities, and where its registers are.
//!
//! Firmware that starts a kernel at once places no registers, so [`Function::place`] does.

use alloc::vec::Vec;

/// Configuration space of the functions of the first bus.
pub trait Configuration {
    /// Reads the four bytes at `offset`, a multiple of 4, of the first function in `slot`.
    fn read(&mut self, slot: u8, offset: u8) -> u32;
    /// Writes four bytes.
    fn write(&mut self, slot: u8, offset: u8, value: u32);
}

/// Slots whose interrupt lines all chipsets share out alike. The first is the bridge to the host.
const SLOTS: core::ops::Range<u8> = 1..25;
/// Largest number of capabilities: each has at least four bytes, behind the first 64.
const MAX_CAPABILITIES: usize = 48;
/// Capability of a vendor.
const VENDOR_CAPABILITY: u32 = 9;

/// Places in the configuration space.
mod register {
    pub const IDENTITY: u8 = 0;
    pub const COMMAND: u8 = 4;
    pub const FIRST_BAR: u8 = 0x10;
    pub const CAPABILITIES: u8 = 0x34;
    pub const INTERRUPT: u8 = 0x3c;
}

/// Bits of the command and status register.
const MEMORY_ON: u32 = 1 << 1;
const MASTER_ON: u32 = 1 << 2;
const INTERRUPT_OFF: u32 = 1 << 10;
const STATUS: u32 = 0xffff << 16;
const HAS_CAPABILITIES: u32 = 1 << 20;

/// A function of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function {
    /// Slot on the first bus.
    pub slot: u8,
}

/// Range of addresses at which a function has registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bar {
    /// First address; 0: firmware has not placed it.
    pub start: u64,
    /// Size in bytes, a power of two.
    pub size: u64,
}

/// Returns the first function with these numbers.
pub fn find(space: &mut impl Configuration, vendor: u16, device: u16) -> Option<Function> {
    find_next(space, vendor, device, 0)
}

/// Returns a function with these numbers that has so many before it.
pub fn find_next(space: &mut impl Configuration, vendor: u16, device: u16, before: usize) -> Option<Function> {
    let identity = u32::from(vendor) | u32::from(device) << 16;
    let slot = SLOTS.into_iter().filter(|slot| space.read(*slot, register::IDENTITY) == identity).nth(before)?;
    Some(Function { slot })
}

impl Function {
    /// Returns the interrupt line, if the function has one: the pins of all slots go round four
    /// lines.
    pub fn line(self, space: &mut impl Configuration) -> Option<u64> {
        let pin = (space.read(self.slot, register::INTERRUPT) >> 8 & 0xff) as u8;
        (1..=4).contains(&pin).then(|| 20 + u64::from(self.slot + pin - 1) % 4)
    }

    /// Returns the offsets of the capabilities that the vendor gave the function.
    pub fn capabilities(self, space: &mut impl Configuration) -> Vec<u8> {
        let mut found = Vec::new();
        let has_any = space.read(self.slot, register::COMMAND) & HAS_CAPABILITIES != 0;
        let mut at = if has_any { space.read(self.slot, register::CAPABILITIES) as u8 & !3 } else { 0 };
        for _ in 0..MAX_CAPABILITIES {
            // The head of the space holds none.
            if at < 0x40 {
                break;
            }
            let head = space.read(self.slot, at);
            if head & 0xff == VENDOR_CAPABILITY {
                found.push(at);
            }
            at = (head >> 8) as u8 & !3;
        }
        found
    }

    /// Reads a word of a capability. Words beyond the space read as ones.
    pub fn word(self, space: &mut impl Configuration, capability: u8, offset: u8) -> u32 {
        capability.checked_add(offset).map_or(u32::MAX, |at| space.read(self.slot, at))
    }

    /// Returns the range of the registers with this number; `None` if there is none in memory.
    /// Registers must be off.
    pub fn bar(self, space: &mut impl Configuration, number: u8) -> Option<Bar> {
        let at = register::FIRST_BAR + 4 * number;
        let low = space.read(self.slot, at);
        let is_wide = low & 6 == 4;
        if number > 5 || low & 1 != 0 || is_wide && number == 5 {
            return None;
        }
        let high = if is_wide { space.read(self.slot, at + 4) } else { 0 };
        space.write(self.slot, at, u32::MAX);
        let low_mask = space.read(self.slot, at) & !0xf;
        space.write(self.slot, at, low);
        let mut mask = u64::from(low_mask) | 0xffff_ffff << 32;
        if is_wide {
            space.write(self.slot, at + 4, u32::MAX);
            mask = u64::from(low_mask) | u64::from(space.read(self.slot, at + 4)) << 32;
            space.write(self.slot, at + 4, high);
        }
        let size = (!mask).checked_add(1).filter(|size| size.is_power_of_two())?;
        Some(Bar { start: u64::from(low & !0xf) | u64::from(high) << 32, size })
    }

    /// Puts the registers with this number at `start`, below 4 GiB.
    pub fn place(self, space: &mut impl Configuration, number: u8, start: u32) {
        let at = register::FIRST_BAR + 4 * number;
        let is_wide = space.read(self.slot, at) & 6 == 4;
        space.write(self.slot, at, start);
        if is_wide {
            space.write(self.slot, at + 4, 0);
        }
    }

    /// Lets the function answer at its registers, interrupt, and reach memory by itself, or nothing
    /// of that.
    pub fn turn(self, space: &mut impl Configuration, on: bool) {
        let command = space.read(self.slot, register::COMMAND) & !(STATUS | INTERRUPT_OFF | MEMORY_ON | MASTER_ON);
        let bits = if on { MEMORY_ON | MASTER_ON } else { INTERRUPT_OFF };
        space.write(self.slot, register::COMMAND, command | bits);
    }
}
