//! The machine's addresses of version 6, where the wire is asked for them: a router on the wire
//! tells the first half of an address, and the card's own address is the second half.
//!
//! What routers say is hostile. One router and one half are taken, once. What is said later only
//! makes the time longer for which they hold.

use crate::lease::PATIENCE;
use alloc::vec;
use alloc::vec::Vec;
use nacre_channel::hub::outside::Interface6;
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::time::Duration;
use smoltcp::wire::{EthernetAddress, EthernetFrame, EthernetProtocol, Icmpv6Message, Icmpv6Packet, Icmpv6Repr, IpProtocol, Ipv6Address, Ipv6Packet, Ipv6Repr, NdiscRepr};

/// Nanoseconds after which routers are asked again.
const AGAIN: u64 = 100_000_000;
/// Length in bits of what a router tells.
const PREFIX: u8 = 64;
/// Hops of messages between neighbours: none was taken.
const HOPS: u8 = 255;
/// Bytes of the head of a frame.
const HEAD: usize = 14;

/// Message of a router.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advertisement {
    /// Address of the router, on this wire.
    router: [u8; 16],
    /// First half of addresses.
    prefix: [u8; 8],
    /// Nanoseconds for which addresses hold.
    time: u64,
    /// The router reaches all others.
    is_gateway: bool,
}

/// Returns true for the first half of addresses that a machine can have: global ones, and those of
/// a site.
fn is_of_one(prefix: [u8; 8]) -> bool {
    let [first, second, ..] = prefix;
    first & 0xe0 == 0x20 || first & 0xfe == 0xfc || first == 0xfe && second & 0xc0 == 0xc0
}

fn is_of_wire(address: [u8; 16]) -> bool {
    address[0] == 0xfe && address[1] & 0xc0 == 0x80
}

/// Returns what a router says by a frame, if it says how addresses begin.
pub fn advertisement(frame: &[u8]) -> Option<Advertisement> {
    let frame = EthernetFrame::new_checked(frame).ok().filter(|frame| frame.ethertype() == EthernetProtocol::Ipv6)?;
    let packet = Ipv6Packet::new_checked(frame.payload()).ok()?;
    let router = packet.src_addr().octets();
    if packet.hop_limit() != HOPS || packet.next_header() != IpProtocol::Icmpv6 || !is_of_wire(router) {
        return None;
    }
    let message = Icmpv6Packet::new_checked(packet.payload()).ok()?;
    if message.msg_type() != Icmpv6Message::RouterAdvert {
        return None;
    }
    let told = Icmpv6Repr::parse(&packet.src_addr(), &packet.dst_addr(), &message, &ChecksumCapabilities::default()).ok()?;
    let Icmpv6Repr::Ndisc(NdiscRepr::RouterAdvert { router_lifetime, prefix_info: Some(told), .. }) = told else { return None };
    let prefix = *told.prefix.octets().first_chunk()?;
    let is_fit = told.is_valid_prefix_info() && told.prefix_len == PREFIX && is_of_one(prefix) && told.valid_lifetime > Duration::ZERO;
    let time = told.valid_lifetime.total_micros().saturating_mul(1000);
    is_fit.then_some(Advertisement { router, prefix, time, is_gateway: router_lifetime > Duration::ZERO })
}

/// State of the addresses.
#[derive(Debug)]
enum State {
    /// Silence: nobody is asked.
    Off,
    /// Routers are asked until the first time, and anew at the second one.
    Asked(u64, u64),
    /// A router has told this until the time. The machine has the address while `is_up`.
    Held { told: Advertisement, until: u64, is_up: bool },
}

/// The addresses. The head of this module describes them.
#[derive(Debug)]
pub struct Router {
    card: [u8; 6],
    state: State,
    /// Message of a router that came since the last look.
    heard: Option<Advertisement>,
}

/// Change of the address.
#[derive(Debug, PartialEq, Eq)]
pub enum Change {
    /// The machine has this one.
    To(Interface6),
    /// The machine has none any more.
    Lost,
}

impl Router {
    /// Addresses of a card, about which nobody is asked.
    pub fn off(card: [u8; 6]) -> Router {
        Router { card, state: State::Off, heard: None }
    }

