//! Version 6 of the internet, with a router that the test is.

use super::{MILLISECOND, Machine, Wire};
use crate::router::advertisement;
use alloc::vec;
use alloc::vec::Vec;
use nacre_channel::hub::Sending;
use nacre_channel::hub::outside::Interface6;
use nacre_channel::queue::ReceiveRequest;
use nacre_proto::Errno;
use nacre_proto::channel::{Address, INTERNET, INTERNET_6, INTERNET_BOTH, InternetName};
use nacre_proto::flags::{END_OWN, SOCK_DGRAM, SOCK_STREAM};
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::time::Duration;
use smoltcp::wire::{EthernetAddress, EthernetFrame, EthernetProtocol, Icmpv6Packet, Icmpv6Repr, IpProtocol, Ipv6Address, Ipv6Packet, Ipv6Repr};
use smoltcp::wire::{NdiscPrefixInfoFlags, NdiscPrefixInformation, NdiscRepr, NdiscRouterFlags};

const ROUTER: [u8; 16] = [0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];
const PREFIX: [u8; 16] = [0xfe, 0xc0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
const DAY: u64 = 86_400;

fn six(number: u8) -> [u8; 16] {
    [0xfe, 0xc0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xfe, 0, 0, number]
}

/// Frame of a router: its address, hops, prefix and its length, flags, and the seconds for which
/// the prefix holds.
fn told(router: [u8; 16], hops: u8, (prefix, length): ([u8; 16], u8), flags: NdiscPrefixInfoFlags, seconds: u64) -> Vec<u8> {
    let prefix_info = Some(NdiscPrefixInformation { prefix_len: length, flags, valid_lifetime: Duration::from_secs(seconds), preferred_lifetime: Duration::from_secs(seconds.min(1)), prefix: prefix.into() });
    let no_time = Duration::ZERO;
    let says = Icmpv6Repr::Ndisc(NdiscRepr::RouterAdvert { hop_limit: 64, flags: NdiscRouterFlags::empty(), router_lifetime: Duration::from_secs(1800), reachable_time: no_time, retrans_time: no_time, lladdr: None, mtu: None, prefix_info });
    let (from, all) = (Ipv6Address::from(router), Ipv6Address::new(0xff02, 0, 0, 0, 0, 0, 0, 1));
    let head = Ipv6Repr { src_addr: from, dst_addr: all, next_header: IpProtocol::Icmpv6, payload_len: says.buffer_len(), hop_limit: hops };
    let mut bytes = vec![0; 14 + 40 + says.buffer_len()];
    let mut frame = EthernetFrame::new_unchecked(&mut bytes[..]);
    frame.set_dst_addr(EthernetAddress([0x33, 0x33, 0, 0, 0, 1]));
    frame.set_src_addr(EthernetAddress([2, 0, 0, 0, 0, 9]));
    frame.set_ethertype(EthernetProtocol::Ipv6);
    let mut packet = Ipv6Packet::new_unchecked(frame.payload_mut());
    head.emit(&mut packet);
    says.emit(&from, &all, &mut Icmpv6Packet::new_unchecked(packet.payload_mut()), &ChecksumCapabilities::default());
    bytes
}

fn usual(seconds: u64) -> Vec<u8> {
    told(ROUTER, 255, (PREFIX, 64), NdiscPrefixInfoFlags::ADDRCONF, seconds)
}

fn hear(wire: &mut Wire, frame: &[u8]) {
    for Machine { hub, stack } in &mut wire.machines {
        stack.arrive(hub, frame);
    }
}

/// Two machines that ask for addresses.
fn asking() -> Wire {
    let mut wire = Wire::new(8);
    wire.machines = wire.machines.map(|Machine { hub, stack }| Machine { hub, stack: stack.asking_6(0) });
    wire
}

/// Two machines that have got addresses.
fn wire() -> Wire {
    let mut wire = asking();
    hear(&mut wire, &usual(DAY));
    wire.run(5);
    wire
}

fn name(version: u8, kind: u64, address: impl Into<Address>, port: u16) -> Vec<u8> {
    InternetName { version, kind: kind as u8, address: address.into(), port }.bytes()
}

fn socket(wire: &mut Wire, number: usize, (version, kind): (u8, u64), port: u16) -> u64 {
    let key = wire.hub(number).socket(kind, 0).unwrap();
    let (found_by, any) = (name(version, kind, InternetName::LOOPBACK, port), name(version, kind, InternetName::ANY, port));
    wire.hub(number).bind(key, &found_by, &any).unwrap();
    key
}

#[test]
fn a_router_tells_the_address() {
    let mut wire = asking();
    assert!(!wire.machines[0].stack.has_settled());
    hear(&mut wire, &usual(DAY));
    wire.run(1);
    assert!(wire.machines[0].stack.has_settled());
    assert_eq!(wire.hub(0).interface_6(), Some(Interface6 { address: six(1), prefix: 64, gateway: Some(ROUTER) }));
    // Another router, and another address, are not taken.
    let mut other = (ROUTER, PREFIX);
    (other.0[15], other.1[7]) = (3, 9);
    for frame in [told(other.0, 255, (PREFIX, 64), NdiscPrefixInfoFlags::ADDRCONF, 2 * DAY), told(ROUTER, 255, (other.1, 64), NdiscPrefixInfoFlags::ADDRCONF, 2 * DAY), usual(1)] {
        hear(&mut wire, &frame);
        wire.run(1);
    }
    wire.now += (DAY - 10) * 1000 * MILLISECOND;
    wire.run(1);
    assert_eq!(wire.hub(0).interface_6().map(|way| way.address), Some(six(1)));
    wire.now += 10 * 1000 * MILLISECOND;
    wire.run(1);
    assert_eq!(wire.hub(0).interface_6(), None, "its time is over");
    hear(&mut wire, &usual(u64::from(u32::MAX)));
    wire.run(1);
    assert_eq!(wire.hub(0).interface_6().map(|way| way.address), Some(six(1)), "it is told again");
}

#[test]
fn a_wire_without_routers_is_not_waited_for() {
    let mut wire = asking();
    wire.run(300);
    assert!(wire.machines[0].stack.has_settled());
    hear(&mut wire, &usual(DAY));
    wire.run(5);
    assert_eq!(wire.hub(0).interface_6(), None, "programs run already");
    let mut wire = Wire::new(8);
    hear(&mut wire, &usual(DAY));
    wire.run(5);
    assert_eq!(wire.hub(0).interface_6(), None, "nobody has asked");
}

#[test]
fn what_no_router_says_is_not_believed() {
    let long = |first: &[u8]| [first, &[0; 16]].concat().first_chunk::<16>().copied().unwrap();
    let auto = NdiscPrefixInfoFlags::ADDRCONF;
    let global = long(&[0x20, 1, 0xd, 0xb8]);
    for wrong in [
        told(ROUTER, 254, (PREFIX, 64), auto, DAY),
        told(global, 255, (PREFIX, 64), auto, DAY),
        told(ROUTER, 255, (PREFIX, 63), auto, DAY),
        told(ROUTER, 255, (PREFIX, 128), auto, DAY),
        told(ROUTER, 255, (PREFIX, 64), NdiscPrefixInfoFlags::ON_LINK, DAY),
        told(ROUTER, 255, (PREFIX, 64), auto, 0),
        told(ROUTER, 255, (ROUTER, 64), auto, DAY),
        told(ROUTER, 255, ([0; 16], 64), auto, DAY),
        told(ROUTER, 255, (long(&[0xff, 2]), 64), auto, DAY),
    ] {
        assert_eq!(advertisement(&wrong), None);
    }
    let whole = usual(DAY);
    assert!(advertisement(&whole).is_some() && advertisement(&told(ROUTER, 255, (global, 64), auto, DAY)).is_some());
    assert!((0..whole.len()).all(|size| advertisement(&whole[..size]).is_none()));
    for place in 0..whole.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            let mut other = whole.clone();
            other[place] = value;
            let _ = advertisement(&other);
            let mut wire = asking();
            hear(&mut wire, &other);
            wire.run(2);
        }
    }
}

