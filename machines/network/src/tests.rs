//! Tests of the gateway with a guest that speaks the protocols, and with one that lies.

use crate::fragments::cut;
use crate::frames::GATEWAY_CARD;
use crate::{Address, CARD, GATEWAY, GUEST, Gateway, Gone, MAX_PORTS, MAX_STREAMS, NAMES, Outside, Received, Stage};
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{ChecksumCapabilities, Device, DeviceCapabilities, Medium, RxToken, TxToken};
use smoltcp::socket::tcp::{Socket, SocketBuffer, State};
use smoltcp::time::Instant;
use smoltcp::wire::{
    ArpOperation, ArpPacket, ArpRepr, DhcpMessageType, DhcpPacket, DhcpRepr, EthernetAddress,
    EthernetFrame, EthernetProtocol, EthernetRepr, HardwareAddress, Icmpv4Packet, Icmpv4Repr,
    IpAddress, IpCidr, IpProtocol, Ipv4Address, Ipv4Packet, Ipv4Repr, TcpControl, TcpPacket,
    TcpRepr, TcpSeqNumber, UdpPacket, UdpRepr,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

const MILLISECOND: u64 = 1_000_000;

/// A socket of the fake outside: whatever is sent to it comes back.
#[derive(Default)]
struct Echo {
    to: Option<Address>,
    bytes: VecDeque<u8>,
    datagrams: VecDeque<(Address, Vec<u8>)>,
    is_finished: bool,
}

/// An outside where port 1 refuses, port 2 never answers, and port 3 breaks off when it is sent to.
#[derive(Default)]
struct World {
    sockets: BTreeMap<u32, Echo>,
    next: u32,
    most: usize,
    connects: usize,
}

impl World {
    fn add(&mut self, to: Option<Address>) -> u32 {
        self.next += 1;
        self.sockets.insert(self.next, Echo { to, ..Echo::default() });
        self.most = self.most.max(self.sockets.len());
        self.next
    }

    fn all(&self) -> BTreeSet<u32> {
        self.sockets.keys().copied().collect()
    }
}

impl Outside for World {
    fn connect(&mut self, to: Address) -> Result<u32, Gone> {
        self.connects += 1;
        Ok(self.add(Some(to)))
    }

    fn stage(&mut self, socket: u32) -> Stage {
        match self.sockets[&socket].to {
            Some((_, 1)) => Stage::Refused,
            Some((_, 2)) => Stage::Asking,
            _ => Stage::Standing,
        }
    }

    fn send(&mut self, socket: u32, bytes: &[u8]) -> Result<usize, Gone> {
        let socket = self.sockets.get_mut(&socket).ok_or(Gone)?;
        if socket.to.is_some_and(|to| to.1 == 3) {
            return Err(Gone);
        }
        let count = bytes.len().min(10_000 - socket.bytes.len().min(10_000));
        socket.bytes.extend(&bytes[..count]);
        Ok(count)
    }

    fn receive(&mut self, socket: u32, into: &mut [u8]) -> Result<Received, Gone> {
        let socket = self.sockets.get_mut(&socket).ok_or(Gone)?;
        let count = socket.bytes.len().min(into.len());
        into.iter_mut().zip(socket.bytes.drain(..count)).for_each(|(place, byte)| *place = byte);
        Ok(match count {
            0 if socket.is_finished => Received::End,
            0 => Received::Nothing,
            count => Received::Bytes(count),
        })
    }

    fn finish(&mut self, socket: u32) {
        self.sockets.get_mut(&socket).expect("a socket").is_finished = true;
    }

    fn open(&mut self) -> Result<u32, Gone> {
        Ok(self.add(None))
    }

    fn send_to(&mut self, socket: u32, to: Address, bytes: &[u8]) {
        self.sockets.get_mut(&socket).expect("a socket").datagrams.push_back((to, bytes.to_vec()));
    }

    fn receive_from(&mut self, socket: u32, into: &mut [u8]) -> Option<(Address, usize)> {
        let (from, bytes) = self.sockets.get_mut(&socket)?.datagrams.pop_front()?;
        let count = bytes.len().min(into.len());
        into[..count].copy_from_slice(&bytes[..count]);
        Some((from, bytes.len()))
    }

    fn close(&mut self, socket: u32) {
        assert!(self.sockets.remove(&socket).is_some(), "a socket is closed once");
    }
}

/// The guest's card: frames that have come, and that it sends.
#[derive(Default)]
struct Card(VecDeque<Vec<u8>>, Vec<Vec<u8>>);

struct Came(Vec<u8>);

impl RxToken for Came {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, read: F) -> R {
        read(&self.0)
    }
}

