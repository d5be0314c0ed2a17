//! Frames from a wire, addresses from clients, and sockets that are used in any order.

use crate::bytes::Bytes;
use nacre_channel::hub::outside::Interface;
use nacre_channel::hub::{Hub, Sending};
use nacre_channel::queue::ReceiveRequest;
use nacre_guard::names::Names;
use nacre_guard::{dns, network};
use nacre_guard::subject::{Kind, NETWORK, Subject};
use nacre_internet::Stack;
use nacre_proto::channel::{ECHO, INTERNET, InternetName, MESSAGES};
use nacre_proto::flags::{SOCK_DGRAM, SOCK_STREAM};
use nacre_proto::nic::frames;

const OWN: [u8; 4] = [10, 0, 2, 15];
const PEER: [u8; 4] = [10, 0, 2, 2];
/// Sockets and connections that there are, at most.
const MOST: usize = 8;

/// The heads of a frame from the peer, with choices of the input where a stranger would try some.
fn frame(choices: &mut Bytes<'_>) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 9];
    if choices.byte() % 8 == 0 {
        frame.extend(choices.some());
        return frame;
    }
    let protocol = choices.of(&[6u8, 6, 6, 17, 1]);
    let body = choices.some();
    let size = 20 + 20 * u16::from(protocol == 6) + 8 * u16::from(protocol == 17) + body.len() as u16;
    frame.extend([8, 0, 0x45, 0]);
    frame.extend(size.to_be_bytes());
    frame.extend([0, 0, choices.of(&[0x40, 0x40, 0x20, 0]), 0, 64, protocol, 0, 0]);
    frame.extend(PEER);
    frame.extend(OWN);
    let ports = [40_000 + u16::from(choices.byte() % 4), choices.of(&[80, 53, 40_000])];
    ports.iter().for_each(|port| frame.extend(port.to_be_bytes()));
    match protocol {
        6 => {
            frame.extend((choices.word() as u32).to_be_bytes());
            frame.extend((choices.word() as u32).to_be_bytes());
            frame.extend([0x50, choices.of(&[2, 16, 18, 24, 17, 4, 0xff]), 0x20, 0, 0, 0, 0, 0]);
        }
        17 => frame.extend([(8 + body.len() as u16).to_be_bytes(), [0; 2]].concat()),
        _ => {}
    }
    frame.extend(body);
    fill_sums(&mut frame, protocol);
    frame
}

/// The sum of 16-bit words that heads carry.
fn sum(bytes: &[u8]) -> u16 {
    let mut total: u32 = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0))).sum();
    while total > 0xffff {
        total = (total & 0xffff) + (total >> 16);
    }
    !total as u16
}

/// Fills the sums of a frame's heads in.
pub(super) fn fill_sums(frame: &mut [u8], protocol: u8) {
    let head = sum(&frame[14..34]);
    frame[24..26].copy_from_slice(&head.to_be_bytes());
    if protocol == 6 {
        let size = (frame.len() - 34) as u16;
        let pseudo = [&frame[26..34], &[0, protocol], &size.to_be_bytes(), &frame[34..]].concat();
        let body = sum(&pseudo);
        frame[50..52].copy_from_slice(&body.to_be_bytes());
    }
}

fn name(choices: &mut Bytes<'_>) -> Vec<u8> {
    if choices.byte() % 8 == 0 {
        return choices.some().to_vec();
    }
    let address = choices.of(&[PEER.into(), OWN.into(), InternetName::ANY, InternetName::LOOPBACK]);
    let port = choices.of(&[80, 53, 40_000, 40_001]);
    InternetName { version: choices.of(&[INTERNET, INTERNET, b'j', b'k']), kind: choices.of(&[1, 2, 1, 2, 1, 2, ECHO, MESSAGES]), address, port }.bytes()
}

/// Lets a socket do something.
fn use_socket(hub: &mut Hub<()>, ends: &mut Vec<u64>, choices: &mut Bytes<'_>) {
    let key = ends[choices.below(ends.len())];
    match choices.below(8) {
        0 => {
            let name = name(choices);
            let found_by = InternetName::read(&name).map_or(name.clone(), |parts| InternetName { address: InternetName::LOOPBACK, ..parts }.bytes());
            let _ = hub.bind(key, if choices.byte() % 4 == 0 { &name } else { &found_by }, &name);
        }
        1 => drop(hub.connect(key, &name(choices), [0; 3])),
        2 => drop(hub.listen(key, choices.byte().into(), [0; 3])),
        3 => drop(hub.accept(key, 0).map(|accepted| ends.extend(accepted.map(|accepted| accepted.0)))),
        4 => {
            let to = if choices.byte() % 2 == 0 { Vec::new() } else { name(choices) };
            let _ = hub.send(key, &Sending { to, data: choices.some().to_vec(), ..Sending::default() }, &mut Vec::new());
        }
        5 => drop(hub.receive(key, ReceiveRequest { size: 100, ..ReceiveRequest::default() })),
        6 => drop(hub.shutdown(key, choices.below(3) as u64)),
        _ => drop((hub.events(key), hub.take_error(key), hub.name(key, 0))),
    }
}

