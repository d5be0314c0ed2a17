//! The PCI bus with its virtio devices, as a machine's owner sees it: ports and interrupt lines.

use crate::BadState;
use crate::device::Device;
use crate::function::{Virtio, VirtioState};
use alloc::boxed::Box;
use alloc::vec::Vec;
use nacre_machine_memory::GuestMemory;
use nacre_machine_pci::{Bus, BusState, is_configuration_port};

/// Version of [`CardsState`].
const VERSION: u32 = 1;

/// State of the bus and its devices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardsState {
    /// Version of this struct.
    pub version: u32,
    /// Bus.
    pub bus: BusState,
    /// Devices, by slot.
    pub devices: Vec<VirtioState>,
}

/// A device in its slot.
struct Card {
    slot: u8,
    device: Virtio,
}

/// Bus and devices.
pub struct Cards {
    bus: Bus,
    cards: Vec<Card>,
}

impl Cards {
    /// Puts devices into the slots of a bus, from slot 1 on. Devices beyond slot 31 are left out.
    pub fn new(devices: impl IntoIterator<Item = Box<dyn Device>>) -> Self {
        let mut bus = Bus::new();
        let mut cards = Vec::new();
        for device in devices.into_iter().map(Virtio::new) {
            let Some(slot) = bus.add(device.function()) else { break };
            cards.push(Card { slot, device });
        }
        bus.settle();
        Cards { bus, cards }
    }

    /// Returns the number of devices.
    pub fn count(&self) -> usize {
        self.cards.len()
    }

    /// Returns true if the bus or a device answers an access to this port now. Devices that do not
    /// move come before it: a guest may put a base address anywhere.
    pub fn has_port(&self, port: u16, width: u8) -> bool {
        is_configuration_port(port, width) || self.bus.port_target(port).is_some()
    }

    /// Reads a port; the width is 1, 2 or 4 bytes.
    pub fn read(&mut self, port: u16, width: u8) -> u32 {
        if is_configuration_port(port, width) {
            return self.bus.read(port, width);
        }
        let Some((index, offset)) = self.card(port) else { return u32::MAX };
        let value = self.cards[index].device.read(offset, width);
        self.follow_pin(index);
        value
    }

    /// Writes a port; the width is 1, 2 or 4 bytes. A turn of requests is served before it returns;
    /// if there are more, `has_rest` says so.
    pub fn write(&mut self, port: u16, width: u8, value: u32, memory: &mut dyn GuestMemory) {
        if is_configuration_port(port, width) {
            return self.bus.write(port, width, value);
        }
        let Some((index, offset)) = self.card(port) else { return };
        self.cards[index].device.write(offset, width, value, memory);
        self.follow_pin(index);
    }

    /// Serves a queue of the device with this number in the order of `new`, for whose other end
    /// something has come.
    pub fn serve(&mut self, index: usize, queue: usize, memory: &mut dyn GuestMemory) {
        if let Some(card) = self.cards.get_mut(index) {
            card.device.serve(queue, memory);
            self.follow_pin(index);
        }
    }

    /// Returns true if requests were left for the next turn.
    pub fn has_rest(&self) -> bool {
        self.cards.iter().any(|card| card.device.has_rest())
    }

    /// Gives a turn to each device with requests that were left.
    pub fn serve_rest(&mut self, memory: &mut dyn GuestMemory) {
        for index in 0..self.cards.len() {
            if self.cards[index].device.has_rest() {
                self.cards[index].device.serve_rest(memory);
                self.follow_pin(index);
            }
        }
    }

    /// Returns the level of an interrupt line.
    pub fn line(&self, line: u8) -> bool {
        self.bus.line(line)
    }

    /// Returns the whole state.
    pub fn state(&self) -> CardsState {
        let devices = self.cards.iter().map(|card| card.device.state()).collect();
        CardsState { version: VERSION, bus: self.bus.state(), devices }
    }

    /// Takes over the state of a bus with the same devices. After an error this one is not to be
    /// used.
    pub fn set_state(&mut self, state: &CardsState) -> Result<(), BadState> {
        if state.version != VERSION || state.devices.len() != self.cards.len() {
            return Err(BadState("number of virtio devices"));
        }
        self.bus.set_state(&state.bus).map_err(|bad| BadState(bad.0))?;
        let mut pairs = self.cards.iter_mut().zip(&state.devices);
        pairs.try_for_each(|(card, saved)| card.device.set_state(saved))
    }

    fn card(&self, port: u16) -> Option<(usize, u32)> {
        let target = self.bus.port_target(port)?;
        let index = self.cards.iter().position(|card| card.slot == target.slot)?;
        Some((index, target.offset))
    }

    fn follow_pin(&mut self, index: usize) {
        let card = &self.cards[index];
        self.bus.set_pin(card.slot, card.device.interrupt());
    }
}
