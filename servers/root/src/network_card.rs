//! The machine's network card, whose frames root passes on to whoever has a reference.

use crate::boot::BootFacts;
use crate::bus;
use crate::device_memory::DeviceMemory;
use alloc::vec::Vec;
use nacre_abi::environment::INTERRUPTS;
use nacre_abi::message::MAX_BYTES;
use nacre_proto::Errno;
use nacre_proto::nic::frames;
use nacre_sys::{OwnedReference, Port, Reference, io, ipc};
use nacre_virtio::{Fault, MAX_FRAME, Network};

const LINES: Reference = Reference(INTERRUPTS);
/// Bit of the card's interrupt in a notification, beside those of other devices.
pub const BIT: u64 = 1 << 17;

/// The card. The head of this module describes it.
#[derive(Default)]
pub struct NetworkCard {
    device: Option<Network<DeviceMemory>>,
    /// The line, if it is the card's alone.
    own_line: Option<u64>,
    fault: Option<Fault>,
    /// Port that is told that frames have come, and with which bits.
    watcher: Option<(OwnedReference, u64)>,
    /// The last answer.
    answer: Vec<u8>,
}

impl NetworkCard {
    /// Starts the card, if the machine was told of one. Its interrupts go to `port`; those of a
    /// line that is `bound` already do.
    pub fn start(facts: &BootFacts, port: Port, bound: Option<u64>) -> NetworkCard {
        let mut card = NetworkCard::default();
        if !facts.has_card {
            return card;
        }
        match bus::network(&facts.own_ranges()) {
            Ok((device, line)) => {
                card.device = Some(device);
                card.own_line = Some(line).filter(|line| Some(*line) != bound);
                if card.own_line.is_some_and(|line| io::interrupt_bind(LINES, line, port, BIT).is_err()) {
                    card.give_up(Fault("its interrupt is taken"));
                }
            }
            Err(fault) => card.fault = Some(fault),
        }
        card
    }

    /// Returns why the card is not used, once.
    pub fn take_fault(&mut self) -> Option<Fault> {
        self.fault.take()
    }

    /// Takes the card out of use.
    fn give_up(&mut self, fault: Fault) -> Errno {
        if let Some(mut device) = self.device.take() {
            device.stop();
        }
        self.fault = Some(fault);
        self.tell();
        Errno::EIO
    }

    fn tell(&self) {
        if let Some((port, bits)) = &self.watcher {
            // One that has gone need not hear of it.
            let _ = ipc::notify(port.handle(), *bits);
        }
    }

    /// Does what is due after an interrupt of the card's line.
    pub fn interrupted(&mut self) {
        let Some(device) = &mut self.device else { return };
        let is_own = device.take_interrupt();
        if let Some(line) = self.own_line {
            let _ = io::interrupt_acknowledge(LINES, line);
        }
        if is_own {
            self.tell();
        }
    }

    /// Returns the card's address, as `nic.facts` does.
    pub fn address(&self) -> Result<u64, Errno> {
        let [a, b, c, d, e, f] = self.device.as_ref().ok_or(Errno::EIO)?.address();
        Ok(u64::from_le_bytes([a, b, c, d, e, f, 0, 0]))
    }

    /// Sends frames; returns how many the card has taken.
    pub fn send(&mut self, bytes: &[u8]) -> Result<u64, Errno> {
        if frames(bytes).any(|frame| frame.is_none_or(|frame| frame.len() > MAX_FRAME)) {
            return Err(Errno::EINVAL);
        }
        let device = self.device.as_mut().ok_or(Errno::EIO)?;
        let mut count = 0;
        for frame in frames(bytes).flatten() {
            match device.send(frame) {
                Ok(true) => count += 1,
                Ok(false) => break,
                Err(fault) => return Err(self.give_up(fault)),
            }
        }
        device.flush();
        Ok(count)
    }

    /// Takes the frames that have come, as far as they fit into `size` bytes.
    pub fn receive(&mut self, size: usize) -> Result<&[u8], Errno> {
        let device = self.device.as_mut().ok_or(Errno::EIO)?;
        self.answer.resize(MAX_BYTES as usize, 0);
        let filled = fill(device, &mut self.answer[..size.min(MAX_BYTES as usize)]);
        device.flush();
        match filled {
            Ok(count) => Ok(&self.answer[..count]),
            Err(fault) => Err(self.give_up(fault)),
        }
    }

    /// Names who is told from now on.
    pub fn watch(&mut self, port: OwnedReference, bits: u64) {
        self.watcher = Some((port, bits));
        // What has come already is told of, too.
        self.tell();
    }
}

/// Takes the frames that have come, each behind its length; how many bytes they have.
fn fill(device: &mut Network<DeviceMemory>, to: &mut [u8]) -> Result<usize, Fault> {
    let mut count = 0;
    while let Some(length) = device.next_size()? {
        let (Some(place), Ok(word)) = (to.get_mut(count..count + 2 + length), u16::try_from(length)) else { break };
        let (head, frame) = place.split_at_mut(2);
        head.copy_from_slice(&word.to_le_bytes());
        device.take(frame);
        count += place.len();
    }
    Ok(count)
}