    /// Asks routers from `now` on.
    pub fn ask(&mut self, now: u64) {
        self.state = State::Asked(now.saturating_add(PATIENCE), now);
    }

    /// Returns true once it is known which address the machine has.
    pub fn is_settled(&self) -> bool {
        !matches!(self.state, State::Asked(..))
    }

    /// The time at which something is due.
    pub fn due(&self) -> Option<u64> {
        match self.state {
            State::Asked(until, again) => Some(until.min(again)),
            State::Held { until, is_up: true, .. } => Some(until),
            _ => None,
        }
    }

    /// The address with the first half `prefix`.
    fn address(&self, prefix: [u8; 8]) -> [u8; 16] {
        let [a, b, c, d, e, f] = self.card;
        let mut address = [0; 16];
        address[..8].copy_from_slice(&prefix);
        address[8..].copy_from_slice(&[a ^ 2, b, c, 0xff, 0xfe, d, e, f]);
        address
    }

    /// The address that is known on the wire alone, if the machine takes part in version 6.
    pub fn here(&self) -> Option<[u8; 16]> {
        (!matches!(self.state, State::Off)).then(|| self.address([0xfe, 0x80, 0, 0, 0, 0, 0, 0]))
    }

    /// Hears what a frame says, if it is from a router.
    pub fn hear(&mut self, frame: &[u8]) {
        if !matches!(self.state, State::Off) {
            self.heard = advertisement(frame).or(self.heard);
        }
    }

    /// The frame that asks routers, if it is time for one.
    pub fn question(&mut self, now: u64) -> Option<Vec<u8>> {
        let State::Asked(_, again) = &mut self.state else { return None };
        if now < *again {
            return None;
        }
        *again = now.saturating_add(AGAIN);
        let (from, all) = (Ipv6Address::from(self.here()?), Ipv6Address::new(0xff02, 0, 0, 0, 0, 0, 0, 2));
        let asks = Icmpv6Repr::Ndisc(NdiscRepr::RouterSolicit { lladdr: Some(EthernetAddress(self.card).into()) });
        let head = Ipv6Repr { src_addr: from, dst_addr: all, next_header: IpProtocol::Icmpv6, payload_len: asks.buffer_len(), hop_limit: HOPS };
        let mut bytes = vec![0; HEAD + head.buffer_len() + asks.buffer_len()];
        let mut frame = EthernetFrame::new_unchecked(&mut bytes[..]);
        frame.set_dst_addr(EthernetAddress([0x33, 0x33, 0, 0, 0, 2]));
        frame.set_src_addr(EthernetAddress(self.card));
        frame.set_ethertype(EthernetProtocol::Ipv6);
        let mut packet = Ipv6Packet::new_unchecked(frame.payload_mut());
        head.emit(&mut packet);
        asks.emit(&from, &all, &mut Icmpv6Packet::new_unchecked(packet.payload_mut()), &ChecksumCapabilities::default());
        Some(bytes)
    }

    /// Looks what routers have said.
    pub fn settle(&mut self, now: u64) -> Option<Change> {
        let heard = self.heard.take();
        match (&mut self.state, heard) {
            (State::Off, _) => None,
            (State::Asked(..), Some(told)) => {
                self.state = State::Held { told, until: now.saturating_add(told.time), is_up: true };
                Some(Change::To(self.way(told)))
            }
            (State::Asked(until, _), None) => {
                if now >= *until {
                    self.state = State::Off;
                    return Some(Change::Lost);
                }
                None
            }
            (State::Held { told, until, is_up }, heard) => {
                let told = *told;
                if let Some(again) = heard.filter(|again| (again.router, again.prefix) == (told.router, told.prefix)) {
                    *until = now.saturating_add(again.time).max(*until);
                }
                let holds = now < *until;
                let changes = holds != *is_up;
                *is_up = holds;
                changes.then(|| if holds { Change::To(self.way(told)) } else { Change::Lost })
            }
        }
    }

    fn way(&self, told: Advertisement) -> Interface6 {
        Interface6 { address: self.address(told.prefix), prefix: PREFIX, gateway: told.is_gateway.then_some(told.router) }
    }
}
