//! The gateway: all machines but the guest that are on its wire.

use crate::datagrams::Datagrams;
use crate::dhcp;
use crate::fragments::Fragments;
use crate::frames::{GATEWAY, GATEWAY_CARD, GUEST, MAX_FRAME, answer_arp, answer_echo, is_outside};
use crate::link::Link;
use crate::outside::Outside;
use crate::streams::{Kind, SECOND, Streams, Verdict};
use crate::MAX_STREAMS;
use alloc::boxed::Box;
use alloc::collections::{BTreeSet, VecDeque};
use alloc::vec::Vec;
use smoltcp::iface::{Config, Interface, SocketSet};
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::time::Instant;
use smoltcp::wire::{
    EthernetFrame, EthernetProtocol, HardwareAddress, IpAddress, IpCidr, IpProtocol, Ipv4Address,
    Ipv4Packet, Ipv4Repr, TcpPacket, UdpPacket, UdpRepr,
};

/// Number of times that the protocols are asked in one turn.
const MAX_ROUNDS: usize = 64;

/// A gateway. The head of this module describes it.
pub struct Gateway {
    link: Link,
    /// The protocols, on the heap since they are large.
    interface: Box<Interface>,
    sockets: SocketSet<'static>,
    streams: Streams,
    datagrams: Datagrams,
    fragments: Fragments,
}

fn instant(nanoseconds: u64) -> Instant {
    Instant::from_micros((nanoseconds / 1000) as i64)
}

fn ip(address: Ipv4Address) -> IpAddress {
    IpAddress::Ipv4(address)
}

impl Gateway {
    /// Makes a gateway. `seed` is random: who guesses it can guess the numbers of connections.
    /// `now` is a time in nanoseconds, as everywhere here.
    pub fn new(seed: u64, now: u64) -> Gateway {
        let mut link = Link::new();
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = seed;
        let mut interface = Box::new(Interface::new(config, &mut link, instant(now)));
        interface.update_ip_addrs(|all| {
            // One is less than there is room for.
            let _ = all.push(IpCidr::new(ip(Ipv4Address::from(GATEWAY)), 24));
        });
        // Packets for others end here, too.
        interface.set_any_ip(true);
        let streams = Streams::new(MAX_STREAMS);
        Gateway { link, interface, sockets: SocketSet::new(Vec::new()), streams, datagrams: Datagrams::default(), fragments: Fragments::default() }
    }

    /// Takes a frame of the guest's. Frames that nothing here answers are dropped.
    pub fn arrive(&mut self, frame: &[u8], outside: &mut dyn Outside, now: u64) {
        let Ok(frame) = EthernetFrame::new_checked(frame) else { return };
        let is_ours = frame.dst_addr() == GATEWAY_CARD || frame.dst_addr().is_broadcast();
        if !is_ours || !frame.src_addr().is_unicast() || frame.as_ref().len() > MAX_FRAME {
            return;
        }
        self.link.guest = frame.src_addr();
        match frame.ethertype() {
            EthernetProtocol::Arp => {
                if let Some(answer) = answer_arp(frame.payload()) {
                    self.link.send(EthernetProtocol::Arp, &answer);
                }
            }
            EthernetProtocol::Ipv4 => {
                if let Some(answer) = self.packet(frame.payload(), outside, now) {
                    self.link.send_packet(&answer);
                }
            }
            _ => {}
        }
    }

    /// Takes a packet. Returns the packet that answers it, if that is known at once.
    fn packet(&mut self, bytes: &[u8], outside: &mut dyn Outside, now: u64) -> Option<Vec<u8>> {
        let packet = Ipv4Packet::new_checked(bytes).ok()?;
        if packet.more_frags() || packet.frag_offset() != 0 {
            return self.part(&packet, outside, now);
        }
        let head = Ipv4Repr::parse(&packet, &ChecksumCapabilities::default()).ok()?;
        let (from, to) = (head.src_addr.octets(), head.dst_addr.octets());
        match head.next_header {
            IpProtocol::Udp => self.datagram(&head, packet.payload(), outside, now),
            IpProtocol::Icmp if from == GUEST => answer_echo(to, packet.payload()),
            IpProtocol::Tcp if from == GUEST && is_outside(to) => {
                self.segment(&head, packet.payload(), bytes.get(..packet.total_len().into())?, outside);
                None
            }
            _ => None,
        }
    }