struct Goes<'a>(&'a mut Vec<Vec<u8>>);

impl TxToken for Goes<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, size: usize, write: F) -> R {
        let mut frame = vec![0; size];
        let result = write(&mut frame);
        self.0.push(frame);
        result
    }
}

impl Device for Card {
    type RxToken<'a> = Came;
    type TxToken<'a> = Goes<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Came, Goes<'_>)> {
        self.0.pop_front().map(|frame| (Came(frame), Goes(&mut self.1)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Goes<'_>> {
        Some(Goes(&mut self.1))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut capabilities = DeviceCapabilities::default();
        (capabilities.medium, capabilities.max_transmission_unit) = (Medium::Ethernet, 1514);
        capabilities
    }
}

/// A guest with the protocols, its gateway and the world.
struct Guest {
    card: Card,
    interface: Interface,
    sockets: SocketSet<'static>,
    gateway: Gateway,
    world: World,
    now: u64,
}

impl Guest {
    fn new() -> Guest {
        let mut card = Card::default();
        let config = Config::new(HardwareAddress::Ethernet(EthernetAddress(CARD)));
        let mut interface = Interface::new(config, &mut card, Instant::ZERO);
        interface.update_ip_addrs(|all| all.push(IpCidr::new(ip(GUEST), 24)).expect("room"));
        interface.routes_mut().add_default_ipv4_route(Ipv4Address::from(GATEWAY)).expect("room");
        Guest { card, interface, sockets: SocketSet::new(vec![]), gateway: Gateway::new(1, 0), world: World::default(), now: 0 }
    }

    fn connect(&mut self, port: u16, to: Address) -> SocketHandle {
        let buffer = || SocketBuffer::new(vec![0; 20_000]);
        let mut socket = Socket::new(buffer(), buffer());
        socket.connect(self.interface.context(), (ip(to.0), to.1), port).expect("a connection");
        self.sockets.add(socket)
    }

    fn socket(&mut self, handle: SocketHandle) -> &mut Socket<'static> {
        self.sockets.get_mut(handle)
    }

    /// Lets a millisecond pass on both sides.
    fn turn(&mut self) {
        self.now += MILLISECOND;
        self.interface.poll(Instant::from_micros((self.now / 1000) as i64), &mut self.card, &mut self.sockets);
        for frame in core::mem::take(&mut self.card.1) {
            self.gateway.arrive(&frame, &mut self.world, self.now);
        }
        let called = self.world.all();
        self.gateway.turn(&mut self.world, &called, self.now);
        self.card.0.extend(self.gateway.leaving().drain(..));
    }

    fn turns(&mut self, count: usize) {
        (0..count).for_each(|_| self.turn());
    }
}

fn ip(address: [u8; 4]) -> IpAddress {
    IpAddress::Ipv4(Ipv4Address::from(address))
}

/// A frame of the guest's with a packet of version 4.
fn packet(from: [u8; 4], to: [u8; 4], protocol: IpProtocol, size: usize, fill: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let head = Ipv4Repr { src_addr: Ipv4Address::from(from), dst_addr: Ipv4Address::from(to), next_header: protocol, payload_len: size, hop_limit: 64 };
    let ethernet = EthernetRepr { src_addr: EthernetAddress(CARD), dst_addr: GATEWAY_CARD, ethertype: EthernetProtocol::Ipv4 };
    let mut bytes = vec![0; 14 + 20 + size];
    ethernet.emit(&mut EthernetFrame::new_unchecked(&mut bytes));
    let mut packet = Ipv4Packet::new_unchecked(&mut bytes[14..]);
    head.emit(&mut packet, &ChecksumCapabilities::default());
    fill(packet.payload_mut());
    bytes
}

