//! Frames between the protocols and the network card, in both directions.

use crate::arrivals::Sides;
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
    /// Frames that have come, each with the connection that it is of, if it is of one.
    arrived: VecDeque<(Option<Sides>, Vec<u8>)>,
    leaving: VecDeque<Vec<u8>>,
}

impl Card {
    /// A card for frames of at most `largest` bytes.
    pub fn new(largest: usize) -> Card {
        Card { largest, arrived: VecDeque::new(), leaving: VecDeque::new() }
    }

    /// Adds a frame that has come, of a connection or of none.
    pub fn arrive(&mut self, frame: &[u8], connection: Option<Sides>) {
        if self.arrived.len() < MAX_FRAMES {
            self.arrived.push_back((connection, frame.to_vec()));
        }
    }

    /// Returns true if no frame can be added to those that are to be sent.
    pub fn is_full(&self) -> bool {
        self.leaving.len() >= MAX_FRAMES
    }

    /// Returns the connection that the next frame is of; `None`: there is no frame, or no room for
    /// what it may bring about.
    pub fn next_is_of(&self) -> Option<Option<Sides>> {
        self.arrived.front().map(|(connection, _)| *connection).filter(|_| !self.is_full())
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
        if self.is_full() {
            return None;
        }
        let (_, frame) = self.arrived.pop_front()?;
        Some((Arrived(frame), Leaving(&mut self.leaving)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Leaving<'_>> {
        (!self.is_full()).then(|| Leaving(&mut self.leaving))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ethernet;
        capabilities.max_transmission_unit = self.largest;
        capabilities
    }
}
