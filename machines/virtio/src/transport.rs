//! Registers of a virtio function on PCI, in one range of ports.
//!
//! | offset | registers |
//! | --- | --- |
//! | 0x00 | common configuration |
//! | 0x38 | notification: the number of a queue |
//! | 0x3c | interrupt status, which a read clears |
//! | 0x40 | configuration of the device |

use crate::BadState;
use crate::queue::{Queue, QueueState};
use alloc::vec::Vec;

/// Version of [`TransportState`].
const VERSION: u32 = 1;
/// Size of the range.
pub const REGISTERS: u32 = 0x80;
/// Offsets and sizes of the parts.
pub(crate) const COMMON_SIZE: u32 = 0x38;
pub(crate) const NOTIFY: u32 = 0x38;
pub(crate) const INTERRUPT: u32 = 0x3c;
pub(crate) const DEVICE: u32 = 0x40;

/// Features of the transport: requests in tables elsewhere, and version 1 of the standard.
const INDIRECT: u64 = 1 << 28;
const VERSION_1: u64 = 1 << 32;
/// Device status.
const DRIVER_OK: u8 = 4;
const FEATURES_OK: u8 = 8;
const NEEDS_RESET: u8 = 0x40;
/// Interrupt status: completions, and a change of the configuration.
const COMPLETIONS: u8 = 1;
const CONFIGURATION: u8 = 2;
/// Number of a vector that is none.
const NO_VECTOR: u16 = 0xffff;

/// State of the registers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TransportState {
    /// Version of this struct.
    pub version: u32,
    /// Half of the offered features that reads show.
    pub offered_half: u32,
    /// Half of the accepted features that reads and writes reach.
    pub accepted_half: u32,
    /// Features that the guest accepts.
    pub accepted: u64,
    /// Device status.
    pub status: u8,
    /// Number of the queue whose registers are shown.
    pub selected: u16,
    /// Interrupt status.
    pub interrupt: u8,
    /// Queues.
    pub queues: Vec<QueueState>,
}

/// Work that a write asks for beyond the registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// Absence of any.
    None,
    /// Requests wait in a queue.
    Notified(usize),
}

/// Registers and queues of a device.
#[derive(Clone, Debug)]
pub struct Transport {
    offered: u64,
    state: TransportState,
    queues: Vec<Queue>,
}

impl Transport {
    /// Makes the registers of a device with these features and sizes of queues.
    pub fn new(features: u64, queue_sizes: &[u16]) -> Self {
        let queues = queue_sizes.iter().map(|size| Queue::new(*size)).collect();
        let state = TransportState {
            version: VERSION,
            offered_half: 0,
            accepted_half: 0,
            accepted: 0,
            status: 0,
            selected: 0,
            interrupt: 0,
            queues: Vec::new(),
        };
        Transport { offered: features | INDIRECT | VERSION_1, state, queues }
    }

    /// Returns the whole state.
    pub fn state(&self) -> TransportState {
        let queues = self.queues.iter().map(|queue| queue.state).collect();
        TransportState { queues, ..self.state.clone() }
    }

    /// Takes over the state of a device of this kind.
    pub fn set_state(&mut self, state: &TransportState) -> Result<(), BadState> {
        if state.version != VERSION {
            return Err(BadState("version of a virtio device"));
        }
        if state.queues.len() != self.queues.len() || state.accepted & !self.offered != 0 {
            return Err(BadState("features or queues of a virtio device"));
        }
        let mut queues = self.queues.clone();
        for (queue, saved) in queues.iter_mut().zip(&state.queues) {
            queue.set_state(saved)?;
        }
        (self.queues, self.state) = (queues, TransportState { queues: Vec::new(), ..state.clone() });
        Ok(())
    }

    /// Puts everything back as it was at the start.
    fn reset(&mut self) {
        self.queues.iter_mut().for_each(|queue| *queue = queue.afresh());
        self.state = TransportState {
            offered_half: 0,
            accepted_half: 0,
            accepted: 0,
            status: 0,
            selected: 0,
            interrupt: 0,
            queues: Vec::new(),
            ..self.state
        };
    }

    /// Returns the level of the interrupt pin.
    pub fn interrupt(&self) -> bool {
        self.state.interrupt != 0
    }

    /// Returns true if the guest has broken the rules and has not reset the device since.
    pub fn is_broken(&self) -> bool {
        self.state.status & NEEDS_RESET != 0
    }

    /// Returns true if the device serves requests.
    pub fn is_running(&self) -> bool {
        self.state.status & DRIVER_OK != 0 && !self.is_broken()
    }