#[test]
fn connections_and_datagrams_reach_each_other() {
    let mut wire = wire();
    for (version, port) in [(INTERNET_6, 80), (INTERNET_BOTH, 81)] {
        let listener = socket(&mut wire, 0, (version, SOCK_STREAM), port);
        wire.hub(0).listen(listener, 4, [0; 3]).unwrap();
        let client = socket(&mut wire, 1, (version, SOCK_STREAM), 40_000 + port);
        assert_eq!(wire.hub(1).connect(client, &name(INTERNET_6, SOCK_STREAM, six(1), port), [0; 3]), Ok(false));
        wire.run(20);
        let (server, from) = wire.hub(0).accept(listener, 0).unwrap().unwrap();
        assert_eq!(from, name(INTERNET_6, SOCK_STREAM, six(2), 40_000 + port));
        assert_eq!(wire.hub(0).name(server, END_OWN).unwrap(), name(INTERNET_6, SOCK_STREAM, six(1), port));
        assert_eq!(wire.hub(1).name(client, END_OWN).unwrap(), name(INTERNET_6, SOCK_STREAM, six(2), 40_000 + port));
        assert_eq!(wire.send(1, client, b"question"), Ok(Some(8)));
        wire.run(5);
        assert_eq!(wire.receive(0, server), Ok(Some(b"question".to_vec())));
        wire.hub(1).close(client);
        wire.run(10);
        assert_eq!(wire.receive(0, server), Ok(Some(Vec::new())));
    }
    let (one, other) = (socket(&mut wire, 0, (INTERNET_BOTH, SOCK_DGRAM), 53), socket(&mut wire, 1, (INTERNET_6, SOCK_DGRAM), 54));
    let send = |wire: &mut Wire, size: usize| wire.hub(1).send(other, &Sending { to: name(INTERNET_6, SOCK_DGRAM, six(1), 53), data: vec![7; size], ..Sending::default() }, &mut Vec::new());
    assert_eq!((send(&mut wire, 1452), send(&mut wire, 1453)), (Ok(Some(1452)), Err(Errno::EMSGSIZE)));
    wire.run(10);
    let received = wire.hub(0).receive(one, ReceiveRequest { size: 2000, ..ReceiveRequest::default() }).unwrap().unwrap();
    assert_eq!((received.data.len(), received.from), (1452, name(INTERNET_6, SOCK_DGRAM, six(2), 54)));
}

