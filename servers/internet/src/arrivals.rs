//! What a frame that has come is for, as far as it concerns sockets: the protocols answer for
//! sockets that they know, and ours are made when somebody asks for them.

use nacre_proto::channel::Address;
use smoltcp::wire::{EthernetFrame, EthernetProtocol, Icmpv6Message, Icmpv6Packet, IpProtocol, Ipv4Packet, Ipv6Packet, TcpPacket, UdpPacket};

/// Both sides of a connection: address and port of the other, and our port.
pub type Sides = (Address, u16, u16);

/// Addresses of the machine.
#[derive(Clone, Copy, Debug)]
pub struct Own {
    /// Address of version 4.
    pub four: [u8; 4],
    /// Addresses of version 6, if the machine takes part in it.
    pub six: Option<Own6>,
}

/// Addresses of version 6.
#[derive(Clone, Copy, Debug)]
pub struct Own6 {
    /// Address by which others reach the machine.
    pub everywhere: Option<[u8; 16]>,
    /// Address that is known on the wire alone.
    pub here: [u8; 16],
}

/// Purpose of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A part of a connection between this address and port and this port of ours.
    Segment {
        /// Address and port of the other side.
        from: (Address, u16),
        /// Our port.
        port: u16,
        /// The other side asks for a connection.
        asks: bool,
    },
    /// A machine on the wire tells its address.
    Neighbour,
    /// Absence of one: it says that it comes from this machine, or from nobody.
    Nobody,
    /// Bytes that come with the question for a connection: nobody has said yet how many may come,
    /// and the protocols count on that. A segment in parts could carry some unseen.
    TooEarly,
    /// A message of ICMP.
    Message,
    /// Something that the protocols answer by themselves.
    Other,
    /// A later part of a packet, which does not tell the port.
    Part,
    /// A datagram is to be taken at this port of ours.
    Datagram {
        /// Our port.
        port: u16,
    },
}

/// Returns what a frame is for, if it is for the machine with these addresses.
pub fn purpose(frame: &[u8], own: Own) -> Option<Purpose> {
    let frame = EthernetFrame::new_checked(frame).ok()?;
    match frame.ethertype() {
        EthernetProtocol::Ipv4 => {}
        EthernetProtocol::Arp => return Some(Purpose::Neighbour),
        EthernetProtocol::Ipv6 => return Some(purpose_6(frame.payload(), own.six).unwrap_or(Purpose::Nobody)),
        _ => return None,
    }
    let packet = Ipv4Packet::new_checked(frame.payload()).ok()?;
    let from = packet.src_addr().octets();
    if from == own.four || from[0] == 0 || from[0] == 127 {
        return Some(Purpose::Nobody);
    }
    if packet.dst_addr().octets() != own.four {
        return None;
    }
    let is_later_part = packet.frag_offset() != 0;
    if packet.next_header() == IpProtocol::Tcp && (is_later_part || packet.more_frags()) {
        return Some(Purpose::TooEarly);
    }
    if is_later_part {
        return Some(Purpose::Part);
    }
    match packet.next_header() {
        IpProtocol::Tcp => segment(packet.payload(), from.into()),
        IpProtocol::Udp => datagram(packet.payload()),
        IpProtocol::Icmp => Some(Purpose::Message),
        _ => None,
    }
}

fn segment(segment: &[u8], from: Address) -> Option<Purpose> {
    let segment = TcpPacket::new_checked(segment).ok()?;
    if segment.syn() && !segment.payload().is_empty() {
        return Some(Purpose::TooEarly);
    }
    let asks = segment.syn() && !segment.ack() && !segment.rst();
    Some(Purpose::Segment { from: (from, segment.src_port()), port: segment.dst_port(), asks })
}

/// The purpose of a datagram. The length in its head may be that of all parts.
fn datagram(head: &[u8]) -> Option<Purpose> {
    (head.len() >= 8).then(|| Purpose::Datagram { port: UdpPacket::new_unchecked(head).dst_port() })
}

/// Returns true for an address of version 6 that other machines can have. Those that begin with ten
/// zeros are of nobody, of the machine itself, or stand for one of version 4.
pub fn is_of_one(address: [u8; 16]) -> bool {
    address[0] != 0xff && address[..10] != [0; 10]
}

/// Returns what a packet of version 6 is for. Further heads are not looked into: such packets are
/// nobody's.
fn purpose_6(packet: &[u8], own: Option<Own6>) -> Option<Purpose> {
    let packet = Ipv6Packet::new_checked(packet).ok()?;
    let (from, to) = (packet.src_addr().octets(), packet.dst_addr().octets());
    let own = own?;
    let is_own = |address: [u8; 16]| address == own.here || Some(address) == own.everywhere;
    if !is_of_one(from) || is_own(from) {
        return None;
    }
    match packet.next_header() {
        IpProtocol::Icmpv6 if is_own(to) || to[0] == 0xff => {
            let message = Icmpv6Packet::new_checked(packet.payload()).ok()?;
            let is_neighbour = message.msg_type() == Icmpv6Message::NeighborAdvert;
            Some(if is_neighbour { Purpose::Neighbour } else { Purpose::Other })
        }
        IpProtocol::Tcp if Some(to) == own.everywhere => segment(packet.payload(), from.into()),
        IpProtocol::Udp if Some(to) == own.everywhere => datagram(packet.payload()),
        _ => None,
    }
}