    /// Returns a queue.
    pub(crate) fn queue(&mut self, number: usize) -> Option<&mut Queue> {
        self.queues.get_mut(number)
    }

    /// Tells the guest of completions.
    pub(crate) fn completed(&mut self) {
        self.state.interrupt |= COMPLETIONS;
    }

    /// Stops the device until the guest resets it, and tells the guest.
    pub(crate) fn broke(&mut self) {
        self.state.status |= NEEDS_RESET;
        self.state.interrupt |= CONFIGURATION;
    }

    /// Reads the interrupt status, which clears it.
    pub(crate) fn take_interrupt(&mut self) -> u8 {
        core::mem::take(&mut self.state.interrupt)
    }

    fn selected(&self) -> Option<&Queue> {
        self.queues.get(usize::from(self.state.selected))
    }

    /// Returns the common configuration as it reads.
    pub(crate) fn common(&self) -> [u8; COMMON_SIZE as usize] {
        let queue = self.selected().map(|queue| queue.state).unwrap_or_default();
        let state = &self.state;
        let mut bytes = [0; COMMON_SIZE as usize];
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(0, &state.offered_half.to_le_bytes());
        put(4, &half(self.offered, state.offered_half).to_le_bytes());
        put(8, &state.accepted_half.to_le_bytes());
        put(12, &half(state.accepted, state.accepted_half).to_le_bytes());
        put(16, &NO_VECTOR.to_le_bytes());
        put(18, &(self.queues.len() as u16).to_le_bytes());
        put(20, &[state.status, 0]);
        put(22, &state.selected.to_le_bytes());
        put(24, &queue.size.to_le_bytes());
        put(26, &NO_VECTOR.to_le_bytes());
        put(28, &u16::from(queue.is_enabled).to_le_bytes());
        put(32, &queue.descriptors.to_le_bytes());
        put(40, &queue.requests.to_le_bytes());
        put(48, &queue.completions.to_le_bytes());
        bytes
    }

    /// Writes a register. Accesses of any other place or width change nothing.
    pub(crate) fn write(&mut self, offset: u32, width: u8, value: u32) -> Effect {
        match (offset, width) {
            (0, 4) => self.state.offered_half = value,
            (8, 4) => self.state.accepted_half = value,
            (12, 4) => self.accept(value),
            (20, 1) => self.set_status(value as u8),
            (22, 2) => self.state.selected = value as u16,
            (NOTIFY, 2 | 4) => return Effect::Notified(value as usize & 0xffff),
            (24..COMMON_SIZE, 2 | 4) => self.write_queue(offset, width, value),
            _ => {}
        }
        Effect::None
    }

    /// Sets half of the accepted features, until they are settled.
    fn accept(&mut self, value: u32) {
        if self.state.status & FEATURES_OK != 0 || self.state.accepted_half > 1 {
            return;
        }
        let shift = 32 * self.state.accepted_half;
        let kept = self.state.accepted & !(u64::from(u32::MAX) << shift);
        self.state.accepted = kept | u64::from(value) << shift & self.offered;
    }

    /// Sets the status. Zero resets the device. Features that are not enough are not taken: the
    /// guest reads that the bit is not set.
    fn set_status(&mut self, value: u8) {
        if value == 0 {
            return self.reset();
        }
        let kept = self.state.status & NEEDS_RESET;
        let refused = if self.state.accepted & VERSION_1 == 0 { FEATURES_OK } else { 0 };
        self.state.status = kept | value & !NEEDS_RESET & !refused;
    }

    /// Writes a register of the selected queue. A queue that is ready stays as it is.
    fn write_queue(&mut self, offset: u32, width: u8, value: u32) {
        let Some(queue) = self.queues.get_mut(usize::from(self.state.selected)) else { return };
        if queue.state.is_enabled {
            return;
        }
        let state = &mut queue.state;
        match (offset, width) {
            (24, 2) => state.size = value as u16,
            (28, 2) if value == 1 => queue.enable(),
            (32 | 36, 4) => put_half(&mut state.descriptors, offset, value),
            (40 | 44, 4) => put_half(&mut state.requests, offset, value),
            (48 | 52, 4) => put_half(&mut state.completions, offset, value),
            _ => {}
        }
    }
}

/// Returns a half of 64 bits; there are two.
fn half(value: u64, number: u32) -> u32 {
    if number > 1 { 0 } else { (value >> (32 * number)) as u32 }
}

/// Replaces the half of an address that lies at an offset.
fn put_half(address: &mut u64, offset: u32, value: u32) {
    let shift = 8 * (offset & 4);
    *address = *address & !(u64::from(u32::MAX) << shift) | u64::from(value) << shift;
}
