//! Frames between the protocols and the network card, in both directions.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::time::Instant;

/// Number of frames that wait, at most, in each direction. More that come are lost, as on a wire.
const MAX_FRAMES: usize = 256;

/// The frames. The head of this module describes it.
#[derive(Debug)]
pub struct Card {
    /// Bytes of the largest frame.
    largest: usize,
    arrived: VecDeque<Vec<u8>>,
    leaving: VecDeque<Vec<u8>>,
}

impl Card {
    /// A card for frames of at most `largest` bytes.
    pub fn new(largest: usize) -> Card {
        Card { largest, arrived: VecDeque::new(), leaving: VecDeque::new() }
    }

    /// Adds a frame that has come.
    pub fn arrive(&mut self, frame: &[u8]) {
        if self.arrived.len() < MAX_FRAMES {
            self.arrived.push_back(frame.to_vec());
        }
    }

    /// Returns true if frames have come that nobody has taken.
    pub fn has_arrived(&self) -> bool {
        !self.arrived.is_empty()
    }

    /// The frames that are to be sent, in their order. Who sends one takes it away.
    pub fn leaving(&mut self) -> &mut VecDeque<Vec<u8>> {
        &mut self.leaving
    }
}

/// A frame that has come.
pub struct Arrived(Vec<u8>);

impl RxToken for Arrived {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

/// Room for a frame.
pub struct Leaving<'a>(&'a mut VecDeque<Vec<u8>>);

impl TxToken for Leaving<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, size: usize, write: F) -> R {
        let mut frame = vec![0; size];
        let result = write(&mut frame);
        self.0.push_back(frame);
        result
    }
}

impl Device for Card {
    type RxToken<'a> = Arrived;
    type TxToken<'a> = Leaving<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Arrived, Leaving<'_>)> {
        if self.leaving.len() >= MAX_FRAMES {
            return None;
        }
        let frame = self.arrived.pop_front()?;
        Some((Arrived(frame), Leaving(&mut self.leaving)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Leaving<'_>> {
        (self.leaving.len() < MAX_FRAMES).then(|| Leaving(&mut self.leaving))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = self.largest;
        capabilities
    }
}
