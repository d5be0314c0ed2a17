//! Messages of ICMP: sockets that ask machines for an echo, and those that hear all messages.
//!
//! Both are sockets of datagrams, and their names tell which they are. A socket of the kind
//! [`ECHO`] sends requests with its own number, and receives their answers alone. A socket of the
//! kind [`MESSAGES`] sends what it likes, and receives each message with the head of its packet.
//! The machine itself answers here. What is for others goes out with the datagrams.

use super::budgets::Way;
use super::outside::Datagram;
use super::{Hub, Stage};
use alloc::vec::Vec;
use nacre_proto::Errno;
use nacre_proto::channel::{Address, ECHO, INTERNET, InternetName, MESSAGES};

/// Types of messages, which are their first byte.
const REQUEST: u8 = 8;
const REPLY: u8 = 0;
/// Bytes of the head of an echo, and of a packet.
const HEAD: usize = 8;
const PACKET_HEAD: usize = 20;
/// Bytes of the largest message.
const MAX_MESSAGE: usize = u16::MAX as usize - PACKET_HEAD;
/// Number of ICMP among the protocols.
const PROTOCOL: u8 = 1;
/// Hops of packets of the machine itself.
const HOPS: u8 = 64;
/// Sockets of one account that hear all messages, at most, and those of all accounts: each message
/// is copied for each of them.
const MAX_HEARERS: usize = 16;
const MAX_HEARERS_OF_ALL: usize = 256;

/// The sum that heads carry. Over bytes with a right sum it is 0.
fn sum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
    let mut total: u32 = words.sum();
    while total > 0xffff {
        total = (total & 0xffff) + (total >> 16);
    }
    !total as u16
}

/// Writes the sum of bytes into them.
fn fill_sum(bytes: &mut [u8], at: usize) {
    bytes[at..at + 2].fill(0);
    let sum = sum(bytes);
    bytes[at..at + 2].copy_from_slice(&sum.to_be_bytes());
}

/// A message as a socket with this name sends it. `EINVAL`: it may not send such a one.
fn message(own: InternetName, data: &[u8]) -> Result<Vec<u8>, Errno> {
    if data.len() > MAX_MESSAGE {
        return Err(Errno::EMSGSIZE);
    }
    let mut message = data.to_vec();
    if own.kind == ECHO {
        if message.len() < HEAD || message[..2] != [REQUEST, 0] {
            return Err(Errno::EINVAL);
        }
        message[4..6].copy_from_slice(&own.port.to_be_bytes());
        fill_sum(&mut message, 2);
    }
    Ok(message)
}

/// The packet of a message of at most [`MAX_MESSAGE`] bytes.
fn packet(from: [u8; 4], to: [u8; 4], hops: u8, message: &[u8]) -> Vec<u8> {
    let mut packet = [&[0x45, 0, 0, 0, 0, 0, 0x40, 0, hops, PROTOCOL, 0, 0][..], &from, &to].concat();
    let size = (PACKET_HEAD + message.len()) as u16;
    packet[2..4].copy_from_slice(&size.to_be_bytes());
    fill_sum(&mut packet, 10);
    packet.extend(message);
    packet
}

/// The sender, the hops that are left, and the message of a packet.
fn contents(packet: &[u8]) -> Option<([u8; 4], u8, &[u8])> {
    let [first, _, high, low, _, _, _, _, hops, PROTOCOL, _, _, a, b, c, d, ..] = *packet else { return None };
    let head = usize::from(first & 0xf) * 4;
    let size = usize::from(u16::from_be_bytes([high, low]));
    let message = packet.get(head..size).filter(|_| first >> 4 == 4 && head >= PACKET_HEAD)?;
    Some(([a, b, c, d], hops, message))
}

impl<R> Hub<R> {
    /// Returns true if an end is a socket of ICMP.
    pub(super) fn is_echo(&self, key: u64) -> bool {
        self.ends.get(&key).and_then(|end| InternetName::read(&end.name)).is_some_and(InternetName::is_icmp)
    }

    /// Connects a socket of ICMP: it sends there, and hears from there alone.
    pub(super) fn connect_echo(&mut self, key: u64, name: &[u8]) -> Result<bool, Errno> {
        self.local_name(name)?;
        let end = self.end_mut(key)?;
        // Whoever judges names goes by the kind that they tell.
        let kinds = [&end.name[..], name].map(|name| InternetName::read(name).map(|name| name.kind));
        if kinds[0] != kinds[1] {
            return Err(Errno::EPROTOTYPE);
        }
        (end.stage, end.peer_name) = (Stage::Outside, name.to_vec());
        Ok(true)
    }

