//! The machine as others see it on the wire: its address, and its sockets, each of which is joined
//! to an end of the hub.

use crate::arrivals::{Own, Own6, Purpose, purpose};
use crate::card::Card;
use crate::datagrams::Datagrams;
use crate::lease::{Change, Lease};
use crate::messages::Messages;
use crate::router::{self, Router};
use crate::streams::{SECOND, Streams};
use alloc::boxed::Box;
use alloc::collections::{BTreeSet, VecDeque};
use alloc::vec::Vec;
use nacre_channel::hub::Hub;
use nacre_channel::hub::outside::{Interface as Way, Interface6};
use nacre_proto::channel::Address;
use nacre_proto::flags::SOCK_DGRAM;
use smoltcp::iface::{Config, Interface, PollResult, SocketSet};
use smoltcp::time::Instant;
use smoltcp::wire::{EthernetAddress, HardwareAddress, IpAddress, IpCidr, IpEndpoint, Ipv4Address, Ipv6Address};

/// Parts of the largest datagram, with room.
const MAX_PARTS: usize = 64;

/// Bytes of the head of a frame.
const HEAD: usize = 14;

/// A machine. The head of this module describes it.
pub struct Stack {
    way: Way,
    lease: Lease,
    /// Set while the machine has the address of version 4.
    has_four: bool,
    router: Router,
    /// The way of version 6, while there is one.
    way_6: Option<Interface6>,
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
        take_addresses(&mut interface, Some(way), None, None);
        let router = Router::off(way.card);
        Stack { way: *way, lease: Lease::Fixed, has_four: true, router, way_6: None, card, interface, sockets: SocketSet::new(Vec::new()), streams: Streams::new(most), datagrams: Datagrams::default(), messages: Messages::default() }
    }

    /// Lets the machine ask the wire for its address. It has none until it has settled, and takes
    /// the one that it was made with if nobody gives it another one in time.
    pub fn asking(mut self, now: u64) -> Stack {
        self.lease = Lease::ask(&mut self.sockets, now);
        self.has_four = false;
        self.take_addresses();
        self
    }

    /// Makes the machine ask routers for an address of version 6. It has none if nobody tells one
    /// in time.
    pub fn asking_6(mut self, now: u64) -> Stack {
        self.router.ask(now);
        self.take_addresses();
        self
    }

    fn take_addresses(&mut self) {
        take_addresses(&mut self.interface, Some(&self.way).filter(|_| self.has_four), self.way_6.as_ref(), self.router.here());
    }

    /// Returns true once it is known which address the machine has.
    pub fn has_settled(&self) -> bool {
        self.lease.is_settled() && self.router.is_settled()
    }

    /// Returns true if the machine has its address of version 4.
    pub fn has_address(&self) -> bool {
        self.has_four
    }

    fn settle_lease<R>(&mut self, hub: &mut Hub<R>, now: u64) {
        match self.lease.settle(&mut self.sockets, &self.way, now) {
            None => return,
            Some(Change::Lost) => self.has_four = false,
            Some(Change::To(way)) => {
                (self.way, self.has_four) = (way, true);
                hub.set_interface(way);
            }
        }
        self.take_addresses();
    }

    fn settle_router<R>(&mut self, hub: &mut Hub<R>, now: u64) {
        if let Some(change) = self.router.settle(now) {
            self.way_6 = if let router::Change::To(way) = change { Some(way) } else { None };
            hub.set_interface_6(self.way_6);
            self.take_addresses();
        }
        if let Some(frame) = self.router.question(now).filter(|_| !self.card.is_full()) {
            self.card.leaving().push_back(frame);
        }
    }

    /// Takes a frame that has come from the wire.
    pub fn arrive<R>(&mut self, hub: &Hub<R>, frame: &[u8]) {
        let mut connection = None;
        self.router.hear(frame);
        let six = self.router.here().map(|here| Own6 { everywhere: self.way_6.map(|way| way.address), here });
        match purpose(frame, Own { four: self.way.address, six }) {
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
        self.settle_router(hub, now);
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
                let own = self.way_6.map(|way| IpAddress::Ipv6(Ipv6Address::from(way.address))).filter(|_| datagram.to.0.four().is_none());
                self.datagrams.send(&mut self.sockets, own, &datagram);
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
        let deadlines = self.streams.deadline().into_iter().chain(self.messages.deadline(&self.sockets)).chain(self.lease.due()).chain(self.router.due());
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

/// Gives the protocols these addresses and routes in place of those that they had. `here` is the
/// address of version 6 that is known on the wire alone.
fn take_addresses(interface: &mut Interface, way: Option<&Way>, way_6: Option<&Interface6>, here: Option<[u8; 16]>) {
    let six = |address: [u8; 16]| IpAddress::Ipv6(Ipv6Address::from(address));
    // Three addresses and two routes are as many as there is room for.
    interface.update_ip_addrs(|all| {
        all.clear();
        all.extend(way.map(|way| IpCidr::new(ip(way.address.into()), way.prefix.min(32))));
        all.extend(way_6.map(|way| IpCidr::new(six(way.address), way.prefix.min(128))));
        all.extend(here.map(|here| IpCidr::new(six(here), 64)));
    });
    interface.routes_mut().remove_default_ipv4_route();
    interface.routes_mut().remove_default_ipv6_route();
    if let Some(gateway) = way.and_then(|way| way.gateway) {
        let _ = interface.routes_mut().add_default_ipv4_route(Ipv4Address::from(gateway));
    }
    if let Some(gateway) = way_6.and_then(|way| way.gateway) {
        let _ = interface.routes_mut().add_default_ipv6_route(Ipv6Address::from(gateway));
    }
}

fn instant(nanoseconds: u64) -> Instant {
    Instant::from_micros((nanoseconds / 1000) as i64)
}

/// An address as the protocols have it.
pub(crate) fn ip(address: Address) -> IpAddress {
    match address {
        Address::Four(address) => IpAddress::Ipv4(Ipv4Address::from(address)),
        Address::Six(address) => IpAddress::Ipv6(Ipv6Address::from(address)),
    }
}

/// An address and a port as the protocols have them.
pub(crate) fn endpoint((address, port): (Address, u16)) -> IpEndpoint {
    IpEndpoint::new(ip(address), port)
}

/// An address and a port as the hub has them.
pub(crate) fn parts(endpoint: IpEndpoint) -> (Address, u16) {
    let address = match endpoint.addr {
        IpAddress::Ipv4(address) => Address::Four(address.octets()),
        IpAddress::Ipv6(address) => Address::Six(address.octets()),
    };
    (address, endpoint.port)
}
