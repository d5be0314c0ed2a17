//! Two machines on one wire.

mod arrivals;
mod echoes;
mod many;
mod version_6;

use crate::Stack;
use alloc::collections::BTreeSet;
use nacre_channel::hub::outside::Interface as Way;
use nacre_channel::hub::{Hub, Sending};
use nacre_channel::queue::ReceiveRequest;
use nacre_proto::Errno;
use nacre_proto::channel::{Address, INTERNET, INTERNET_BOTH, InternetName};
use nacre_proto::flags::{END_OWN, POLLERR, POLLHUP, POLLIN, POLLOUT, POLLRDHUP, SOCK_DGRAM, SOCK_STREAM};

const MILLISECOND: u64 = 1_000_000;

struct Machine {
    hub: Hub<()>,
    stack: Stack,
}

fn address(number: u8) -> [u8; 4] {
    [10, 0, 2, number]
}

fn machine(number: u8, most: usize) -> Machine {
    let mut hub = Hub::default();
    let interface = Way { address: address(number), prefix: 24, gateway: None, card: [2, 0, 0, 0, 0, number], packet: 1500 };
    hub.set_interface(interface);
    Machine { hub, stack: Stack::new(&interface, most, number.into(), 0) }
}

struct Wire {
    machines: [Machine; 2],
    now: u64,
    /// Every so many frames one is lost; 0: none.
    loss: usize,
    sent: usize,
}

impl Wire {
    fn new(most: usize) -> Wire {
        Wire { machines: [machine(1, most), machine(2, most)], now: 0, loss: 0, sent: 0 }
    }

    /// Lets time and frames go by.
    fn run(&mut self, turns: usize) {
        for _ in 0..turns {
            self.now += MILLISECOND;
            for from in 0..2 {
                let Machine { hub, stack } = &mut self.machines[from];
                let touched: BTreeSet<u64> = hub.touched();
                stack.turn(hub, &touched, self.now);
                while let Some(frame) = self.machines[from].stack.leaving().pop_front() {
                    self.sent += 1;
                    if self.loss == 0 || !self.sent.is_multiple_of(self.loss) {
                        let Machine { hub, stack } = &mut self.machines[1 - from];
                        stack.arrive(hub, &frame);
                    }
                }
            }
        }
    }

    fn hub(&mut self, number: usize) -> &mut Hub<()> {
        &mut self.machines[number].hub
    }

    /// A socket with a port.
    fn socket(&mut self, number: usize, kind: u64, port: u16, at: impl Into<Address>) -> u64 {
        let hub = self.hub(number);
        let key = hub.socket(kind, 0).unwrap();
        let name = name(kind, at, port);
        hub.bind(key, &InternetName { address: InternetName::LOOPBACK, ..InternetName::read(&name).unwrap() }.bytes(), &name).unwrap();
        key
    }

    /// A connection from the second machine to the first one: both ends.
    fn connection(&mut self, port: u16) -> (u64, u64) {
        self.connection_from(port, 40_000)
    }

    fn connection_from(&mut self, port: u16, own: u16) -> (u64, u64) {
        let listener = self.socket(0, SOCK_STREAM, port, InternetName::ANY);
        self.hub(0).listen(listener, 8, [0; 3]).unwrap();
        let client = self.socket(1, SOCK_STREAM, own, InternetName::LOOPBACK);
        assert_eq!(self.hub(1).connect(client, &name(SOCK_STREAM, address(1), port), [0; 3]), Ok(false));
        assert_eq!(self.hub(1).events(client), Ok(0));
        self.run(10);
        let (server, from) = self.hub(0).accept(listener, 0).unwrap().unwrap();
        assert_eq!(from, name(SOCK_STREAM, address(2), own));
        assert_eq!(self.hub(0).name(server, END_OWN).unwrap(), name(SOCK_STREAM, address(1), port));
        assert!(!self.hub(1).is_connecting(client));
        assert_eq!(self.hub(1).name(client, END_OWN).unwrap(), name(SOCK_STREAM, address(2), own));
        (client, server)
    }