fn datagram(from: Address, to: Address, data: &[u8]) -> Vec<u8> {
    let head = UdpRepr { src_port: from.1, dst_port: to.1 };
    packet(from.0, to.0, IpProtocol::Udp, 8 + data.len(), |into| {
        head.emit(&mut UdpPacket::new_unchecked(into), &ip(from.0), &ip(to.0), data.len(), |place| place.copy_from_slice(data), &ChecksumCapabilities::default());
    })
}

/// A segment that asks for a connection.
fn segment(port: u16, to: Address, control: TcpControl, payload: &[u8]) -> Vec<u8> {
    let head = TcpRepr {
        src_port: port,
        dst_port: to.1,
        control,
        seq_number: TcpSeqNumber(7),
        ack_number: None,
        window_len: 1000,
        window_scale: None,
        max_seg_size: None,
        sack_permitted: false,
        sack_ranges: [None; 3],
        timestamp: None,
        payload,
    };
    packet(GUEST, to.0, IpProtocol::Tcp, head.buffer_len(), |into| {
        head.emit(&mut TcpPacket::new_unchecked(into), &ip(GUEST), &ip(to.0), &ChecksumCapabilities::default());
    })
}

/// Gives a gateway a frame. Returns the frames that answer it.
fn answers(gateway: &mut Gateway, world: &mut World, frame: &[u8], now: u64) -> Vec<Vec<u8>> {
    gateway.arrive(frame, world, now);
    let called = world.all();
    gateway.turn(world, &called, now);
    gateway.leaving().drain(..).collect()
}

/// Returns true if a frame breaks a connection off.
fn is_reset(frame: &[u8]) -> bool {
    frame[23] == 6 && TcpPacket::new_checked(&frame[34..]).expect("a segment").rst()
}

#[test]
fn a_connection_carries_bytes_both_ways_and_ends() {
    let mut guest = Guest::new();
    let handle = guest.connect(40_000, ([93, 184, 216, 34], 80));
    guest.turns(10);
    assert_eq!(guest.world.sockets[&1].to, Some(([93, 184, 216, 34], 80)), "the address is the guest's");
    let sent: Vec<u8> = (0..200_000u32).map(|number| (number % 251) as u8).collect();
    let (mut done, mut got) = (0, Vec::new());
    for _ in 0..2000 {
        let socket = guest.socket(handle);
        done += socket.send_slice(&sent[done..]).expect("a connection");
        let _ = socket.recv(|bytes| (bytes.len(), got.extend_from_slice(bytes)));
        guest.turn();
        if got.len() == sent.len() {
            break;
        }
    }
    assert!(got == sent, "{} bytes of {}", got.len(), sent.len());
    guest.socket(handle).close();
    guest.turns(50);
    assert_eq!(guest.socket(handle).state(), State::TimeWait);
    assert!(guest.world.sockets.is_empty(), "the socket outside is closed");
    guest.now += 20_000 * MILLISECOND;
    guest.turns(3);
    assert_eq!(guest.gateway.connections(), 0);
}

#[test]
fn connections_to_one_place_are_not_mixed_up() {
    let mut guest = Guest::new();
    let handles: Vec<_> = (0..20u16).map(|number| guest.connect(50_000 - number, ([9, 9, 9, 9], 80))).collect();
    guest.turns(10);
    for (number, handle) in handles.iter().enumerate() {
        guest.socket(*handle).send_slice(&[number as u8; 5]).expect("a connection");
    }
    guest.turns(20);
    for (number, handle) in handles.iter().enumerate() {
        let mut bytes = [0; 9];
        assert_eq!(guest.socket(*handle).recv_slice(&mut bytes), Ok(5));
        assert_eq!(bytes[..5], [number as u8; 5]);
    }
}

#[test]
fn refusals_and_breaks_reach_the_guest() {
    let mut guest = Guest::new();
    let (refused, silent, broken) = (guest.connect(40_001, (GATEWAY, 1)), guest.connect(40_002, (GATEWAY, 2)), guest.connect(40_003, (GATEWAY, 3)));
    guest.turns(10);
    let states = [refused, silent, broken].map(|handle| guest.socket(handle).state());
    assert_eq!(states, [State::Closed, State::SynSent, State::Established]);
    guest.socket(broken).send_slice(b"x").expect("a connection");
    guest.socket(silent).abort();
    guest.turns(10);
    assert_eq!(guest.socket(broken).state(), State::Closed);
    guest.now += 2000 * MILLISECOND;
    guest.turns(3);
    assert_eq!(guest.gateway.connections(), 0, "the one that nobody has answered was given up");
}