/// Resolvers that say what they like to a guarded program, which asks what it likes. Nobody is
/// believed who was not asked.
pub fn names(bytes: &[u8]) {
    let from = InternetName { version: INTERNET, kind: SOCK_DGRAM as u8, address: [10, 0, 2, 3].into(), port: 53 }.bytes();
    let mut names = Names::default();
    names.set_resolvers("nameserver 10.0.2.3");
    names.set_wire(Some((OWN, 24)));
    let reply = [&from[..], bytes].concat();
    let words = [bytes.len() as u64, 8, bytes.len() as u64, 0, 0, 0];
    names.hears(0, &words, &reply, 0);
    let Some(found) = dns::decode(bytes) else { return };
    let subjects = |names: &mut Names, [a, b, c, d]: [u8; 4]| names.subjects(format!("tcp {a}.{b}.{c}.{d}:80").as_bytes(), 1);
    assert!(found.all.iter().all(|(address, _)| subjects(&mut names, *address).is_empty()), "nothing was asked");
    // The question is what the answer repeats, without the bit that makes it one.
    let mut asked = bytes.to_vec();
    asked[2] &= 0x7f;
    assert_eq!(dns::question(&asked), Some(found.question.clone()));
    names.asks(&asked);
    names.hears(0, &words, &reply, 0);
    for (address, _) in &found.all {
        let expected = [b"tcp ", &found.question.name[..], b":80"].concat();
        let is_far = ![0, 127].contains(&address[0]) && address[0] < 224 && address[..2] != [169, 254] && address[..3] != [10, 0, 2];
        assert_eq!(subjects(&mut names, *address), if is_far { vec![expected] } else { Vec::new() });
    }
}

/// A machine on a wire that says what it likes.
pub fn internet(bytes: &[u8]) {
    frames(bytes).for_each(|frame| assert!(frame.is_none_or(|frame| frame.len() <= bytes.len())));
    let service = Subject { name: NETWORK.to_vec(), kind: Kind::Service, is_strange: false };
    let _ = network::subject(&service, nacre_proto::channel::bind::LABEL, &[3; 6], bytes);
    let _ = network::alias(&service, nacre_proto::channel::send::LABEL, &[3; 6], bytes, &[OWN.into()]);
    let mut choices = Bytes(bytes);
    let mut hub: Hub<()> = Hub::default();
    let way = Interface { address: OWN, prefix: 24, gateway: Some(PEER), card: [2, 0, 0, 0, 0, 1], packet: 1500 };
    hub.set_interface(way);
    let mut stack = Stack::new(&way, MOST, 1, 0);
    if choices.byte() % 4 == 0 {
        // Routers are what the wire says, too.
        stack = stack.asking_6(0);
    }
    let (mut ends, mut now) = (Vec::new(), 0u64);
    while !choices.is_over() {
        match choices.below(4) {
            0 if ends.len() < MOST => ends.extend(hub.socket(choices.of(&[SOCK_STREAM, SOCK_DGRAM]), 0)),
            1 if !ends.is_empty() => use_socket(&mut hub, &mut ends, &mut choices),
            2 => now += choices.of(&[1_000_000, 1_000_000, 1_000_000_000, 61_000_000_000]),
            _ => stack.arrive(&hub, &frame(&mut choices)),
        }
        let touched = hub.touched();
        stack.turn(&mut hub, &touched, now);
        assert!(stack.connections() <= MOST && stack.leaving().len() <= 512);
        stack.leaving().clear();
        let _ = stack.patience(now);
    }
    for key in ends {
        hub.close(key);
    }
    for _ in 0..200 {
        now += 1_000_000_000;
        let touched = hub.touched();
        stack.turn(&mut hub, &touched, now);
        stack.leaving().clear();
    }
    assert_eq!((stack.connections(), hub.ends()), (0, 0), "nothing is left of what was closed");
}