    fn send(&mut self, number: usize, key: u64, data: &[u8]) -> Result<Option<usize>, Errno> {
        let sending = Sending { data: data.to_vec(), ..Sending::default() };
        self.hub(number).send(key, &sending, &mut alloc::vec::Vec::new())
    }

    fn receive(&mut self, number: usize, key: u64) -> Result<Option<alloc::vec::Vec<u8>>, Errno> {
        let wish = ReceiveRequest { size: 1 << 16, ..ReceiveRequest::default() };
        Ok(self.hub(number).receive(key, wish)?.map(|received| received.data))
    }
}

fn name(kind: u64, address: impl Into<Address>, port: u16) -> alloc::vec::Vec<u8> {
    InternetName { version: INTERNET, kind: kind as u8, address: address.into(), port }.bytes()
}

#[test]
fn bytes_go_both_ways_and_ends_are_told() {
    let mut wire = Wire::new(16);
    let (client, server) = wire.connection(80);
    assert_eq!(wire.send(1, client, b"question"), Ok(Some(8)));
    wire.run(5);
    assert_eq!(wire.receive(0, server), Ok(Some(b"question".to_vec())));
    assert_eq!(wire.send(0, server, b"answer"), Ok(Some(6)));
    wire.hub(0).close(server);
    wire.run(5);
    assert_eq!(wire.receive(1, client), Ok(Some(b"answer".to_vec())));
    assert_eq!(wire.receive(1, client), Ok(Some(b"".to_vec())));
    assert_ne!(wire.hub(1).events(client).unwrap() & POLLRDHUP, 0);
    wire.hub(1).close(client);
    wire.run(2000);
    assert_eq!(wire.machines[1].stack.connections(), 0, "sockets of the client are gone");
    assert_eq!((wire.hub(1).ends(), wire.hub(0).ends()), (0, 1), "only the listener is left");
}

#[test]
fn half_of_a_connection_can_be_shut() {
    let mut wire = Wire::new(16);
    let (client, server) = wire.connection(80);
    wire.send(1, client, b"all of it").unwrap();
    wire.hub(1).shutdown(client, 1).unwrap();
    wire.run(5);
    assert_eq!(wire.receive(0, server), Ok(Some(b"all of it".to_vec())));
    assert_eq!(wire.receive(0, server), Ok(Some(b"".to_vec())));
    wire.send(0, server, b"late answer").unwrap();
    wire.run(5);
    assert_eq!(wire.receive(1, client), Ok(Some(b"late answer".to_vec())));
}

#[test]
fn much_arrives_whole_though_frames_are_lost() {
    let mut wire = Wire::new(16);
    let (client, server) = wire.connection(80);
    wire.loss = 29;
    let data: alloc::vec::Vec<u8> = (0..600_000u32).map(|number| (number % 251) as u8).collect();
    let (mut sent, mut came) = (0, alloc::vec::Vec::new());
    for _ in 0..20_000 {
        if sent < data.len() && let Ok(Some(count)) = wire.send(1, client, &data[sent..data.len().min(sent + 30_000)]) {
            sent += count;
        }
        wire.run(1);
        while let Ok(Some(bytes)) = wire.receive(0, server) {
            came.extend(bytes);
        }
        if came.len() == data.len() {
            break;
        }
    }
    assert!(came == data, "{} of {} came", came.len(), data.len());
}

#[test]
fn who_does_not_read_holds_the_sender_back() {
    let mut wire = Wire::new(16);
    let (client, server) = wire.connection(80);
    let mut sent = 0;
    for _ in 0..400 {
        if let Ok(Some(count)) = wire.send(1, client, &[7; 30_000]) {
            sent += count;
        }
        wire.run(1);
    }
    assert!(sent < 1 << 20, "{sent} bytes were taken that nobody reads");
    assert_eq!(wire.hub(1).events(client).unwrap() & POLLOUT, 0);
    let mut came = 0;
    for _ in 0..400 {
        while let Ok(Some(bytes)) = wire.receive(0, server) {
            came += bytes.len();
        }
        wire.run(1);
    }
    assert_eq!(came, sent);
    assert_ne!(wire.hub(1).events(client).unwrap() & POLLOUT, 0);
}

