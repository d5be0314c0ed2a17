//! Answers to questions about interfaces, addresses and routes that come by netlink
//! (Linux: rtnetlink(7)): what `ip`, `getifaddrs` and `if_nameindex` ask.

use crate::abi::errno::{EINVAL, ENODEV, EOPNOTSUPP, EPERM, Errno};
use crate::operations::sockets::interfaces::{Interface, PREFIX6, QUEUE};
use crate::state::files::socket_family::{AF_INET, AF_INET6, LOOPBACK6};
use alloc::vec::Vec;

/// Bytes of a `struct nlmsghdr`, `struct ifinfomsg` and `struct ifaddrmsg`.
const HEADER: usize = 16;
const LINK: usize = 16;
const ADDRESS: usize = 8;
const ALIGNMENT: usize = 4;

const ERROR: u16 = 2;
const DONE: u16 = 3;
const FIRST: u16 = 16;
const NEW_LINK: u16 = 16;
const GET_LINK: u16 = 18;
const NEW_ADDRESS: u16 = 20;
const GET_ADDRESS: u16 = 22;
const NEW_ROUTE: u16 = 24;
const GET_ROUTE: u16 = 26;

/// Flags of a request: it is one; an answer is wanted in any case; all there is, not one.
const REQUEST: u16 = 1;
const ACKNOWLEDGE: u16 = 4;
const ALL: u16 = 0x300;
/// Flag of an answer: others follow.
const SEVERAL: u16 = 2;

/// `IFF_LOWER_UP`.
const LOWER_UP: u32 = 0x1_0000;
/// `IF_OPER_UP`.
const UP: u8 = 6;
/// `IFA_F_PERMANENT`, and the scope of addresses that are of this machine alone.
const PERMANENT: u8 = 0x80;
const HOST: u8 = 254;
const LINK_SCOPE: u8 = 253;
const EVERYWHERE: u8 = 0;
/// `RT_TABLE_MAIN`, `RTPROT_KERNEL` and `RTPROT_BOOT`, `RTN_UNICAST`.
const MAIN: u8 = 254;
const BY_KERNEL: u8 = 2;
const AT_BOOT: u8 = 3;
const UNICAST: u8 = 1;

/// A request.
struct Request<'a> {
    kind: u16,
    flags: u16,
    /// Number that the answers have, too.
    sequence: [u8; 4],
    header: &'a [u8],
    body: &'a [u8],
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

impl<'a> Request<'a> {
    /// The first request, and what follows it; `None`: there is none.
    fn first(bytes: &'a [u8]) -> Option<(Request<'a>, &'a [u8])> {
        let size = word(bytes, 0)? as usize;
        let whole = bytes.get(..size).filter(|whole| whole.len() >= HEADER)?;
        let (header, body) = whole.split_at(HEADER);
        let rest = bytes.get(size.next_multiple_of(ALIGNMENT)..).unwrap_or_default();
        let (kind, flags) = (u16::from_le_bytes([header[4], header[5]]), u16::from_le_bytes([header[6], header[7]]));
        Some((Request { kind, flags, sequence: [header[8], header[9], header[10], header[11]], header, body }, rest))
    }

    fn wants_all(&self) -> bool {
        self.flags & ALL == ALL
    }

    fn family(&self) -> u8 {
        self.body.first().copied().unwrap_or(0)
    }
}

/// Answers under way to one who asks.
struct Answers {
    messages: Vec<Vec<u8>>,
    receiver: u32,
}

impl Answers {
    fn put(&mut self, request: &Request<'_>, kind: u16, flags: u16, body: &[u8]) {
        let mut message = ((HEADER + body.len()) as u32).to_le_bytes().to_vec();
        message.extend([kind, flags].iter().flat_map(|half| half.to_le_bytes()));
        message.extend(request.sequence);
        message.extend(self.receiver.to_le_bytes());
        message.extend(body);
        message.resize(message.len().next_multiple_of(ALIGNMENT), 0);
        self.messages.push(message);
    }

    /// Says how a request has ended: with the error, and the request's header.
    fn end(&mut self, request: &Request<'_>, error: i32) {
        let body = [&error.to_le_bytes(), request.header].concat();
        self.put(request, ERROR, 0, &body);
    }

