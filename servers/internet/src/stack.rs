//! The machine as others see it on the wire: its address, and its sockets, each of which is joined
//! to an end of the hub.

use crate::arrivals::{Purpose, purpose};
use crate::card::Card;
use crate::datagrams::Datagrams;
use crate::lease::{Change, Lease};
use crate::messages::Messages;
use crate::streams::{SECOND, Streams};
use alloc::boxed::Box;
use alloc::collections::{BTreeSet, VecDeque};
use alloc::vec::Vec;
use nacre_channel::hub::Hub;
use nacre_channel::hub::outside::Interface as Way;
use nacre_proto::flags::SOCK_DGRAM;
use smoltcp::iface::{Config, Interface, PollResult, SocketSet};
use smoltcp::time::Instant;
use smoltcp::wire::{EthernetAddress, HardwareAddress, IpAddress, IpCidr, IpEndpoint, Ipv4Address};

/// Parts of the largest datagram, with room.
const MAX_PARTS: usize = 64;

/// Bytes of the head of a frame.
const HEAD: usize = 14;

/// A machine. The head of this module describes it.
pub struct Stack {
    way: Way,
    lease: Lease,
    card: Card,
    /// The protocols, on the heap since they have room for a whole datagram.
    interface: Box<Interface>,
    sockets: SocketSet<'static>,
    streams: Streams,
    datagrams: Datagrams,
    messages: Messages,
}

impl Stack {
    /// The machine that is reached by `way`, with at most so many connections. `seed` is random:
    /// who guesses it can guess the numbers of connections. `now` is a time in nanoseconds, as
    /// everywhere here.
    pub fn new(way: &Way, most: usize, seed: u64, now: u64) -> Stack {
        let mut card = Card::new(way.packet as usize + HEAD);
        let mut config = Config::new(HardwareAddress::Ethernet(EthernetAddress(way.card)));
        config.random_seed = seed;
        let mut interface = Box::new(Interface::new(config, &mut card, instant(now)));
        take_address(&mut interface, Some(way));
        Stack { way: *way, lease: Lease::Fixed, card, interface, sockets: SocketSet::new(Vec::new()), streams: Streams::new(most), datagrams: Datagrams::default(), messages: Messages::default() }
    }

    /// Lets the machine ask the wire for its address. It has none until it has settled, and takes
    /// the one that it was made with if nobody gives it another one in time.
    pub fn asking(mut self, now: u64) -> Stack {
        take_address(&mut self.interface, None);
        self.lease = Lease::ask(&mut self.sockets, now);
        self
    }

    /// Returns true once it is known which address the machine has.
    pub fn has_settled(&self) -> bool {
        self.lease.is_settled()
    }

    /// Returns true if the machine has an address.
    pub fn has_address(&self) -> bool {
        !self.interface.ip_addrs().is_empty()
    }

    fn settle_lease<R>(&mut self, hub: &mut Hub<R>, now: u64) {
        match self.lease.settle(&mut self.sockets, &self.way, now) {
            None => {}
            Some(Change::Lost) => take_address(&mut self.interface, None),
            Some(Change::To(way)) => {
                self.way = way;
                take_address(&mut self.interface, Some(&way));
                hub.set_interface(way);
            }
        }
    }

    /// Takes a frame that has come from the wire.
    pub fn arrive<R>(&mut self, hub: &Hub<R>, frame: &[u8]) {
        let mut connection = None;
        match purpose(frame, self.way.address) {
            Some(Purpose::Segment { from, port, asks }) => {
                connection = Some((from.0, from.1, port));
                if asks && !self.streams.expect(&mut self.sockets, hub, from, port) {
                    return;
                }
            }
            Some(Purpose::Neighbour) => self.streams.found_neighbour(),
            Some(Purpose::TooEarly | Purpose::Nobody) => return,
            Some(Purpose::Datagram { port }) if hub.takes_datagrams(port) => self.datagrams.expect(&mut self.sockets, port),
            Some(Purpose::Part) => self.datagrams.look_at_all(),
            // Without a socket the protocols answer that nobody is there.
            Some(Purpose::Datagram { port }) => self.datagrams.forget(&mut self.sockets, port),
            Some(Purpose::Message) if hub.hears_messages() && !self.datagrams.is_short => self.messages.expect(&mut self.sockets),
            _ => {}
        }
        self.card.arrive(frame, connection);
    }

    /// Returns true if frames have come that the protocols have not taken yet.
    pub fn has_arrived(&self) -> bool {
        self.card.has_arrived()
    }

    /// The frames that are to be sent. Who sends one takes it away.
    pub fn leaving(&mut self) -> &mut VecDeque<Vec<u8>> {
        self.card.leaving()
    }