#[test]
fn nobody_at_a_port_is_a_refusal_and_nobody_at_an_address_a_time_out() {
    let mut wire = Wire::new(16);
    for (at, errno, turns) in [(address(1), Errno::ECONNREFUSED, 20), (address(9), Errno::ETIMEDOUT, 70_000)] {
        let client = wire.socket(1, SOCK_STREAM, 40_000, InternetName::LOOPBACK);
        assert_eq!(wire.hub(1).connect(client, &name(SOCK_STREAM, at, 81), [0; 3]), Ok(false));
        wire.run(turns);
        assert_ne!(wire.hub(1).events(client).unwrap() & (POLLERR | POLLHUP), 0);
        assert_eq!(wire.hub(1).take_error(client), Ok(Some(errno)));
        wire.hub(1).close(client);
        wire.run(1200);
    }
    assert_eq!(wire.machines[1].stack.connections(), 0);
}

#[test]
fn a_socket_for_this_machine_alone_is_not_seen_outside() {
    let mut wire = Wire::new(16);
    let listener = wire.socket(0, SOCK_STREAM, 80, InternetName::LOOPBACK);
    wire.hub(0).listen(listener, 8, [0; 3]).unwrap();
    let client = wire.socket(1, SOCK_STREAM, 40_000, InternetName::LOOPBACK);
    wire.hub(1).connect(client, &name(SOCK_STREAM, address(1), 80), [0; 3]).unwrap();
    wire.run(20);
    assert_eq!(wire.hub(1).take_error(client), Ok(Some(Errno::ECONNREFUSED)));
}

#[test]
fn a_peer_that_gives_up_is_an_error() {
    let mut wire = Wire::new(16);
    let (client, server) = wire.connection(80);
    wire.send(1, client, b"unread").unwrap();
    wire.run(5);
    // Its socket goes with bytes in it that nobody has read.
    wire.hub(0).close(server);
    wire.run(5);
    wire.send(1, client, b"more").unwrap();
    wire.run(1200);
    assert!(matches!(wire.send(1, client, b"again"), Err(Errno::EPIPE)), "what is sent goes nowhere");
}

#[test]
fn connections_beyond_the_limit_are_refused() {
    let mut wire = Wire::new(4);
    let mut ends = alloc::vec::Vec::new();
    for number in 0..6 {
        let client = wire.socket(1, SOCK_STREAM, 40_000 + number, InternetName::LOOPBACK);
        wire.hub(1).connect(client, &name(SOCK_STREAM, address(9), 80), [0; 3]).unwrap();
        ends.push(client);
    }
    wire.run(1);
    let errors: alloc::vec::Vec<_> = ends.iter().map(|end| wire.hub(1).take_error(*end).unwrap()).collect();
    assert_eq!(errors, [None, None, None, None, Some(Errno::ENOBUFS), Some(Errno::ENOBUFS)]);
}

#[test]
fn datagrams_go_both_ways() {
    let mut wire = Wire::new(16);
    let server = wire.socket(0, SOCK_DGRAM, 53, InternetName::ANY);
    let client = wire.socket(1, SOCK_DGRAM, 40_000, InternetName::ANY);
    assert_eq!(wire.hub(1).connect(client, &name(SOCK_DGRAM, address(1), 53), [0; 3]), Ok(true));
    assert_eq!(wire.hub(1).name(client, END_OWN).unwrap(), name(SOCK_DGRAM, address(2), 40_000));
    for size in [0, 5, 1400, 9000, 16_000] {
        wire.send(1, client, &alloc::vec![7; size]).unwrap();
        wire.run(8);
        assert_ne!(wire.hub(0).events(server).unwrap() & POLLIN, 0, "{size} bytes came");
        let received = wire.hub(0).receive(server, ReceiveRequest { size: 1 << 16, ..ReceiveRequest::default() }).unwrap().unwrap();
        assert_eq!((received.data.len(), &received.from), (size, &name(SOCK_DGRAM, address(2), 40_000)));
        let answer = Sending { to: received.from, data: received.data, ..Sending::default() };
        wire.hub(0).send(server, &answer, &mut alloc::vec::Vec::new()).unwrap();
        wire.run(8);
        assert_eq!(wire.receive(1, client).unwrap().unwrap().len(), size);
    }
}

