//! Packets between the protocols and the wire, in both directions.

use crate::fragments::cut;
use crate::frames::{CARD, MAX_PACKET, frame};
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use smoltcp::phy::{Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::time::Instant;
use smoltcp::wire::{EthernetAddress, EthernetProtocol};

/// Number of packets that wait, at most, in each direction. More that come are lost, as on a wire;
/// but all parts of one packet are sent, or none.
pub(crate) const MAX_WAITING: usize = 256;

/// The packets that have come, and the frames that are to be sent.
#[derive(Debug)]
pub(crate) struct Link {
    arrived: VecDeque<Vec<u8>>,
    pub(crate) leaving: VecDeque<Vec<u8>>,
    /// Card from which the guest has sent last.
    pub(crate) guest: EthernetAddress,
    /// Number of the last packet that was sent in parts.
    ident: u16,
}

impl Link {
    pub(crate) fn new() -> Link {
        Link { arrived: VecDeque::new(), leaving: VecDeque::new(), guest: EthernetAddress(CARD), ident: 0 }
    }

    /// Adds a packet for the protocols.
    pub(crate) fn arrive(&mut self, packet: &[u8]) {
        if self.arrived.len() < MAX_WAITING {
            self.arrived.push_back(packet.to_vec());
        }
    }

    /// Returns true if packets have come that the protocols have not taken.
    pub(crate) fn has_arrived(&self) -> bool {
        !self.arrived.is_empty()
    }

    /// Returns true if one more frame may wait to be sent.
    pub(crate) fn has_room(&self) -> bool {
        self.leaving.len() < MAX_WAITING
    }

    /// Sends a packet of a protocol to the guest.
    pub(crate) fn send(&mut self, protocol: EthernetProtocol, packet: &[u8]) {
        if self.has_room() {
            self.leaving.push_back(frame(self.guest, protocol, packet));
        }
    }

    /// Sends a packet without options to the guest, in parts if it is too long for the wire.
    pub(crate) fn send_packet(&mut self, packet: &[u8]) {
        if self.has_room() {
            self.ident = self.ident.wrapping_add(1);
            let guest = self.guest;
            self.leaving.extend(cut(packet, self.ident).iter().map(|part| frame(guest, EthernetProtocol::Ipv4, part)));
        }
    }
}

/// A packet that has come.
pub(crate) struct Arrived(Vec<u8>);

impl RxToken for Arrived {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

/// Room for a packet.
pub(crate) struct Leaving<'a>(&'a mut VecDeque<Vec<u8>>, EthernetAddress);

impl TxToken for Leaving<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, size: usize, write: F) -> R {
        let mut packet = vec![0; size];
        let result = write(&mut packet);
        self.0.push_back(frame(self.1, EthernetProtocol::Ipv4, &packet));
        result
    }
}

impl Device for Link {
    type RxToken<'a> = Arrived;
    type TxToken<'a> = Leaving<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Arrived, Leaving<'_>)> {
        if !self.has_room() {
            return None;
        }
        let packet = self.arrived.pop_front()?;
        Some((Arrived(packet), Leaving(&mut self.leaving, self.guest)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Leaving<'_>> {
        self.has_room().then(|| Leaving(&mut self.leaving, self.guest))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        capabilities.medium = Medium::Ip;
        capabilities.max_transmission_unit = MAX_PACKET;
        capabilities
    }
}