    /// Answers a request for one thing, or for all of them.
    fn tell(&mut self, request: &Request<'_>, kind: u16, bodies: &[Vec<u8>]) {
        let flags = if request.wants_all() { SEVERAL } else { 0 };
        bodies.iter().for_each(|body| self.put(request, kind, flags, body));
        if request.wants_all() {
            self.put(request, DONE, SEVERAL, &[0; 4]);
        }
    }
}

/// Appends an attribute.
fn attribute(into: &mut Vec<u8>, kind: u16, value: &[u8]) {
    into.extend([(4 + value.len()) as u16, kind].iter().flat_map(|half| half.to_le_bytes()));
    into.extend(value);
    into.resize(into.len().next_multiple_of(ALIGNMENT), 0);
}

/// Finds an attribute's value.
fn find(mut bytes: &[u8], kind: u16) -> Option<&[u8]> {
    loop {
        let [low, high, first, second, ..] = bytes else { return None };
        let size = usize::from(u16::from_le_bytes([*low, *high]));
        let value = bytes.get(4..size)?;
        if u16::from_le_bytes([*first, *second]) & 0x3fff == kind {
            return Some(value);
        }
        bytes = bytes.get(size.next_multiple_of(ALIGNMENT)..)?;
    }
}

/// An interface as a `struct ifinfomsg` with attributes.
fn link(interface: &Interface) -> Vec<u8> {
    let mut body = [0; 2].to_vec();
    body.extend(interface.hardware.to_le_bytes());
    body.extend([interface.index, u32::from(interface.flags) | LOWER_UP, 0].iter().flat_map(|word| word.to_le_bytes()));
    let everybody = if interface.is_loopback() { [0; 6] } else { [0xff; 6] };
    let state = if interface.is_loopback() { 0 } else { UP };
    // Name, length of the queue, state and mode of the link, largest packet, who queues, addresses.
    attribute(&mut body, 3, interface.name);
    attribute(&mut body, 13, &QUEUE.to_le_bytes());
    attribute(&mut body, 16, &[state]);
    attribute(&mut body, 17, &[0]);
    attribute(&mut body, 4, &interface.largest.to_le_bytes());
    attribute(&mut body, 6, b"noqueue\0");
    attribute(&mut body, 1, &interface.card);
    attribute(&mut body, 2, &everybody);
    body
}

/// An address of an interface as a `struct ifaddrmsg` with attributes.
fn own_address(interface: &Interface, family: u16, prefix: u8, address: &[u8]) -> Vec<u8> {
    let scope = if interface.is_loopback() { HOST } else { EVERYWHERE };
    let mut body = [family as u8, prefix, PERMANENT, scope].to_vec();
    body.extend(interface.index.to_le_bytes());
    attribute(&mut body, 1, address);
    if family == AF_INET {
        attribute(&mut body, 2, address);
        attribute(&mut body, 3, interface.name);
    }
    if !interface.is_loopback() {
        attribute(&mut body, 4, &interface.broadcast());
    }
    attribute(&mut body, 8, &u32::from(PERMANENT).to_le_bytes());
    // Times: valid and preferred for ever.
    attribute(&mut body, 6, &[[0xff; 8], [0; 8]].concat());
    body
}

/// The addresses of all interfaces.
fn addresses(interfaces: &[Interface]) -> Vec<Vec<u8>> {
    let mut own: Vec<Vec<u8>> = interfaces.iter().map(|interface| own_address(interface, AF_INET, interface.prefix, &interface.address)).collect();
    own.extend(interfaces.iter().filter(|interface| interface.is_loopback()).map(|interface| own_address(interface, AF_INET6, PREFIX6, &LOOPBACK6)));
    own
}

/// The ways out as `struct rtmsg` with attributes: to all on the wire, and to all others.
fn routes(interfaces: &[Interface]) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for interface in interfaces.iter().filter(|interface| !interface.is_loopback()) {
        if let Some(gateway) = interface.gateway {
            let mut body = [AF_INET as u8, 0, 0, 0, MAIN, AT_BOOT, EVERYWHERE, UNICAST, 0, 0, 0, 0].to_vec();
            attribute(&mut body, 15, &u32::from(MAIN).to_le_bytes());
            attribute(&mut body, 5, &gateway);
            attribute(&mut body, 4, &interface.index.to_le_bytes());
            all.push(body);
        }
        let mut body = [AF_INET as u8, interface.prefix, 0, 0, MAIN, BY_KERNEL, LINK_SCOPE, UNICAST, 0, 0, 0, 0].to_vec();
        let wire = u32::from_be_bytes(interface.address) & u32::from_be_bytes(interface.mask());
        attribute(&mut body, 15, &u32::from(MAIN).to_le_bytes());
        attribute(&mut body, 1, &wire.to_be_bytes());
        attribute(&mut body, 7, &interface.address);
        attribute(&mut body, 4, &interface.index.to_le_bytes());
        all.push(body);
    }
    all
}