#[test]
fn a_guest_that_goes_away_is_forgotten() {
    let mut guest = Guest::new();
    guest.connect(40_000, (GATEWAY, 80));
    guest.turns(10);
    assert_eq!((guest.gateway.connections(), guest.world.sockets.len()), (1, 1));
    for _ in 0..400 {
        guest.now += 1000 * MILLISECOND;
        let called = guest.world.all();
        guest.gateway.turn(&mut guest.world, &called, guest.now);
        guest.gateway.leaving().clear();
    }
    assert_eq!((guest.gateway.connections(), guest.world.sockets.len()), (0, 0));
}

#[test]
fn arp_and_echoes_are_answered_for_the_gateway_alone() {
    let (mut gateway, mut world) = (Gateway::new(1, 0), World::default());
    for (target, count) in [(GATEWAY, 1), (NAMES, 1), (GUEST, 0), ([10, 0, 2, 9], 0)] {
        let question = ArpRepr::EthernetIpv4 {
            operation: ArpOperation::Request,
            source_hardware_addr: EthernetAddress(CARD),
            source_protocol_addr: Ipv4Address::from(GUEST),
            target_hardware_addr: EthernetAddress([0; 6]),
            target_protocol_addr: Ipv4Address::from(target),
        };
        let mut frame = vec![0; 14 + question.buffer_len()];
        let head = EthernetRepr { src_addr: EthernetAddress(CARD), dst_addr: EthernetAddress::BROADCAST, ethertype: EthernetProtocol::Arp };
        head.emit(&mut EthernetFrame::new_unchecked(&mut frame));
        question.emit(&mut ArpPacket::new_unchecked(&mut frame[14..]));
        let found = answers(&mut gateway, &mut world, &frame, 0);
        assert_eq!(found.len(), count, "{target:?}");
        assert!(found.iter().all(|frame| frame[..6] == CARD && frame[28..32] == target));
        let echo = Icmpv4Repr::EchoRequest { ident: 3, seq_no: 4, data: b"data" };
        let frame = packet(GUEST, target, IpProtocol::Icmp, echo.buffer_len(), |into| echo.emit(&mut Icmpv4Packet::new_unchecked(into), &ChecksumCapabilities::default()));
        let found = answers(&mut gateway, &mut world, &frame, 0);
        assert_eq!(found.len(), count, "{target:?}");
        assert!(found.iter().all(|frame| frame[34] == 0 && frame.ends_with(b"data")));
    }
}

/// Returns the kind, the address and the lease that a client is told.
fn ask(gateway: &mut Gateway, kind: DhcpMessageType, wanted: Option<[u8; 4]>) -> Option<(DhcpMessageType, [u8; 4], Option<u32>)> {
    let zero = Ipv4Address::UNSPECIFIED;
    let question = DhcpRepr {
        message_type: kind,
        transaction_id: 77,
        secs: 0,
        client_hardware_address: EthernetAddress(CARD),
        client_ip: zero,
        your_ip: zero,
        server_ip: zero,
        router: None,
        subnet_mask: None,
        relay_agent_ip: zero,
        broadcast: false,
        requested_ip: wanted.map(Ipv4Address::from),
        client_identifier: None,
        server_identifier: None,
        parameter_request_list: None,
        dns_servers: None,
        max_size: None,
        lease_duration: None,
        renew_duration: None,
        rebind_duration: None,
        additional_options: &[],
    };
    let mut bytes = vec![0; question.buffer_len()];
    question.emit(&mut DhcpPacket::new_unchecked(&mut bytes)).expect("room");
    let frame = datagram(([0; 4], 68), ([255; 4], 67), &bytes);
    let found = answers(gateway, &mut World::default(), &frame, 0);
    let answer = DhcpPacket::new_checked(found.first()?.get(42..)?).expect("a message").into_inner().to_vec();
    let packet = DhcpPacket::new_checked(&answer[..]).expect("a message");
    let told = DhcpRepr::parse(&packet).expect("an answer");
    let has_facts = told.router == Some(Ipv4Address::from(GATEWAY)) && told.dns_servers.iter().flatten().eq([&Ipv4Address::from(NAMES)]);
    assert_eq!((told.transaction_id, has_facts), (77, told.message_type != DhcpMessageType::Nak));
    Some((told.message_type, told.your_ip.octets(), told.lease_duration))
}