#[test]
fn who_holds_many_ports_leaves_others_theirs() {
    let mut wire = Wire::new(16);
    let server = wire.socket(0, SOCK_DGRAM, 53, InternetName::ANY);
    let own = wire.socket(1, SOCK_DGRAM, 39_999, InternetName::ANY);
    let to = name(SOCK_DGRAM, address(1), 53);
    for port in 0..200 {
        let one = wire.socket(1, SOCK_DGRAM, 40_000 + port, InternetName::ANY);
        wire.hub(1).connect(one, &to, [0; 3]).unwrap();
        wire.send(1, one, b"flood").unwrap();
        wire.run(2);
        while wire.receive(0, server).unwrap().is_some() {}
    }
    wire.run(1100);
    while wire.receive(0, server).unwrap().is_some() {}
    wire.hub(1).connect(own, &to, [0; 3]).unwrap();
    wire.send(1, own, b"question").unwrap();
    wire.run(3);
    assert_eq!(wire.receive(0, server), Ok(Some(b"question".to_vec())));
    // Its socket has gone, and comes again with the answer.
    for port in 0..100 {
        let one = wire.socket(1, SOCK_DGRAM, 41_000 + port, InternetName::ANY);
        wire.hub(1).connect(one, &to, [0; 3]).unwrap();
        wire.send(1, one, b"flood").unwrap();
        wire.run(2);
    }
    let answer = Sending { to: name(SOCK_DGRAM, address(2), 39_999), data: b"answer".to_vec(), ..Sending::default() };
    wire.hub(0).send(server, &answer, &mut alloc::vec::Vec::new()).unwrap();
    wire.run(3);
    assert_eq!(wire.receive(1, own), Ok(Some(b"answer".to_vec())));
}

#[test]
fn a_datagram_that_is_too_large_is_refused() {
    let mut wire = Wire::new(16);
    let client = wire.socket(1, SOCK_DGRAM, 40_000, InternetName::ANY);
    wire.hub(1).connect(client, &name(SOCK_DGRAM, address(1), 53), [0; 3]).unwrap();
    assert_eq!(wire.send(1, client, &[0; 16_001]), Err(Errno::EMSGSIZE));
}

#[test]
fn the_machines_own_address_leads_to_its_own_sockets() {
    let mut wire = Wire::new(16);
    let listener = wire.socket(0, SOCK_STREAM, 80, InternetName::ANY);
    wire.hub(0).listen(listener, 8, [0; 3]).unwrap();
    let client = wire.socket(0, SOCK_STREAM, 40_000, InternetName::LOOPBACK);
    assert_eq!(wire.hub(0).connect(client, &name(SOCK_STREAM, address(1), 80), [0; 3]), Ok(true));
    wire.run(2);
    assert_eq!(wire.sent, 0);
    let both = InternetName { version: INTERNET_BOTH, ..InternetName::read(&name(SOCK_STREAM, address(9), 80)).unwrap() };
    let other = wire.socket(0, SOCK_STREAM, 40_001, InternetName::LOOPBACK);
    assert_eq!(wire.hub(0).connect(other, &both.bytes(), [0; 3]), Err(Errno::ECONNREFUSED));
    let far = wire.hub(0).socket(SOCK_STREAM, 0).unwrap();
    assert_eq!(wire.hub(0).bind(far, &name(SOCK_STREAM, InternetName::LOOPBACK, 80), &name(SOCK_STREAM, address(9), 80)), Err(Errno::EADDRNOTAVAIL));
    for (key, own) in [(&b""[..], 80), (b"key", 80), (&name(SOCK_STREAM, InternetName::LOOPBACK, 81), 80), (&name(SOCK_STREAM, address(1), 80), 80)] {
        assert_eq!(wire.hub(0).bind(far, key, &name(SOCK_STREAM, InternetName::ANY, own)), Err(Errno::EINVAL), "{key:?}");
    }
}