/// The interface that a request for one names, by number or by name.
fn named<'a>(interfaces: &'a [Interface], body: &[u8]) -> Result<&'a Interface, Errno> {
    const IFLA_IFNAME: u16 = 3;
    let index = word(body, 4).ok_or(EINVAL)?;
    let name = find(body.get(LINK..).unwrap_or_default(), IFLA_IFNAME);
    let is_meant = |interface: &&Interface| if index == 0 { name.is_some_and(|name| interface.is_named(name)) } else { interface.index == index };
    interfaces.iter().find(is_meant).ok_or(ENODEV)
}

fn answer(answers: &mut Answers, request: &Request<'_>, interfaces: &[Interface]) -> Result<(), Errno> {
    let is_question = (request.kind - FIRST) % 4 == 2;
    let of_family = |mut bodies: Vec<Vec<u8>>| {
        bodies.retain(|body| [0, body[0]].contains(&request.family()));
        bodies
    };
    match request.kind {
        GET_LINK if request.wants_all() => {
            let links: Vec<Vec<u8>> = interfaces.iter().map(link).collect();
            answers.tell(request, NEW_LINK, &links);
        }
        GET_LINK => answers.tell(request, NEW_LINK, &[link(named(interfaces, request.body)?)]),
        GET_ADDRESS if request.wants_all() => answers.tell(request, NEW_ADDRESS, &of_family(addresses(interfaces))),
        GET_ADDRESS if request.body.len() < ADDRESS => return Err(EINVAL),
        GET_ROUTE if request.wants_all() => answers.tell(request, NEW_ROUTE, &of_family(routes(interfaces))),
        // There is nobody beside us that is told of, and no rule.
        _ if is_question && request.wants_all() => answers.tell(request, request.kind, &[]),
        GET_ROUTE => return Err(Errno::ENETUNREACH),
        _ if is_question => return Err(EOPNOTSUPP),
        _ => return Err(EPERM),
    }
    Ok(())
}

