//! A virtio device as a function of the PCI bus.

use crate::BadState;
use crate::device::Device;
use crate::transport::{
    COMMON_SIZE, DEVICE, Effect, INTERRUPT, NOTIFY, REGISTERS, Transport, TransportState,
};
use alloc::boxed::Box;
use nacre_machine_memory::GuestMemory;
use nacre_machine_pci::{Bar, Function, Identity};

/// Vendor of virtio devices, and the number from which theirs count.
const VENDOR: u16 = 0x1af4;
const FIRST_DEVICE: u16 = 0x1040;
/// Revision of devices without legacy interfaces.
const REVISION: u8 = 1;
/// Capability of a vendor, and the kinds of virtio's.
const VENDOR_CAPABILITY: u8 = 9;
const COMMON_KIND: u8 = 1;
const NOTIFY_KIND: u8 = 2;
const INTERRUPT_KIND: u8 = 3;
const DEVICE_KIND: u8 = 4;
/// Base address that the registers lie behind.
const BAR: u8 = 0;
/// Size of the device's own registers.
const DEVICE_SIZE: usize = (REGISTERS - DEVICE) as usize;

/// State of a device. A device has none but its registers: requests are served at once.
pub type VirtioState = TransportState;

/// A device with its registers.
pub struct Virtio {
    transport: Transport,
    device: Box<dyn Device>,
    /// Bits of queues with requests that were left for the next turn.
    rest: u32,
}

/// Returns the body of a capability: a part of the registers.
fn part(kind: u8, offset: u32, length: u32) -> [u8; 14] {
    let mut body = [0; 14];
    (body[0], body[1], body[2]) = (16, kind, BAR);
    body[6..10].copy_from_slice(&offset.to_le_bytes());
    body[10..].copy_from_slice(&length.to_le_bytes());
    body
}

impl Virtio {
    /// Makes a device as it is after reset.
    pub fn new(device: Box<dyn Device>) -> Self {
        let transport = Transport::new(device.features(), device.queue_sizes());
        Virtio { transport, device, rest: 0 }
    }

    /// Returns the function for the bus.
    pub fn function(&self) -> Function {
        let number = self.device.number();
        let identity = Identity {
            vendor: VENDOR,
            device: FIRST_DEVICE + number,
            subsystem_vendor: VENDOR,
            subsystem: FIRST_DEVICE + number,
            class: self.device.class(),
            revision: REVISION,
            has_pin: true,
        };
        // All queues are notified at one place: the multiplier behind the capability is 0.
        let mut notify = [0; 18];
        notify[..14].copy_from_slice(&part(NOTIFY_KIND, NOTIFY, 4));
        notify[0] = 20;
        Function::new(&identity)
            .with_bar(usize::from(BAR), Bar::Io(REGISTERS))
            .with_capability(VENDOR_CAPABILITY, &part(COMMON_KIND, 0, COMMON_SIZE))
            .with_capability(VENDOR_CAPABILITY, &notify)
            .with_capability(VENDOR_CAPABILITY, &part(INTERRUPT_KIND, INTERRUPT, 1))
            .with_capability(VENDOR_CAPABILITY, &part(DEVICE_KIND, DEVICE, DEVICE_SIZE as u32))
    }

    /// Returns the whole state.
    pub fn state(&self) -> VirtioState {
        self.transport.state()
    }

    /// Takes over the state of a device of this kind. All of its queues have a turn, since requests
    /// may have been left.
    pub fn set_state(&mut self, state: &VirtioState) -> Result<(), BadState> {
        self.transport.set_state(state)?;
        self.rest = (1 << state.queues.len().min(31)) - 1;
        Ok(())
    }

    /// Returns true if requests were left for the next turn.
    pub fn has_rest(&self) -> bool {
        self.rest != 0
    }

    /// Gives a turn to each queue with requests that were left.
    pub fn serve_rest(&mut self, memory: &mut dyn GuestMemory) {
        let rest = core::mem::take(&mut self.rest);
        (0..32).filter(|queue| rest >> queue & 1 != 0).for_each(|queue| self.serve(queue, memory));
    }

    /// Returns the level of the interrupt pin.
    pub fn interrupt(&self) -> bool {
        self.transport.interrupt()
    }

    /// Returns true if the guest has broken the rules and has not reset the device since.
    pub fn is_broken(&self) -> bool {
        self.transport.is_broken()
    }

    /// Reads registers; the width is 1, 2 or 4 bytes.
    pub fn read(&mut self, offset: u32, width: u8) -> u32 {
        let mut bytes = [0; REGISTERS as usize];
        match offset {
            INTERRUPT => bytes[INTERRUPT as usize] = self.transport.take_interrupt(),
            DEVICE.. => self.device.registers(&mut bytes[DEVICE as usize..]),
            _ => bytes[..COMMON_SIZE as usize].copy_from_slice(&self.transport.common()),
        }
        let bytes = bytes.iter().skip(offset as usize).take(usize::from(width.min(4)));
        bytes.zip(0..).fold(0, |value, (byte, place)| value | u32::from(*byte) << (8 * place))
    }

    /// Writes a register; the width is 1, 2 or 4 bytes. A turn of requests is served before it
    /// returns.
    pub fn write(
        &mut self, offset: u32, width: u8, value: u32, memory: &mut dyn GuestMemory,
    ) {
        if let Effect::Notified(queue) = self.transport.write(offset, width, value) {
            self.serve(queue, memory);
        }
    }

    /// Serves a turn of the requests that wait in a queue, if the device runs.
    pub fn serve(&mut self, number: usize, memory: &mut dyn GuestMemory) {
        if !self.transport.is_running() {
            return;
        }
        let Some(queue) = self.transport.queue(number) else { return };
        let served = self.device.serve(number, queue, memory);
        let bit = 1u32.checked_shl(number as u32).unwrap_or(0);
        let rest = if served.is_ok_and(|served| served.rest) { bit } else { 0 };
        self.rest = self.rest & !bit | rest;
        let told = served.and_then(|served| Ok(served.any && queue.wants_interrupt(memory)?));
        match told {
            Ok(true) => self.transport.completed(),
            Ok(false) => {}
            Err(_) => self.transport.broke(),
        }
    }
}

#[cfg(test)]
#[path = "function_tests.rs"]
mod tests;
