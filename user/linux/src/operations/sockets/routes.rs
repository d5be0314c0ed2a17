//! Answers to questions about interfaces, addresses and routes that come by netlink
//! (Linux: rtnetlink(7)): what `ip`, `getifaddrs` and `if_nameindex` ask.

use crate::abi::errno::{EINVAL, ENODEV, EOPNOTSUPP, EPERM, Errno};
use crate::operations::sockets::netlink::{self, Answers, Request, attribute, find, word};
use crate::operations::sockets::interfaces::{Interface, QUEUE};
use crate::state::files::socket_family::{AF_INET, AF_INET6};
use alloc::vec::Vec;

/// Bytes of a `struct ifinfomsg` and a `struct ifaddrmsg`.
const LINK: usize = 16;
const ADDRESS: usize = 8;

const FIRST: u16 = 16;
const NEW_LINK: u16 = 16;
const GET_LINK: u16 = 18;
const NEW_ADDRESS: u16 = 20;
const GET_ADDRESS: u16 = 22;
const NEW_ROUTE: u16 = 24;
const GET_ROUTE: u16 = 26;

/// `IFF_LOWER_UP`.
const LOWER_UP: u32 = 0x1_0000;
/// `IF_OPER_UP`.
const UP: u8 = 6;
/// `IFA_F_PERMANENT`, and the scope of addresses that are of this machine alone.
const PERMANENT: u8 = 0x80;
const HOST: u8 = 254;
const LINK_SCOPE: u8 = 253;
const EVERYWHERE: u8 = 0;
/// Scope of addresses of version 6 that are of one site.
const SITE: u8 = 200;
/// `RT_TABLE_MAIN`, `RTPROT_KERNEL` and `RTPROT_BOOT`, `RTN_UNICAST`.
const MAIN: u8 = 254;
const BY_KERNEL: u8 = 2;
const AT_BOOT: u8 = 3;
const UNICAST: u8 = 1;

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
    let scope = match interface.six {
        _ if interface.is_loopback() => HOST,
        Some(six) if family == AF_INET6 && six.is_of_site() => SITE,
        _ => EVERYWHERE,
    };
    let mut body = [family as u8, prefix, PERMANENT, scope].to_vec();
    body.extend(interface.index.to_le_bytes());
    attribute(&mut body, 1, address);
    if family == AF_INET {
        attribute(&mut body, 2, address);
        attribute(&mut body, 3, interface.name);
    }
    if !interface.is_loopback() && family == AF_INET {
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
    own.extend(interfaces.iter().filter_map(|interface| interface.six.map(|six| own_address(interface, AF_INET6, six.prefix, &six.address))));
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
        attribute(&mut body, 15, &u32::from(MAIN).to_le_bytes());
        attribute(&mut body, 1, &interface.wire());
        attribute(&mut body, 7, &interface.address);
        attribute(&mut body, 4, &interface.index.to_le_bytes());
        all.push(body);
        let Some(six) = interface.six else { continue };
        let (wire, others) = (u128::from_be_bytes(six.address) & u128::MAX.checked_shl(128 - u32::from(six.prefix)).unwrap_or(0), 0);
        for (to, prefix, gateway, maker) in [(wire, six.prefix, None, BY_KERNEL), (others, 0, six.gateway, AT_BOOT)] {
            if prefix == 0 && gateway.is_none() {
                continue;
            }
            let mut body = [AF_INET6 as u8, prefix, 0, 0, MAIN, maker, EVERYWHERE, UNICAST, 0, 0, 0, 0].to_vec();
            attribute(&mut body, 15, &u32::from(MAIN).to_le_bytes());
            match gateway {
                Some(gateway) => attribute(&mut body, 5, &gateway),
                None => attribute(&mut body, 1, &to.to_be_bytes()),
            }
            attribute(&mut body, 4, &interface.index.to_le_bytes());
            all.push(body);
        }
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
pub fn answers(bytes: &[u8], receiver: u32, interfaces: &[Interface]) -> Vec<Vec<u8>> {
    netlink::answers(bytes, receiver, |answers, request| answer(answers, request, interfaces))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operations::sockets::interfaces::Six;
    use crate::operations::sockets::netlink::{ACKNOWLEDGE, ALL, DONE, ERROR, HEADER};
    use alloc::vec;
    use crate::state::files::socket_family::{LOOPBACK, LOOPBACK6};

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
        let card = Interface { name: b"eth0\0", index: 2, hardware: 1, card: [2; 6], flags: 0x1043, largest: 1500, address: [10, 0, 2, 15], prefix: 24, gateway: Some([10, 0, 2, 2]), six: None };
        let six = Six { address: [0xfe, 0xc0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 15], prefix: 64, gateway: None };
        let site = super::answers(&request(GET_ADDRESS, ALL, &[AF_INET6 as u8]), 1, &[Interface::LOOPBACK, Interface { six: Some(six), ..card }]);
        assert_eq!(site[1][HEADER..HEADER + 4], [AF_INET6 as u8, 64, PERMANENT, SITE]);
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