#[test]
fn a_name_of_another_kind_leads_nowhere() {
    let mut wire = Wire::new(16);
    let stream = wire.socket(1, SOCK_STREAM, 40_000, InternetName::LOOPBACK);
    assert_eq!(wire.hub(1).connect(stream, &name(SOCK_DGRAM, address(1), 53), [0; 3]), Err(Errno::EPROTOTYPE));
    let datagrams = wire.socket(1, SOCK_DGRAM, 40_000, InternetName::ANY);
    assert_eq!(wire.hub(1).connect(datagrams, &name(SOCK_STREAM, address(1), 80), [0; 3]), Err(Errno::EPROTOTYPE));
    let sending = Sending { to: name(SOCK_STREAM, address(1), 80), data: b"x".to_vec(), ..Sending::default() };
    assert_eq!(wire.hub(1).send(datagrams, &sending, &mut alloc::vec::Vec::new()), Err(Errno::EPROTOTYPE));
}

#[test]
fn nobody_reaches_many_at_once() {
    let mut wire = Wire::new(4);
    for of_many in [[255; 4], address(255), [224, 0, 0, 1], [239, 1, 2, 3]] {
        for kind in [SOCK_STREAM, SOCK_DGRAM] {
            let key = wire.socket(0, kind, 40_000, InternetName::ANY);
            assert_eq!(wire.hub(0).connect(key, &name(kind, of_many, 67), [0; 3]), Err(Errno::ENETUNREACH), "{of_many:?}");
            wire.hub(0).close(key);
        }
        let key = wire.socket(0, SOCK_DGRAM, 40_000, InternetName::ANY);
        let sending = Sending { to: name(SOCK_DGRAM, of_many, 67), data: b"x".to_vec(), ..Sending::default() };
        assert_eq!(wire.hub(0).send(key, &sending, &mut alloc::vec::Vec::new()), Err(Errno::ENETUNREACH), "{of_many:?}");
        wire.hub(0).close(key);
    }
    wire.run(8);
    assert_eq!(wire.sent, 0);
    let key = wire.socket(0, SOCK_STREAM, 40_000, InternetName::ANY);
    assert_eq!(wire.hub(0).connect(key, &name(SOCK_STREAM, [10, 0, 3, 255], 80), [0; 3]), Ok(false), "of another wire nothing is known");
}

#[test]
fn what_is_for_the_machine_alone_is_not_found_by_its_address_outside() {
    let mut wire = Wire::new(16);
    let listener = wire.socket(0, SOCK_STREAM, 80, InternetName::LOOPBACK);
    wire.hub(0).listen(listener, 8, [0; 3]).unwrap();
    let client = wire.socket(0, SOCK_STREAM, 40_000, InternetName::LOOPBACK);
    assert_eq!(wire.hub(0).connect(client, &name(SOCK_STREAM, address(1), 80), [0; 3]), Err(Errno::ECONNREFUSED));
    assert_eq!(wire.hub(0).connect(client, &name(SOCK_STREAM, InternetName::LOOPBACK, 80), [0; 3]), Ok(true));
}

