//! What a frame that has come is for, as far as it concerns sockets: the protocols answer for
//! sockets that they know, and ours are made when somebody asks for them.

use smoltcp::wire::{EthernetFrame, EthernetProtocol, IpProtocol, Ipv4Packet, TcpPacket, UdpPacket};

/// Both sides of a connection: address and port of the other, and our port.
pub type Sides = ([u8; 4], u16, u16);

/// Purpose of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A part of a connection between this address and port and this port of ours.
    Segment {
        /// Address and port of the other side.
        from: ([u8; 4], u16),
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
    /// A later part of a packet, which does not tell the port.
    Part,
    /// A datagram is to be taken at this port of ours.
    Datagram {
        /// Our port.
        port: u16,
    },
}

/// Returns what a frame is for, if it is for the machine with this address.
pub fn purpose(frame: &[u8], own: [u8; 4]) -> Option<Purpose> {
    let frame = EthernetFrame::new_checked(frame).ok()?;
    match frame.ethertype() {
        EthernetProtocol::Ipv4 => {}
        EthernetProtocol::Arp => return Some(Purpose::Neighbour),
        _ => return None,
    }
    let packet = Ipv4Packet::new_checked(frame.payload()).ok()?;
    let from = packet.src_addr().octets();
    if from == own || from[0] == 0 || from[0] == 127 {
        return Some(Purpose::Nobody);
    }
    if packet.dst_addr().octets() != own {
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
        IpProtocol::Tcp => {
            let segment = TcpPacket::new_checked(packet.payload()).ok()?;
            if segment.syn() && !segment.payload().is_empty() {
                return Some(Purpose::TooEarly);
            }
            let asks = segment.syn() && !segment.ack() && !segment.rst();
            Some(Purpose::Segment { from: (packet.src_addr().octets(), segment.src_port()), port: segment.dst_port(), asks })
        }
        // The length in the head may be that of all parts.
        IpProtocol::Udp => {
            let head = packet.payload();
            (head.len() >= 8).then(|| Purpose::Datagram { port: UdpPacket::new_unchecked(head).dst_port() })
        }
        IpProtocol::Icmp => Some(Purpose::Message),
        _ => None,
    }
}