#[test]
fn a_machine_finds_itself_by_its_address() {
    let mut wire = wire();
    let listener = socket(&mut wire, 0, (INTERNET_6, SOCK_STREAM), 80);
    wire.hub(0).listen(listener, 4, [0; 3]).unwrap();
    let client = socket(&mut wire, 0, (INTERNET_6, SOCK_STREAM), 81);
    assert_eq!(wire.hub(0).connect(client, &name(INTERNET_6, SOCK_STREAM, six(1), 80), [0; 3]), Ok(true));
}

#[test]
fn version_4_alone_hears_nothing_of_version_6() {
    let mut wire = wire();
    let listener = socket(&mut wire, 0, (INTERNET, SOCK_STREAM), 80);
    wire.hub(0).listen(listener, 4, [0; 3]).unwrap();
    let client = socket(&mut wire, 1, (INTERNET_6, SOCK_STREAM), 40_000);
    let to = name(INTERNET_6, SOCK_STREAM, six(1), 80);
    assert_eq!(wire.hub(1).connect(client, &to, [0; 3]), Ok(false));
    wire.run(20);
    assert_eq!(wire.hub(1).connect(client, &to, [0; 3]), Err(Errno::ECONNREFUSED));
    let four = socket(&mut wire, 1, (INTERNET, SOCK_STREAM), 40_001);
    assert_eq!(wire.hub(1).connect(four, &to, [0; 3]), Err(Errno::EPROTOTYPE));
    let mut wire = Wire::new(4);
    let client = socket(&mut wire, 1, (INTERNET_6, SOCK_STREAM), 40_000);
    assert_eq!(wire.hub(1).connect(client, &to, [0; 3]), Err(Errno::ENETUNREACH), "there is no way");
    for there in [ROUTER, [0xff; 16]] {
        let mut wire = self::wire();
        let client = socket(&mut wire, 1, (INTERNET_6, SOCK_STREAM), 40_000);
        assert_eq!(wire.hub(1).connect(client, &name(INTERNET_6, SOCK_STREAM, there, 80), [0; 3]), Err(Errno::ENETUNREACH));
    }
}