    /// Sends a message of ICMP. `None`: it would have to wait.
    pub(super) fn send_echo(&mut self, key: u64, name: &[u8], data: &[u8]) -> Result<Option<usize>, Errno> {
        let end = self.end(key)?;
        let own = InternetName::read(&end.name).ok_or(Errno::EINVAL)?;
        let to = match end.stage {
            Stage::Outside if name.is_empty() => InternetName::read(&end.peer_name),
            _ if name.is_empty() => return Err(Errno::ENOTCONN),
            _ => InternetName::read(name),
        };
        let to = to.filter(|to| to.kind == own.kind).ok_or(Errno::EPROTOTYPE)?;
        if end.is_mute {
            return Err(Errno::EPIPE);
        }
        let message = message(own, data)?;
        let is_of_machine = self.local_name(&to.bytes())?.is_some();
        if is_of_machine {
            self.loop_back(to, &message);
            return Ok(Some(data.len()));
        }
        let datagram = Datagram { kind: to.kind, from: own.port, to: (to.address, to.port), data: message };
        Ok(self.push_outside(key, datagram)?.then_some(data.len()))
    }

    /// Answers a message to the machine itself, as far as it is a request for an echo.
    fn loop_back(&mut self, to: InternetName, message: &[u8]) {
        const SELF: [u8; 4] = [127, 0, 0, 1];
        let address = to.address.four().filter(|address| *address != [0; 4]).unwrap_or(SELF);
        let (from, asked) = (if to.is_of_machine() { SELF } else { address }, address);
        self.hear(&packet(from, asked, to.port.clamp(1, 255) as u8, message));
        if message.len() < HEAD || message[..2] != [REQUEST, 0] || sum(message) != 0 {
            return;
        }
        let mut reply = message.to_vec();
        reply[0] = REPLY;
        fill_sum(&mut reply, 2);
        self.hear(&packet(asked, from, HOPS, &reply));
    }

    /// Brings a packet with a message of ICMP to all who hear it. What is no such packet is lost.
    pub fn hear(&mut self, packet: &[u8]) {
        let Some((from, hops, message)) = contents(packet) else { return };
        for key in self.hearers() {
            self.bring(key, MESSAGES, (from, hops), packet);
        }
        if let [REPLY, 0, _, _, high, low, _, _, ..] = *message {
            let name = InternetName { version: INTERNET, kind: ECHO, address: InternetName::LOOPBACK, port: u16::from_be_bytes([high, low]) };
            if let Some(key) = self.names.get(&name.bytes()).copied() {
                self.bring(key, ECHO, (from, hops), message);
            }
        }
    }

    /// Brings a socket a message, unless it hears from another machine alone.
    fn bring(&mut self, key: u64, kind: u8, (address, hops): ([u8; 4], u8), data: &[u8]) {
        let from = InternetName { version: INTERNET, kind, address: address.into(), port: hops.into() };
        let hears = self.ends.get(&key).is_some_and(|end| end.stage != Stage::Outside || InternetName::read(&end.peer_name).is_some_and(|peer| peer.address == from.address));
        let is_inside = from.is_of_machine() || self.is_own(from.address);
        if hears && (is_inside || self.spend(key, Way::In, data.len()).is_ok()) {
            self.put_datagram(key, &from.bytes(), data);
        }
    }

    /// Sockets that hear all messages.
    fn hearers(&self) -> Vec<u64> {
        let of_port = |port| InternetName { version: INTERNET, kind: MESSAGES, address: InternetName::LOOPBACK, port }.bytes();
        self.names.range(of_port(0)..=of_port(u16::MAX)).map(|(_, key)| *key).collect()
    }

    /// Returns true if there is a socket of ICMP.
    pub fn hears_messages(&self) -> bool {
        let of_kind = |kind, address, port| InternetName { version: INTERNET, kind, address, port }.bytes();
        self.names.range(of_kind(ECHO, Address::Four([0; 4]), 0)..=of_kind(MESSAGES, Address::Four([255; 4]), u16::MAX)).next().is_some()
    }

