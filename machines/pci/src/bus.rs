//! Bus 0: its slots, the ports of configuration mechanism 1, and the wires of the interrupt pins.

use crate::function::{BARS, Bar, Function, Identity};
use crate::state::{BadState, BusState};

/// Version of [`BusState`].
const VERSION: u32 = 1;
/// Number of slots.
pub const SLOTS: usize = 32;
/// Interrupt lines of pins, for even and odd slots.
pub const LINES: [u8; 2] = [10, 11];

const ADDRESS_PORT: u16 = 0xcf8;
const DATA_PORT: u16 = 0xcfc;
/// Bit of the address register: the data port reaches a configuration space.
const ENABLE: u32 = 1 << 31;
/// First port and first address that firmware gives out.
const FIRST_PORT: u32 = 0xc000;
const FIRST_ADDRESS: u32 = 0xe000_0000;
/// Bridge between processor and bus, by which operating systems see that there is a bus.
const HOST_BRIDGE: Identity = Identity {
    vendor: 0x1b36,
    device: 0x0008,
    subsystem_vendor: 0x1af4,
    subsystem: 0x1100,
    class: 0x06_0000,
    revision: 0,
    has_pin: false,
};

/// Returns true if the bus answers an access to this port. Port 0xcf9 alone resets a PC.
pub fn is_configuration_port(port: u16, width: u8) -> bool {
    (ADDRESS_PORT..DATA_PORT + 4).contains(&port) && (port, width) != (0xcf9, 1)
}

/// Returns the interrupt line of a slot's pin.
pub fn line_of(slot: u8) -> u8 {
    LINES[usize::from(slot & 1)]
}

/// Function that has a port or an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// Slot of the function.
    pub slot: u8,
    /// Number of the base address.
    pub bar: usize,
    /// Offset in its range.
    pub offset: u32,
}

/// The bus.
#[derive(Clone, Debug)]
pub struct Bus {
    address: u32,
    functions: [Option<Function>; SLOTS],
}

impl Bus {
    /// Makes a bus that has a host bridge in slot 0 and nothing else.
    pub fn new() -> Self {
        let mut functions = [const { None }; SLOTS];
        functions[0] = Some(Function::new(&HOST_BRIDGE));
        Bus { address: 0, functions }
    }

    /// Puts a function into the first free slot. Returns the slot; `None`: all are taken.
    pub fn add(&mut self, function: Function) -> Option<u8> {
        let slot = self.functions.iter().position(Option::is_none)?;
        self.functions[slot] = Some(function);
        Some(slot as u8)
    }

    /// Gives out base addresses and lets all functions answer, as firmware does.
    pub fn settle(&mut self) {
        let (mut port, mut address) = (FIRST_PORT, FIRST_ADDRESS);
        for (slot, function) in (0u8..).zip(&mut self.functions) {
            let Some(function) = function else { continue };
            for number in 0..BARS {
                let Some(bar) = function.bar(number) else { continue };
                let next = if matches!(bar, Bar::Io(_)) { &mut port } else { &mut address };
                let base = next.next_multiple_of(bar.size());
                *next = base.saturating_add(bar.size());
                function.set_base(number, base);
            }
            function.enable(line_of(slot));
        }
    }

    /// Returns the function in a slot.
    pub fn function(&self, slot: u8) -> Option<&Function> {
        self.functions.get(usize::from(slot))?.as_ref()
    }

    /// Reads a port for which `is_configuration_port` holds; the width is 1, 2 or 4 bytes.
    pub fn read(&self, port: u16, width: u8) -> u32 {
        if port == ADDRESS_PORT && width == 4 {
            return self.address;
        }
        let bytes = (0..4).map(|index| if index < width { self.read_byte(port, index) } else { 0 });
        bytes.zip(0..).fold(0, |value, (byte, index)| value | u32::from(byte) << (8 * index))
    }

    /// Writes a port for which `is_configuration_port` holds; the width is 1, 2 or 4 bytes.
    pub fn write(&mut self, port: u16, width: u8, value: u32) {
        if port == ADDRESS_PORT && width == 4 {
            self.address = value & (ENABLE | 0x00ff_fffc);
            return;
        }
        for (byte, index) in value.to_le_bytes().into_iter().take(usize::from(width)).zip(0..) {
            if let Some((slot, at)) = self.register(port, index)
                && let Some(function) = &mut self.functions[slot]
            {
                function.write(at, byte);
            }
        }
    }

    fn read_byte(&self, port: u16, index: u8) -> u8 {
        let found = self.register(port, index);
        found.and_then(|(slot, at)| Some(self.functions[slot].as_ref()?.read(at))).unwrap_or(0xff)
    }

    /// Returns slot and register of a byte of an access to the data port. Only function 0 of bus 0
    /// is there, and no access goes beyond its four bytes.
    fn register(&self, port: u16, index: u8) -> Option<(usize, u8)> {
        let byte = port.checked_sub(DATA_PORT)?.checked_add(index.into()).filter(|byte| *byte < 4)?;
        let is_here = self.address & ENABLE != 0 && self.address & 0x00ff_0700 == 0;
        let slot = (self.address >> 11 & 0x1f) as usize;
        is_here.then_some((slot, self.address as u8 & 0xfc | byte as u8))
    }

    /// Returns the function that has a port.
    pub fn port_target(&self, port: u16) -> Option<Target> {
        self.target(port.into(), true)
    }

    /// Returns the function that has an address.
    pub fn memory_target(&self, address: u64) -> Option<Target> {
        self.target(u32::try_from(address).ok()?, false)
    }

    fn target(&self, at: u32, is_io: bool) -> Option<Target> {
        (0u8..).zip(&self.functions).find_map(|(slot, function)| {
            let (bar, offset) = function.as_ref()?.find(at, is_io)?;
            Some(Target { slot, bar, offset })
        })
    }

    /// Sets whether the device in a slot wants its pin asserted.
    pub fn set_pin(&mut self, slot: u8, level: bool) {
        if let Some(Some(function)) = self.functions.get_mut(usize::from(slot)) {
            function.set_pin(level);
        }
    }

    /// Returns the level of an interrupt line: asserted while any pin of its slots is.
    pub fn line(&self, line: u8) -> bool {
        let mut slots = (0u8..).zip(&self.functions).filter(|(slot, _)| line_of(*slot) == line);
        slots.any(|(_, function)| function.as_ref().is_some_and(Function::is_asserted))
    }

    /// Returns everything that can change.
    pub fn state(&self) -> BusState {
        let functions = (0u8..).zip(&self.functions);
        let states = functions.filter_map(|(slot, function)| Some(function.as_ref()?.state(slot)));
        BusState { version: VERSION, address: self.address, functions: states.collect() }
    }

    /// Takes over the state of a bus with the same functions. An error leaves this one as it was.
    pub fn set_state(&mut self, state: &BusState) -> Result<(), BadState> {
        if state.version != VERSION {
            return Err(BadState("version of the PCI bus"));
        }
        let mut other = self.clone();
        other.address = state.address & (ENABLE | 0x00ff_fffc);
        for saved in &state.functions {
            let function = other.functions.get_mut(usize::from(saved.slot)).and_then(Option::as_mut);
            if !function.is_some_and(|function| function.set_state(saved)) {
                return Err(BadState("a function of the PCI bus"));
            }
        }
        if other.state() != *state {
            return Err(BadState("functions of the PCI bus"));
        }
        *self = other;
        Ok(())
    }
}

impl Default for Bus {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
#[path = "bus_tests.rs"]
mod tests;