#[test]
fn a_socket_of_the_machine_alone_hears_those_that_it_asked_and_nobody_afterwards() {
    let mut wire = Wire::new(16);
    let server = wire.socket(0, SOCK_DGRAM, 53, InternetName::ANY);
    let client = wire.socket(1, SOCK_DGRAM, 40_000, InternetName::LOOPBACK);
    wire.hub(1).connect(client, &name(SOCK_DGRAM, address(1), 53), [0; 3]).unwrap();
    wire.send(1, client, b"question").unwrap();
    wire.run(8);
    let answer = Sending { to: name(SOCK_DGRAM, address(2), 40_000), data: b"answer".to_vec(), ..Sending::default() };
    wire.hub(0).send(server, &answer, &mut alloc::vec::Vec::new()).unwrap();
    wire.run(8);
    assert_eq!(wire.receive(1, client), Ok(Some(b"answer".to_vec())));
    wire.hub(1).connect(client, &[], [0; 3]).unwrap();
    wire.hub(0).send(server, &answer, &mut alloc::vec::Vec::new()).unwrap();
    wire.run(8);
    assert_eq!(wire.receive(1, client), Ok(None));
}

#[test]
fn frames_without_sense_harm_nobody() {
    let mut wire = Wire::new(16);
    let (client, server) = wire.connection(80);
    wire.send(1, client, b"text").unwrap();
    let Machine { hub, stack } = &mut wire.machines[1];
    let touched = hub.touched();
    stack.turn(hub, &touched, wire.now);
    let frame = stack.leaving().pop_front().unwrap();
    let mut random = 1u64;
    for _ in 0..20_000 {
        let mut bent = frame.clone();
        for _ in 0..3 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = (random >> 33) as usize % bent.len();
            bent[at] ^= (random >> 25) as u8;
        }
        bent.truncate(bent.len() - (random >> 60) as usize);
        let Machine { hub, stack } = &mut wire.machines[0];
        stack.arrive(hub, &bent);
        stack.turn(hub, &BTreeSet::new(), wire.now);
        stack.leaving().clear();
    }
    let Machine { hub, stack } = &mut wire.machines[0];
    stack.arrive(hub, &frame);
    wire.run(5);
    assert_eq!(wire.receive(0, server), Ok(Some(b"text".to_vec())));
}

#[test]
fn a_flood_of_askers_is_bounded() {
    let mut wire = Wire::new(1024);
    let (client, server) = wire.connection(80);
    for number in 0..3000u32 {
        let [_, _, high, low] = number.to_be_bytes();
        let from = [10, 0, 2, 77];
        let mut frame = alloc::vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 9, 9, 8, 0];
        frame.extend([0x45, 0, 0, 40, 0, 0, 0x40, 0, 64, 6, 0, 0]);
        frame.extend(from);
        frame.extend(address(1));
        frame.extend([high.wrapping_add(100), low, 0, 80, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 2, 0x20, 0, 0, 0, 0, 0]);
        fill_sums(&mut frame);
        let Machine { hub, stack } = &mut wire.machines[0];
        stack.arrive(hub, &frame);
        stack.turn(hub, &BTreeSet::new(), wire.now);
    }
    assert!(wire.machines[0].stack.connections() <= 129);
    wire.machines[0].stack.leaving().clear();
    wire.send(1, client, b"still here").unwrap();
    wire.run(50);
    assert_eq!(wire.receive(0, server), Ok(Some(b"still here".to_vec())));
}

/// The sum of 16-bit words that heads carry.
fn sum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
    let total: u32 = words.sum();
    !((total & 0xffff) + (total >> 16)) as u16
}

fn fill_sums(frame: &mut [u8]) {
    let head = sum(&frame[14..34]);
    frame[24..26].copy_from_slice(&head.to_be_bytes());
    let mut pseudo = frame[26..34].to_vec();
    pseudo.extend([0, 6, 0, 20]);
    pseudo.extend(&frame[34..54]);
    let body = sum(&pseudo);
    frame[50..52].copy_from_slice(&body.to_be_bytes());
}

#[test]
fn a_machine_fits_on_a_small_stack() {
    assert!(size_of::<Stack>() < 4096, "{} bytes", size_of::<Stack>());
}
