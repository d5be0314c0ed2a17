//! Addresses of the network, and packets and frames that the gateway makes itself.

use crate::outside::Address;
use alloc::vec;
use alloc::vec::Vec;
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::wire::{
    ArpOperation, ArpPacket, ArpRepr, EthernetAddress, EthernetFrame, EthernetProtocol,
    EthernetRepr, Icmpv4Packet, Icmpv4Repr, IpAddress, IpProtocol, Ipv4Address, Ipv4Packet,
    Ipv4Repr, UdpPacket, UdpRepr,
};

/// Address of the guest.
pub const GUEST: [u8; 4] = [10, 0, 2, 15];
/// Address of whoever reaches all others.
pub const GATEWAY: [u8; 4] = [10, 0, 2, 2];
/// Address of whoever knows names.
pub const NAMES: [u8; 4] = [10, 0, 2, 3];
/// Leading bits that all addresses of the network have alike.
pub(crate) const MASK: [u8; 4] = [255, 255, 255, 0];
/// Address of the guest's card.
pub const CARD: [u8; 6] = [0x52, 0x54, 0, 0x12, 0x34, 0x56];
/// Address of the gateway's card.
pub(crate) const GATEWAY_CARD: EthernetAddress = EthernetAddress([0x52, 0x55, 10, 0, 2, 2]);
/// Size of the largest packet, in bytes.
pub(crate) const MAX_PACKET: usize = 1500;
/// Size of the largest frame, in bytes.
pub const MAX_FRAME: usize = 14 + MAX_PACKET;
/// Size of the largest datagram that is carried, in bytes: what one message takes.
pub(crate) const MAX_DATAGRAM: usize = 16_000;
/// Size of the largest echo, in bytes.
const MAX_ECHO: usize = 65_507;
const HOP_LIMIT: u8 = 64;

/// Returns true if an address can be one of a machine outside.
pub(crate) fn is_outside(address: [u8; 4]) -> bool {
    let is_of_wire = address[..3] == GUEST[..3];
    let is_reachable = !is_of_wire || [GATEWAY, NAMES].contains(&address);
    (1..=223).contains(&address[0]) && address[0] != 127 && is_reachable
}

/// Puts a packet of a protocol into a frame for a card.
pub(crate) fn frame(to: EthernetAddress, protocol: EthernetProtocol, packet: &[u8]) -> Vec<u8> {
    let head = EthernetRepr { src_addr: GATEWAY_CARD, dst_addr: to, ethertype: protocol };
    let mut bytes = vec![0; head.buffer_len() + packet.len()];
    let mut frame = EthernetFrame::new_unchecked(&mut bytes);
    head.emit(&mut frame);
    frame.payload_mut().copy_from_slice(packet);
    bytes
}

/// Returns the answer to a question of ARP about an address of the gateway's.
pub(crate) fn answer_arp(packet: &[u8]) -> Option<Vec<u8>> {
    let asked = ArpRepr::parse(&ArpPacket::new_checked(packet).ok()?).ok()?;
    let ArpRepr::EthernetIpv4 { operation: ArpOperation::Request, source_hardware_addr, source_protocol_addr, target_protocol_addr, .. } = asked else {
        return None;
    };
    if ![GATEWAY, NAMES].contains(&target_protocol_addr.octets()) {
        return None;
    }
    let answer = ArpRepr::EthernetIpv4 {
        operation: ArpOperation::Reply,
        source_hardware_addr: GATEWAY_CARD,
        source_protocol_addr: target_protocol_addr,
        target_hardware_addr: source_hardware_addr,
        target_protocol_addr: source_protocol_addr,
    };
    let mut bytes = vec![0; answer.buffer_len()];
    answer.emit(&mut ArpPacket::new_unchecked(&mut bytes));
    Some(bytes)
}

/// Makes a packet whose contents `fill` writes.
fn packet(from: [u8; 4], to: [u8; 4], protocol: IpProtocol, size: usize, fill: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let head = Ipv4Repr {
        src_addr: Ipv4Address::from(from),
        dst_addr: Ipv4Address::from(to),
        next_header: protocol,
        payload_len: size,
        hop_limit: HOP_LIMIT,
    };
    let mut bytes = vec![0; head.buffer_len() + size];
    let mut packet = Ipv4Packet::new_unchecked(&mut bytes);
    head.emit(&mut packet, &ChecksumCapabilities::default());
    fill(packet.payload_mut());
    bytes
}

/// Returns the answer to an echo that the guest asks of an address of the gateway's.
pub(crate) fn answer_echo(of: [u8; 4], message: &[u8]) -> Option<Vec<u8>> {
    let sums = ChecksumCapabilities::default();
    let asked = Icmpv4Repr::parse(&Icmpv4Packet::new_checked(message).ok()?, &sums).ok()?;
    let Icmpv4Repr::EchoRequest { ident, seq_no, data } = asked else { return None };
    if ![GATEWAY, NAMES].contains(&of) || data.len() > MAX_ECHO {
        return None;
    }
    let answer = Icmpv4Repr::EchoReply { ident, seq_no, data };
    Some(packet(of, GUEST, IpProtocol::Icmp, answer.buffer_len(), |into| {
        answer.emit(&mut Icmpv4Packet::new_unchecked(into), &sums);
    }))
}

/// Makes the packet of a datagram, which may be too long for the wire. `None`: it is not carried.
pub(crate) fn datagram(from: Address, to: Address, data: &[u8]) -> Option<Vec<u8>> {
    if data.len() > MAX_DATAGRAM {
        return None;
    }
    let head = UdpRepr { src_port: from.1, dst_port: to.1 };
    let ends = [from.0, to.0].map(|address| IpAddress::Ipv4(Ipv4Address::from(address)));
    Some(packet(from.0, to.0, IpProtocol::Udp, head.header_len() + data.len(), |into| {
        let mut packet = UdpPacket::new_unchecked(into);
        let fill = |payload: &mut [u8]| payload.copy_from_slice(data);
        head.emit(&mut packet, &ends[0], &ends[1], data.len(), fill, &ChecksumCapabilities::default());
    }))
}