/// Answers the requests of one message, for the socket with this number. Each answer is a message.
pub fn answers(mut bytes: &[u8], receiver: u32, interfaces: &[Interface]) -> Vec<Vec<u8>> {
    let mut answers = Answers { messages: Vec::new(), receiver };
    while let Some((request, rest)) = Request::first(bytes) {
        bytes = rest;
        if request.kind < FIRST || request.flags & REQUEST == 0 {
            continue;
        }
        match answer(&mut answers, &request, interfaces) {
            Err(error) => answers.end(&request, -(error.0 as i32)),
            Ok(()) if request.flags & ACKNOWLEDGE != 0 && !request.wants_all() => answers.end(&request, 0),
            Ok(()) => {}
        }
    }
    answers.messages
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use crate::state::files::socket_family::LOOPBACK;

    fn answers(bytes: &[u8], receiver: u32) -> Vec<Vec<u8>> {
        super::answers(bytes, receiver, &[Interface::LOOPBACK])
    }

    fn request(kind: u16, flags: u16, body: &[u8]) -> Vec<u8> {
        let mut bytes = ((HEADER + body.len()) as u32).to_le_bytes().to_vec();
        bytes.extend(kind.to_le_bytes());
        bytes.extend((flags | 1).to_le_bytes());
        bytes.extend([7, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend(body);
        bytes
    }

    fn kinds(messages: &[Vec<u8>]) -> Vec<u16> {
        messages.iter().map(|message| u16::from_le_bytes([message[4], message[5]])).collect()
    }

    fn error(messages: &[Vec<u8>]) -> i32 {
        i32::from_le_bytes(messages[0][HEADER..HEADER + 4].try_into().unwrap())
    }

    #[test]
    fn all_links_and_addresses_are_one() {
        let links = answers(&request(GET_LINK, ALL, &[0; LINK]), 42);
        assert_eq!(kinds(&links), [NEW_LINK, DONE]);
        assert_eq!((word(&links[0], 0).unwrap() as usize, word(&links[0], 8), word(&links[0], 12)), (links[0].len(), Some(7), Some(42)));
        assert_eq!(find(&links[0][HEADER + LINK..], 3), Some(&b"lo\0"[..]));
        let addresses = answers(&request(GET_ADDRESS, ALL, &[0; ADDRESS]), 42);
        assert_eq!(kinds(&addresses), [NEW_ADDRESS, NEW_ADDRESS, DONE]);
        assert_eq!(find(&addresses[1][HEADER + ADDRESS..], 1), Some(&LOOPBACK6[..]));
        assert_eq!(find(&addresses[0][HEADER + ADDRESS..], 1), Some(&LOOPBACK[..]));
        let other = answers(&request(GET_ADDRESS, ALL, &[10, 0, 0, 0, 0, 0, 0, 0]), 42);
        assert_eq!(kinds(&other), [NEW_ADDRESS, DONE]);
        assert_eq!(kinds(&answers(&request(GET_ADDRESS, ALL, &[7, 0, 0, 0, 0, 0, 0, 0]), 42)), [DONE]);
        assert_eq!(kinds(&answers(&request(GET_ROUTE, ALL, &[0; 12]), 42)), [DONE]);
    }

    #[test]
    fn one_link_is_found_by_number_or_name() {
        let mut by_name = vec![0; LINK];
        attribute(&mut by_name, 3, b"lo\0");
        let mut by_number = vec![0; LINK];
        by_number[4] = 1;
        for body in [&by_name, &by_number] {
            assert_eq!(kinds(&answers(&request(GET_LINK, 0, body), 0)), [NEW_LINK]);
        }
        by_number[4] = 2;
        let missing = answers(&request(GET_LINK, 0, &by_number), 0);
        assert_eq!((kinds(&missing), error(&missing)), (vec![ERROR], -(ENODEV.0 as i32)));
    }

    #[test]
    fn changes_are_refused_and_nonsense_is_not_answered() {
        let change = answers(&request(NEW_LINK, ACKNOWLEDGE, &[0; LINK]), 0);
        assert_eq!((kinds(&change), error(&change)), (vec![ERROR], -(EPERM.0 as i32)));
        assert!(answers(&[], 0).is_empty() && answers(&[0; 16], 0).is_empty() && answers(&[0xff; 40], 0).is_empty());
        let mut two = request(GET_LINK, ALL, &[0; LINK]);
        two.extend(request(GET_ROUTE, ALL, &[]));
        assert_eq!(kinds(&answers(&two, 0)), [NEW_LINK, DONE, DONE]);
        for size in 0..two.len() {
            answers(&two[..size], 0);
        }
    }

    #[test]
    fn a_card_is_told_of_with_its_ways_out() {
        let card = Interface { name: b"eth0\0", index: 2, hardware: 1, card: [2; 6], flags: 0x1043, largest: 1500, address: [10, 0, 2, 15], prefix: 24, gateway: Some([10, 0, 2, 2]) };
        let both = [Interface::LOOPBACK, card];
        let all = |kind, size| super::answers(&request(kind, ALL, &vec![0; size]), 1, &both);
        assert_eq!(kinds(&all(GET_LINK, LINK)), [NEW_LINK, NEW_LINK, DONE]);
        let addresses = all(GET_ADDRESS, ADDRESS);
        assert_eq!(kinds(&addresses), [NEW_ADDRESS, NEW_ADDRESS, NEW_ADDRESS, DONE]);
        assert_eq!(find(&addresses[1][HEADER + ADDRESS..], 4), Some(&[10, 0, 2, 255][..]));
        let routes = all(GET_ROUTE, 12);
        assert_eq!(kinds(&routes), [NEW_ROUTE, NEW_ROUTE, DONE]);
        assert_eq!(find(&routes[0][HEADER + 12..], 5), Some(&[10, 0, 2, 2][..]));
        assert_eq!(find(&routes[1][HEADER + 12..], 1), Some(&[10, 0, 2, 0][..]));
    }

    #[test]
    fn attributes_that_lie_about_their_size_are_not_found() {
        assert_eq!((find(&[0, 0, 3, 0], 3), find(&[3, 0, 3, 0], 3), find(&[9, 0, 3, 0, 1], 3)), (None, None, None));
    }
}