#[test]
fn dhcp_gives_the_guest_its_address() {
    let mut gateway = Gateway::new(1, 0);
    let lease = Some(86_400);
    assert_eq!(ask(&mut gateway, DhcpMessageType::Discover, None), Some((DhcpMessageType::Offer, GUEST, lease)));
    assert_eq!(ask(&mut gateway, DhcpMessageType::Request, Some(GUEST)), Some((DhcpMessageType::Ack, GUEST, lease)));
    assert_eq!(ask(&mut gateway, DhcpMessageType::Request, Some([10, 0, 2, 16])), Some((DhcpMessageType::Nak, [0; 4], None)));
    assert_eq!(ask(&mut gateway, DhcpMessageType::Release, Some(GUEST)), None);
}

#[test]
fn datagrams_go_out_and_answers_come_back() {
    let (mut gateway, mut world) = (Gateway::new(1, 0), World::default());
    let found = answers(&mut gateway, &mut world, &datagram((GUEST, 5000), (NAMES, 53), b"name"), 0);
    assert_eq!(found.len(), 1);
    let frame = &found[0];
    assert_eq!((&frame[26..30], &frame[34..38], &frame[42..]), (&NAMES[..], &[0, 53, 0x13, 0x88][..], &b"name"[..]));
    assert!(UdpPacket::new_checked(&frame[34..]).expect("a datagram").verify_checksum(&ip(NAMES), &ip(GUEST)));
    // One that no message takes is lost, and one that no packet takes comes in parts.
    let (socket, _) = world.sockets.first_key_value().expect("a socket");
    let called = [*socket].into();
    world.sockets.values_mut().for_each(|socket| socket.datagrams.extend([((NAMES, 53), vec![1; 16_001]), ((NAMES, 53), vec![2; 1472]), ((NAMES, 53), vec![3; 1473])]));
    gateway.turn(&mut world, &called, 0);
    assert_eq!(gateway.leaving().drain(..).map(|frame| frame.len()).collect::<Vec<_>>(), [1514, 1514, 35]);
    for port in 0..200 {
        answers(&mut gateway, &mut world, &datagram((GUEST, 6000 + port), (NAMES, 53), b"x"), 1);
    }
    assert_eq!((gateway.ports(), world.sockets.len(), world.most), (MAX_PORTS, MAX_PORTS, MAX_PORTS));
    answers(&mut gateway, &mut world, &[], 61_000 * MILLISECOND);
    assert_eq!((gateway.ports(), world.sockets.len()), (0, 0), "ports that are not used are given up");
}

/// A packet of the guest's in parts.
fn in_parts(frame: &[u8]) -> Vec<Vec<u8>> {
    let (head, packet) = frame.split_at(14);
    cut(packet, 3).iter().map(|part| [head, part].concat()).collect()
}

#[test]
fn long_datagrams_and_echoes_go_in_parts() {
    let (mut gateway, mut world) = (Gateway::new(1, 0), World::default());
    let data: Vec<u8> = (0..2000u32).map(|number| number as u8).collect();
    let parts = in_parts(&datagram((GUEST, 5000), (NAMES, 53), &data));
    let found: Vec<_> = parts.iter().flat_map(|part| answers(&mut gateway, &mut world, part, 0)).collect();
    assert_eq!(found.iter().map(Vec::len).collect::<Vec<_>>(), [1514, 34 + 2008 - 1480], "what comes back is cut for the wire");
    assert_eq!([&found[0][42..], &found[1][34..]].concat(), data);
    let echo = Icmpv4Repr::EchoRequest { ident: 1, seq_no: 2, data: &data };
    let asked = packet(GUEST, GATEWAY, IpProtocol::Icmp, echo.buffer_len(), |into| echo.emit(&mut Icmpv4Packet::new_unchecked(into), &ChecksumCapabilities::default()));
    let found: Vec<_> = in_parts(&asked).iter().rev().flat_map(|part| answers(&mut gateway, &mut world, part, 0)).collect();
    assert_eq!([&found[0][42..], &found[1][34..]].concat(), data);
    // Nobody else sends parts, and connections have none.
    for frame in [datagram(([10, 0, 2, 16], 5000), (NAMES, 53), &data), segment(40_000, (GATEWAY, 80), TcpControl::Syn, &data)] {
        assert!(in_parts(&frame).iter().all(|part| answers(&mut gateway, &mut world, part, 0).is_empty()));
    }
}