    /// Does all that is due: frames that have come, what the ends have to send, what time brings.
    /// `touched` are ends of which something may have changed.
    pub fn turn<R>(&mut self, hub: &mut Hub<R>, touched: &BTreeSet<u64>, now: u64) {
        self.messages.drop_held(&mut self.sockets, now);
        self.take(now);
        self.settle_lease(hub, now);
        self.streams.touched(touched);
        self.streams.begin(&mut self.interface, &mut self.sockets, hub, now);
        self.streams.settle(&mut self.sockets, hub, now);
        self.send_datagrams(hub, now);
        self.datagrams.settle(&mut self.sockets, hub);
        if self.card.has_arrived() {
            // The ports of these frames are not known any more when the card takes them.
            self.datagrams.look_at_all();
        }
        self.messages.settle(&mut self.sockets, hub);
        self.send(now);
    }

    /// Takes the datagrams that ends send.
    fn send_datagrams<R>(&mut self, hub: &mut Hub<R>, now: u64) {
        while let Some(datagram) = hub.next_datagram() {
            if datagram.kind == SOCK_DGRAM as u8 {
                self.datagrams.send(&mut self.sockets, &datagram);
            } else if !self.datagrams.is_short {
                self.messages.expect(&mut self.sockets);
                self.messages.send(&mut self.sockets, self.way.address, &datagram, now);
            }
        }
    }

    /// Gives the protocols the frames that have come.
    fn take(&mut self, now: u64) {
        self.interface.poll_maintenance(instant(now));
        while let Some(connection) = self.card.next_is_of() {
            let own = connection.and_then(|sides| self.streams.heard(&sides));
            self.interface.poll_ingress_single(instant(now), &mut self.card, own.unwrap_or(&mut self.sockets));
        }
    }

    /// Lets the protocols send what is to go. One call sends one part of a datagram in parts.
    fn send(&mut self, now: u64) {
        self.streams.send(&mut self.interface, &mut self.card, now);
        for _ in 0..MAX_PARTS {
            let before = self.card.leaving().len();
            while self.interface.poll_egress(instant(now), &mut self.card, &mut self.sockets) == PollResult::SocketStateChanged {}
            if self.card.leaving().len() == before {
                return;
            }
        }
    }

    /// Returns the nanoseconds after which something is due, if nothing happens before; `None`:
    /// nothing is.
    pub fn patience(&mut self, now: u64) -> Option<u64> {
        let delay = self.interface.poll_delay(instant(now), &self.sockets).map(|delay| delay.total_micros().saturating_mul(1000));
        // While there are connections all are looked at once a second.
        let look = (self.connections() > 0).then_some(SECOND);
        let deadlines = self.streams.deadline().into_iter().chain(self.messages.deadline(&self.sockets)).chain(self.lease.due());
        delay.into_iter().chain(look).chain(deadlines.map(|at| at.saturating_sub(now)).min()).min()
    }

    /// Says whether there is memory for one more connection.
    pub fn set_room(&mut self, has_room: bool) {
        (self.streams.has_memory, self.datagrams.is_short) = (has_room, !has_room);
    }

    /// Returns the number of connections, with those that are on their way.
    pub fn connections(&self) -> usize {
        self.streams.count()
    }
}

/// Gives the protocols this address and route, or none, in place of those that they had.
fn take_address(interface: &mut Interface, way: Option<&Way>) {
    // One address and one route are less than there is room for.
    interface.update_ip_addrs(|all| {
        all.clear();
        all.extend(way.map(|way| IpCidr::new(ip(way.address), way.prefix.min(32))));
    });
    interface.routes_mut().remove_default_ipv4_route();
    if let Some(gateway) = way.and_then(|way| way.gateway) {
        let _ = interface.routes_mut().add_default_ipv4_route(Ipv4Address::from(gateway));
    }
}

fn instant(nanoseconds: u64) -> Instant {
    Instant::from_micros((nanoseconds / 1000) as i64)
}

/// An address as the protocols have it.
pub(crate) fn ip(address: [u8; 4]) -> IpAddress {
    IpAddress::Ipv4(Ipv4Address::from(address))
}

/// An address and a port as the protocols have them.
pub(crate) fn endpoint((address, port): ([u8; 4], u16)) -> IpEndpoint {
    IpEndpoint::new(ip(address), port)
}

/// An address and a port as the hub has them.
pub(crate) fn parts(endpoint: IpEndpoint) -> ([u8; 4], u16) {
    let IpAddress::Ipv4(address) = endpoint.addr;
    (address.octets(), endpoint.port)
}
