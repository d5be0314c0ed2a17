//! One function: its configuration space of 256 bytes (PCI Local Bus Specification 3.0, chapter 6).
//!
//! Everything is fixed when the machine is made, but for the bits that `writable` names.

use crate::state::FunctionState;

/// Bytes of a configuration space.
pub const SPACE: usize = 256;
/// Number of base addresses.
pub const BARS: usize = 6;

const COMMAND: usize = 0x04;
const STATUS: usize = 0x06;
const CACHE_LINE: usize = 0x0c;
const LATENCY: usize = 0x0d;
const BASE_ADDRESSES: usize = 0x10;
const CAPABILITIES: usize = 0x34;
const INTERRUPT_LINE: usize = 0x3c;
const INTERRUPT_PIN: usize = 0x3d;
/// First byte that capabilities may take.
const FIRST_CAPABILITY: usize = 0x40;

/// Command: accesses to ports, to memory, and by the device itself.
const ENABLE_IO: u8 = 1;
const ENABLE_MEMORY: u8 = 2;
const ENABLE_MASTER: u8 = 4;
/// Command, high byte: the pin is not asserted.
const DISABLE_PIN: u8 = 4;
/// Status, low byte: the pin would be asserted, and there are capabilities.
const PIN_ASSERTED: u8 = 8;
const HAS_CAPABILITIES: u8 = 0x10;
/// Low bits of a base address of ports, and of any other.
const IO_BAR: u32 = 1;
const IO_BITS: u32 = 3;
const MEMORY_BITS: u32 = 0xf;

/// Numbers by which drivers know a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Vendor.
    pub vendor: u16,
    /// Device of the vendor.
    pub device: u16,
    /// Subsystem's vendor.
    pub subsystem_vendor: u16,
    /// Subsystem.
    pub subsystem: u16,
    /// Class, subclass and programming interface, 24 bits.
    pub class: u32,
    /// Revision.
    pub revision: u8,
    /// True if the function interrupts by pin A.
    pub has_pin: bool,
}

/// A range of ports or addresses that a function answers. Sizes are powers of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bar {
    /// Ports; at least 4, at most 256.
    Io(u32),
    /// Addresses below 4 GiB; at least 16.
    Memory(u32),
}

impl Bar {
    /// Returns the size in bytes.
    pub fn size(&self) -> u32 {
        match self {
            Bar::Io(size) => size.next_power_of_two().clamp(4, 256),
            Bar::Memory(size) => size.next_power_of_two().clamp(16, 1 << 30),
        }
    }

    fn fixed_bits(&self) -> u32 {
        match self {
            Bar::Io(_) => IO_BITS,
            Bar::Memory(_) => MEMORY_BITS,
        }
    }
}

/// A function.
#[derive(Clone, Debug)]
pub struct Function {
    space: [u8; SPACE],
    bars: [Option<Bar>; BARS],
    capabilities_end: usize,
    last_capability: usize,
}

impl Function {
    /// Makes a function without base addresses and capabilities.
    pub fn new(identity: &Identity) -> Self {
        let mut space = [0; SPACE];
        space[..2].copy_from_slice(&identity.vendor.to_le_bytes());
        space[2..4].copy_from_slice(&identity.device.to_le_bytes());
        space[8] = identity.revision;
        space[9..12].copy_from_slice(&identity.class.to_le_bytes()[..3]);
        space[0x2c..0x2e].copy_from_slice(&identity.subsystem_vendor.to_le_bytes());
        space[0x2e..0x30].copy_from_slice(&identity.subsystem.to_le_bytes());
        space[INTERRUPT_PIN] = u8::from(identity.has_pin);
        Function { space, bars: [None; BARS], capabilities_end: FIRST_CAPABILITY, last_capability: 0 }
    }

    /// Adds a base address. The number is below 6.
    pub fn with_bar(mut self, number: usize, bar: Bar) -> Self {
        if let Some(place) = self.bars.get_mut(number) {
            *place = Some(bar);
            self.set_base(number, 0);
        }
        self
    }

    /// Adds a capability: its number, and what follows the number of the next one. A capability
    /// without room is left out.
    pub fn with_capability(mut self, id: u8, body: &[u8]) -> Self {
        let at = self.capabilities_end;
        let end = at + 2 + body.len();
        if end > SPACE {
            return self;
        }
        self.space[at] = id;
        self.space[at + 2..end].copy_from_slice(body);
        let previous = if self.last_capability == 0 { CAPABILITIES } else { self.last_capability + 1 };
        self.space[previous] = at as u8;
        self.space[STATUS] |= HAS_CAPABILITIES;
        (self.last_capability, self.capabilities_end) = (at, end.next_multiple_of(4));
        self
    }

    /// Returns the base address of a number.
    pub fn bar(&self, number: usize) -> Option<Bar> {
        self.bars.get(number).copied().flatten()
    }

    /// Reads a byte.
    pub fn read(&self, at: u8) -> u8 {
        self.space[usize::from(at)]
    }

    /// Writes a byte. Bits that do not change keep their values.
    pub fn write(&mut self, at: u8, value: u8) {
        let at = usize::from(at);
        let mask = self.writable(at);
        self.space[at] = self.space[at] & !mask | value & mask;
    }