#[test]
fn a_guest_cannot_pass_for_another_or_reach_the_environment() {
    let (mut gateway, mut world) = (Gateway::new(1, 0), World::default());
    for to in [[127, 0, 0, 1], [0; 4], [255; 4], [224, 0, 0, 1], [10, 0, 2, 255], [10, 0, 2, 7], GUEST] {
        assert!(answers(&mut gateway, &mut world, &segment(40_000, (to, 80), TcpControl::Syn, b""), 0).is_empty(), "{to:?}");
        assert!(answers(&mut gateway, &mut world, &datagram((GUEST, 5000), (to, 53), b"x"), 0).is_empty(), "{to:?}");
    }
    assert!(answers(&mut gateway, &mut world, &datagram(([10, 0, 2, 16], 5000), (NAMES, 53), b"x"), 0).is_empty());
    assert_eq!((world.connects, world.sockets.len()), (0, 0));
}

#[test]
fn a_flood_of_questions_holds_no_more_than_there_may_be() {
    let (mut gateway, mut world) = (Gateway::new(1, 0), World::default());
    for port in 1..2000 {
        let found = answers(&mut gateway, &mut world, &segment(port, (GATEWAY, 2), TcpControl::Syn, b""), u64::from(port) * MILLISECOND);
        assert!(found.is_empty());
    }
    assert_eq!((gateway.connections(), world.sockets.len(), world.connects), (MAX_STREAMS, MAX_STREAMS, MAX_STREAMS));
    // One that is given up makes room.
    answers(&mut gateway, &mut world, &segment(1, (GATEWAY, 2), TcpControl::Rst, b""), 0);
    answers(&mut gateway, &mut world, &segment(3000, (GATEWAY, 80), TcpControl::Syn, b""), 0);
    assert_eq!((gateway.connections(), world.connects), (MAX_STREAMS, MAX_STREAMS + 1));
}

#[test]
fn segments_that_belong_to_nothing_are_refused() {
    let (mut gateway, mut world) = (Gateway::new(1, 0), World::default());
    let found = answers(&mut gateway, &mut world, &segment(40_000, (GATEWAY, 80), TcpControl::Fin, b"bytes"), 0);
    assert!(found.len() == 1 && is_reset(&found[0]));
    // Bytes that come with the question, a wrong sum, and a piece of a packet are dropped.
    let mut early = segment(40_000, (GATEWAY, 80), TcpControl::Syn, b"early");
    assert!(answers(&mut gateway, &mut world, &early, 0).is_empty());
    early = segment(40_000, (GATEWAY, 80), TcpControl::Syn, b"");
    early[50] ^= 1;
    assert!(answers(&mut gateway, &mut world, &early, 0).is_empty());
    let mut part = datagram((GUEST, 5000), (NAMES, 53), b"x");
    part[20] = 0x20;
    let sum = u16::from_be_bytes([part[24], part[25]]);
    // The flags' word grew by so much, or lost the bit that says that it is whole.
    let was_whole = datagram((GUEST, 5000), (NAMES, 53), b"x")[20] == 0x40;
    let fixed = if was_whole { sum.wrapping_add(0x2000) } else { sum.wrapping_sub(0x2000) };
    part[24..26].copy_from_slice(&fixed.to_be_bytes());
    assert!(Ipv4Packet::new_checked(&part[14..]).expect("a packet").verify_checksum(), "the head is sound");
    assert!(answers(&mut gateway, &mut world, &part, 0).is_empty());
    assert_eq!(world.connects, 0);
}