    /// Takes a part of a packet. Connections send none: they know how long packets may be.
    fn part(&mut self, packet: &Ipv4Packet<&[u8]>, outside: &mut dyn Outside, now: u64) -> Option<Vec<u8>> {
        let (from, to, next_header) = (packet.src_addr(), packet.dst_addr(), packet.next_header());
        let is_sound = packet.version() == 4 && packet.verify_checksum() && from.octets() == GUEST;
        if !is_sound || !matches!(next_header, IpProtocol::Udp | IpProtocol::Icmp) {
            return None;
        }
        let whole = self.fragments.add(packet, now)?;
        let head = Ipv4Repr { src_addr: from, dst_addr: to, next_header, payload_len: whole.len(), hop_limit: packet.hop_limit() };
        match next_header {
            IpProtocol::Udp => self.datagram(&head, &whole, outside, now),
            _ => answer_echo(to.octets(), &whole),
        }
    }

    /// Takes a datagram. Returns the answer of DHCP.
    fn datagram(&mut self, head: &Ipv4Repr, bytes: &[u8], outside: &mut dyn Outside, now: u64) -> Option<Vec<u8>> {
        let packet = UdpPacket::new_checked(bytes).ok()?;
        let ports = UdpRepr::parse(&packet, &ip(head.src_addr), &ip(head.dst_addr), &ChecksumCapabilities::default()).ok()?;
        let to = head.dst_addr.octets();
        if ports.dst_port == dhcp::PORT && (to == [255; 4] || to == GATEWAY) {
            return dhcp::answer(packet.payload());
        }
        if head.src_addr.octets() == GUEST && is_outside(to) && ports.src_port != 0 {
            self.datagrams.send(outside, (ports.src_port, (to, ports.dst_port)), packet.payload(), now);
        }
        None
    }

    /// Takes a segment of a connection.
    fn segment(&mut self, head: &Ipv4Repr, bytes: &[u8], whole: &[u8], outside: &mut dyn Outside) {
        let Ok(segment) = TcpPacket::new_checked(bytes) else { return };
        let is_sound = segment.verify_checksum(&ip(head.src_addr), &ip(head.dst_addr)) && segment.src_port() != 0 && segment.dst_port() != 0;
        // The protocols count on a question for a connection that brings no bytes and ends nothing.
        if !is_sound || segment.syn() && (!segment.payload().is_empty() || segment.fin()) {
            return;
        }
        let kind = match () {
            () if segment.rst() => Kind::Breaks,
            () if segment.syn() && !segment.ack() => Kind::Asks,
            () => Kind::Plain,
        };
        let sides = (segment.src_port(), (head.dst_addr.octets(), segment.dst_port()));
        if self.streams.judge(&mut self.sockets, outside, (sides, kind), whole) == Verdict::Pass {
            self.link.arrive(whole);
        }
    }

    /// Does all that is due: packets that have come, what the sockets have, what time brings.
    /// `called` are sockets outside at which something may have changed.
    pub fn turn(&mut self, outside: &mut dyn Outside, called: &BTreeSet<u32>, now: u64) {
        self.poll(now);
        self.streams.called(called);
        while self.streams.open_next(&mut self.sockets, &mut self.link, outside) {
            self.poll(now);
        }
        self.streams.settle(&mut self.sockets, outside, now);
        self.datagrams.settle(&mut self.link, outside, called, now);
        self.poll(now);
    }

    fn poll(&mut self, now: u64) {
        for _ in 0..MAX_ROUNDS {
            let before = self.link.leaving.len();
            self.interface.poll(instant(now), &mut self.link, &mut self.sockets);
            if self.link.leaving.len() == before {
                return;
            }
        }
    }

    /// The frames that are to go to the guest. Who sends one takes it away.
    pub fn leaving(&mut self) -> &mut VecDeque<Vec<u8>> {
        &mut self.link.leaving
    }

    /// Returns the nanoseconds after which something is due, if nothing happens before; `None`:
    /// nothing is.
    pub fn patience(&mut self, now: u64) -> Option<u64> {
        if self.link.has_room() && (self.link.has_arrived() || self.datagrams.has_rest()) {
            return Some(0);
        }
        let delay = self.interface.poll_delay(instant(now), &self.sockets).map(|delay| delay.total_micros().saturating_mul(1000));
        // While there are sockets all are looked at once a second.
        let look = (self.streams.count() + self.datagrams.count() > 0).then_some(SECOND);
        delay.into_iter().chain(look).min()
    }

    /// Says whether there is memory for one more connection.
    pub fn set_room(&mut self, has_room: bool) {
        self.streams.has_memory = has_room;
    }

    /// Returns the number of connections, with those that are on their way and those that end.
    pub fn connections(&self) -> usize {
        self.streams.count()
    }

    /// Returns the number of the guest's ports that datagrams go out from.
    pub fn ports(&self) -> usize {
        self.datagrams.count()
    }
}