    /// Checks that the account of a socket may have one more that hears all messages, if the name
    /// is that of such a one.
    pub(super) fn check_hearers(&self, key: u64, name: &[u8]) -> Result<(), Errno> {
        if InternetName::read(name).is_none_or(|name| name.kind != MESSAGES) {
            return Ok(());
        }
        let account = self.account_of(key)?;
        let all = self.hearers();
        let count = all.iter().filter(|other| self.account_of(**other) == Ok(account)).count();
        if count < MAX_HEARERS && all.len() < MAX_HEARERS_OF_ALL { Ok(()) } else { Err(Errno::ENOBUFS) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hub::{Sending, outside::Interface};
    use crate::queue::ReceiveRequest;
    use nacre_proto::flags::SOCK_DGRAM;

    const OWN: [u8; 4] = [10, 0, 2, 15];
    const PEER: [u8; 4] = [10, 0, 2, 2];

    fn name(kind: u8, address: impl Into<Address>, port: u16) -> Vec<u8> {
        InternetName { version: INTERNET, kind, address: address.into(), port }.bytes()
    }

    fn socket(hub: &mut Hub<u64>, kind: u8, port: u16) -> u64 {
        let key = hub.socket(SOCK_DGRAM, 0).unwrap();
        hub.bind(key, &name(kind, InternetName::LOOPBACK, port), &name(kind, InternetName::ANY, port)).unwrap();
        key
    }

    fn send(hub: &mut Hub<u64>, key: u64, to: &[u8], data: &[u8]) -> Result<Option<usize>, Errno> {
        hub.send(key, &Sending { to: to.to_vec(), data: data.to_vec(), ..Sending::default() }, &mut Vec::new())
    }

    fn received(hub: &mut Hub<u64>, key: u64) -> Option<(Vec<u8>, InternetName)> {
        let found = hub.receive(key, ReceiveRequest { size: 1000, ..ReceiveRequest::default() }).unwrap()?;
        Some((found.data, InternetName::read(&found.from).unwrap()))
    }

    const ASK: [u8; 12] = [REQUEST, 0, 1, 2, 3, 4, 0, 7, b'd', b'a', b't', b'a'];

    #[test]
    fn the_machine_answers_itself() {
        let mut hub: Hub<u64> = Hub::default();
        let (echo, other, raw) = (socket(&mut hub, ECHO, 77), socket(&mut hub, ECHO, 78), socket(&mut hub, MESSAGES, 1));
        assert_eq!(send(&mut hub, echo, &name(ECHO, [127, 0, 0, 9], 33), &ASK), Ok(Some(12)));
        let (data, from) = received(&mut hub, echo).unwrap();
        assert_eq!((&data[..2], &data[4..], sum(&data)), (&[REPLY, 0][..], &[0, 77, 0, 7, b'd', b'a', b't', b'a'][..], 0));
        assert_eq!((from.address, from.port, received(&mut hub, echo), received(&mut hub, other)), ([127, 0, 0, 9].into(), 64, None, None));
        let all: Vec<_> = core::iter::from_fn(|| received(&mut hub, raw)).collect();
        assert_eq!(all.iter().map(|(data, from)| (data[20], data.len(), sum(&data[..20]), from.port)).collect::<Vec<_>>(), [(REQUEST, 32, 0, 33), (REPLY, 32, 0, 64)]);
    }

    #[test]
    fn what_is_no_request_is_refused() {
        let mut hub: Hub<u64> = Hub::default();
        let (echo, raw) = (socket(&mut hub, ECHO, 77), socket(&mut hub, MESSAGES, 1));
        let to = name(ECHO, InternetName::LOOPBACK, 64);
        for wrong in [&ASK[..7], &[REPLY, 0, 0, 0, 0, 0, 0, 0], &[REQUEST, 1, 0, 0, 0, 0, 0, 0], &[]] {
            assert_eq!(send(&mut hub, echo, &to, wrong), Err(Errno::EINVAL));
        }
        assert_eq!(send(&mut hub, echo, &name(SOCK_DGRAM as u8, InternetName::LOOPBACK, 53), &ASK), Err(Errno::EPROTOTYPE), "a guard has judged another name");
        assert_eq!(send(&mut hub, echo, &[], &ASK), Err(Errno::ENOTCONN));
        assert_eq!(send(&mut hub, echo, &name(ECHO, PEER, 64), &ASK), Err(Errno::ENETUNREACH));
        assert_eq!(send(&mut hub, raw, &name(MESSAGES, InternetName::LOOPBACK, 64), &[1, 2]), Ok(Some(2)));
        assert_eq!(received(&mut hub, raw).map(|(data, _)| data[20..].to_vec()), Some([1, 2].to_vec()));
        assert_eq!(send(&mut hub, raw, &name(MESSAGES, InternetName::LOOPBACK, 64), &ASK), Ok(Some(12)));
        assert!(received(&mut hub, raw).is_some() && received(&mut hub, raw).is_none(), "its sum is wrong");
        let datagram = hub.socket(SOCK_DGRAM, 0).unwrap();
        hub.bind(datagram, &name(2, InternetName::LOOPBACK, 5), &name(2, InternetName::ANY, 5)).unwrap();
        for to in [name(ECHO, InternetName::LOOPBACK, 77), name(MESSAGES, InternetName::LOOPBACK, 1)] {
            assert_eq!(send(&mut hub, datagram, &to, &ASK), Err(Errno::EPROTOTYPE), "an answer would be forged");
            assert_eq!(hub.connect(datagram, &to, [0; 3]), Err(Errno::EPROTOTYPE));
        }
        assert_eq!((received(&mut hub, echo), received(&mut hub, raw)), (None, None));
    }

    #[test]
    fn answers_come_from_outside() {
        let mut hub: Hub<u64> = Hub::default();
        hub.set_interface(Interface { address: OWN, prefix: 24, gateway: Some(PEER), card: [0; 6], packet: 1500 });
        assert!(!hub.hears_messages());
        let (echo, raw) = (socket(&mut hub, ECHO, 77), socket(&mut hub, MESSAGES, 1));
        assert!(hub.hears_messages());
        hub.connect(echo, &name(ECHO, PEER, 9), [0; 3]).unwrap();
        assert_eq!(send(&mut hub, echo, &[], &ASK), Ok(Some(12)));
        let sent = hub.next_datagram().unwrap();
        assert_eq!((sent.kind, sent.to, &sent.data[4..6]), (ECHO, (PEER.into(), 9), &[0, 77][..]));
        let reply = [&[REPLY, 0][..], &sent.data[2..]].concat();
        hub.hear(&packet([10, 0, 2, 3], OWN, 3, &reply));
        assert_eq!(received(&mut hub, echo), None, "it is connected to another");
        hub.hear(&packet(PEER, OWN, 3, &reply));
        assert_eq!(received(&mut hub, echo).map(|(data, from)| (data, from.address, from.port)), Some((reply.clone(), PEER.into(), 3)));
        assert!(received(&mut hub, raw).is_some());
        let whole = packet(PEER, OWN, 3, &reply);
        (0..whole.len()).for_each(|size| hub.hear(&whole[..size]));
        assert_eq!(received(&mut hub, echo), None, "what is cut off is lost");
    }

    #[test]
    fn who_hears_all_messages_has_a_bound() {
        let mut hub: Hub<u64> = Hub::default();
        hub.charge_to(7);
        for port in 0..MAX_HEARERS as u16 {
            socket(&mut hub, MESSAGES, port + 1);
        }
        let key = hub.socket(SOCK_DGRAM, 0).unwrap();
        let names = [InternetName::LOOPBACK, InternetName::ANY].map(|address| name(MESSAGES, address, 99));
        assert_eq!(hub.bind(key, &names[0], &names[1]), Err(Errno::ENOBUFS));
        (MAX_HEARERS..MAX_HEARERS_OF_ALL).for_each(|number| {
            hub.charge_to(8 + (number / MAX_HEARERS) as u64);
            socket(&mut hub, MESSAGES, 100 + number as u16);
        });
        hub.charge_to(7_777);
        let key = hub.socket(SOCK_DGRAM, 0).unwrap();
        assert_eq!(hub.bind(key, &names[0], &names[1]), Err(Errno::ENOBUFS), "others have taken all");
    }

    #[test]
    fn an_end_of_a_pair_hears_no_messages() {
        let mut hub: Hub<u64> = Hub::default();
        let (end, _) = hub.pair(SOCK_DGRAM, 0, [0; 3]).unwrap();
        for kind in [ECHO, MESSAGES, SOCK_DGRAM as u8] {
            assert_eq!(hub.bind(end, &name(kind, InternetName::LOOPBACK, 7), &name(kind, InternetName::ANY, 7)), Err(Errno::EINVAL));
        }
        assert!(!hub.hears_messages() && hub.bind(end, &[], b"path").is_ok());
    }
}