    /// Returns the bits of a byte that a guest can change.
    fn writable(&self, at: usize) -> u8 {
        match at {
            COMMAND => ENABLE_IO | ENABLE_MEMORY | ENABLE_MASTER,
            0x05 => DISABLE_PIN,
            CACHE_LINE | LATENCY => 0xff,
            INTERRUPT_LINE if self.has_pin() => 0xff,
            BASE_ADDRESSES..0x28 => self.writable_base((at - BASE_ADDRESSES) / 4).to_le_bytes()[at % 4],
            _ => 0,
        }
    }

    fn writable_base(&self, number: usize) -> u32 {
        self.bar(number).map_or(0, |bar| !(bar.size() - 1) & !bar.fixed_bits())
    }

    fn base_register(&self, number: usize) -> u32 {
        let at = BASE_ADDRESSES + 4 * number;
        u32::from_le_bytes(array(&self.space[at..at + 4]))
    }

    /// Sets a base address, as firmware does.
    pub(crate) fn set_base(&mut self, number: usize, base: u32) {
        let Some(bar) = self.bar(number) else { return };
        let kind = if matches!(bar, Bar::Io(_)) { IO_BAR } else { 0 };
        let value = base & self.writable_base(number) | kind;
        let at = BASE_ADDRESSES + 4 * number;
        self.space[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }

    /// Lets the function answer accesses and make its own, and says which interrupt line its pin
    /// has, as firmware does.
    pub(crate) fn enable(&mut self, line: u8) {
        self.space[COMMAND] |= ENABLE_IO | ENABLE_MEMORY | ENABLE_MASTER;
        if self.has_pin() {
            self.space[INTERRUPT_LINE] = line;
        }
    }

    fn answers(&self, bar: Bar) -> bool {
        let bit = if matches!(bar, Bar::Io(_)) { ENABLE_IO } else { ENABLE_MEMORY };
        self.space[COMMAND] & bit != 0
    }

    /// Returns the range that a base address answers now. Nothing answers at address 0.
    fn range(&self, number: usize) -> Option<(Bar, u32)> {
        let bar = self.bar(number).filter(|bar| self.answers(*bar))?;
        let base = self.base_register(number) & self.writable_base(number);
        (base != 0).then_some((bar, base))
    }

    /// Returns the base address that a port or address belongs to, and the offset there.
    pub(crate) fn find(&self, at: u32, is_io: bool) -> Option<(usize, u32)> {
        (0..BARS).find_map(|number| {
            let (bar, base) = self.range(number)?;
            let offset = at.checked_sub(base)?;
            (matches!(bar, Bar::Io(_)) == is_io && offset < bar.size()).then_some((number, offset))
        })
    }

    /// Returns true if the function has an interrupt pin.
    pub fn has_pin(&self) -> bool {
        self.space[INTERRUPT_PIN] != 0
    }

    /// Returns true if the device may read and write memory.
    pub fn is_master(&self) -> bool {
        self.space[COMMAND] & ENABLE_MASTER != 0
    }

    /// Sets whether the device wants the pin asserted.
    pub(crate) fn set_pin(&mut self, level: bool) {
        if level && self.has_pin() {
            self.space[STATUS] |= PIN_ASSERTED;
        } else {
            self.space[STATUS] &= !PIN_ASSERTED;
        }
    }

    /// Returns true if the pin is asserted.
    pub(crate) fn is_asserted(&self) -> bool {
        self.space[STATUS] & PIN_ASSERTED != 0 && self.space[COMMAND + 1] & DISABLE_PIN == 0
    }

    /// Returns everything that can change.
    pub(crate) fn state(&self, slot: u8) -> FunctionState {
        FunctionState {
            slot,
            command: u16::from_le_bytes(array(&self.space[COMMAND..COMMAND + 2])),
            cache_line: self.space[CACHE_LINE],
            latency: self.space[LATENCY],
            bases: core::array::from_fn(|number| self.base_register(number)),
            line: self.space[INTERRUPT_LINE],
            is_pin_set: self.space[STATUS] & PIN_ASSERTED != 0,
        }
    }

    /// Takes over a saved state. Returns false if no guest could have made it.
    pub(crate) fn set_state(&mut self, state: &FunctionState) -> bool {
        let mut other = self.clone();
        let writes = [(COMMAND, &state.command.to_le_bytes()[..]), (CACHE_LINE, &[state.cache_line])];
        let more = [(LATENCY, &[state.latency][..]), (INTERRUPT_LINE, &[state.line])];
        for (at, bytes) in writes.into_iter().chain(more) {
            bytes.iter().zip(at..).for_each(|(byte, at)| other.write(at as u8, *byte));
        }
        (0..BARS).for_each(|number| other.set_base(number, state.bases[number]));
        other.set_pin(state.is_pin_set);
        let is_same = other.state(state.slot) == *state;
        if is_same {
            *self = other;
        }
        is_same
    }
}

/// Returns the first bytes of a slice that is known to be long enough.
fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    core::array::from_fn(|index| bytes.get(index).copied().unwrap_or(0))
}
