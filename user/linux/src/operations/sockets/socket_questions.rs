//! Answers to questions about sockets that come by netlink (Linux: sock_diag(7)): what `ss` asks.

use crate::abi::errno::{EINVAL, ENOENT, Errno};
use crate::operations::sockets::known_sockets::KnownSocket;
use crate::operations::sockets::netlink::{self, Answers, Request, attribute, find, word};
use crate::state::files::socket_family::{AF_INET, AF_INET6, AF_UNIX, Family};
use alloc::vec::Vec;
use nacre_proto::channel::SocketRecord;

/// Kind of requests and answers.
const BY_FAMILY: u16 = 20;
/// Bytes of a `struct inet_diag_req_v2` and of a `struct unix_diag_req`.
const INTERNET: usize = 56;
const LOCAL: usize = 24;
/// Bits of what is to be shown of a local socket: name, peer, connections that wait, lengths of
/// queues.
const SHOW_NAME: u32 = 1;
const SHOW_PEER: u32 = 4;
const SHOW_WAITING: u32 = 8;
const SHOW_LENGTHS: u32 = 0x10;

/// Appends two numbers.
fn pair(first: u32, second: u32) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&first.to_le_bytes());
    bytes[4..].copy_from_slice(&second.to_le_bytes());
    bytes
}

/// A socket of the internet as a `struct inet_diag_msg` with attributes.
fn internet(socket: &KnownSocket) -> Vec<u8> {
    let mut body = [socket.family.number() as u8, socket.state, 0, 0].to_vec();
    let ends = [false, true].map(|of_peer| socket.address(of_peer));
    ends.iter().for_each(|(_, port)| body.extend(port.to_be_bytes()));
    for (address, _) in &ends {
        let start = body.len();
        body.extend(address);
        body.resize(start + 16, 0);
    }
    // Number of the interface (any) and cookie, which says which socket it is.
    body.extend(0u32.to_le_bytes());
    body.extend(pair(socket.inode as u32, 0));
    // Time of the next timer, lengths of queues, owner, number.
    body.extend(0u32.to_le_bytes());
    body.extend(pair(socket.received, socket.unsent));
    body.extend(pair(socket.uid, socket.inode as u32));
    // What is shut down.
    attribute(&mut body, 8, &[0]);
    if socket.family == Family::Internet6 {
        // Whether it is of version 6 alone.
        attribute(&mut body, 11, &[u8::from(socket.name.first() == Some(&b'j') && socket.peer_name.is_empty())]);
    }
    body
}

/// A local socket as a `struct unix_diag_msg` with the attributes that are to be shown.
fn local(socket: &KnownSocket, shown: u32) -> Vec<u8> {
    let mut body = [AF_UNIX as u8, socket.kind as u8, socket.state, 0].to_vec();
    body.extend((socket.inode as u32).to_le_bytes());
    body.extend(pair(socket.inode as u32, 0));
    if shown & SHOW_NAME != 0 && !socket.name.is_empty() {
        attribute(&mut body, 0, &socket.name);
    }
    if shown & SHOW_PEER != 0 && socket.peer != 0 {
        attribute(&mut body, 2, &(socket.peer as u32).to_le_bytes());
    }
    if shown & SHOW_WAITING != 0 && socket.state == SocketRecord::LISTENING {
        attribute(&mut body, 3, &[]);
    }
    if shown & SHOW_LENGTHS != 0 {
        attribute(&mut body, 4, &pair(socket.received, socket.unsent));
    }
    // What is shut down.
    attribute(&mut body, 6, &[0]);
    body
}

/// Returns true if a socket has one of the states whose bits are set.
fn has_state(socket: &KnownSocket, states: u32) -> bool {
    states & 1u32.checked_shl(socket.state.into()).unwrap_or(0) != 0
}

fn of_internet(request: &Request<'_>, sockets: &[KnownSocket]) -> Result<Vec<Vec<u8>>, Errno> {
    let body = request.body.get(..INTERNET).ok_or(EINVAL)?;
    // A number of a protocol that is too large for its place stands behind, and there is no such
    // protocol here.
    let other = request.body.get(INTERNET..).and_then(|rest| find(rest, 3)).and_then(|value| word(value, 0));
    let protocol = other.map_or(body[1], |number| u8::try_from(number).unwrap_or(0));
    let (family, states) = (u16::from(body[0]), word(body, 4).unwrap_or(0));
    let is_asked = |socket: &&KnownSocket| {
        socket.family.number() == family && socket.protocol() == protocol && !socket.is_raw() && has_state(socket, states)
    };
    let bodies: Vec<Vec<u8>> = sockets.iter().filter(is_asked).map(internet).collect();
    if request.wants_all() {
        return Ok(bodies);
    }
    // One socket is named by its ports and addresses.
    let id = &body[8..44];
    bodies.into_iter().find(|body| body.get(4..40) == Some(id)).map(|body| [body].into()).ok_or(ENOENT)
}

fn of_local(request: &Request<'_>, sockets: &[KnownSocket]) -> Result<Vec<Vec<u8>>, Errno> {
    let body = request.body.get(..LOCAL).ok_or(EINVAL)?;
    let [states, inode, shown] = [4, 8, 12].map(|at| word(body, at).unwrap_or(0));
    let locals = sockets.iter().filter(|socket| socket.family == Family::Local);
    if request.wants_all() {
        return Ok(locals.filter(|socket| has_state(socket, states)).map(|socket| local(socket, shown)).collect());
    }
    let mut found = locals.filter(|socket| socket.inode as u32 == inode && inode != 0);
    found.next().map(|socket| [local(socket, shown)].into()).ok_or(ENOENT)
}

/// Answers the requests of one message, for the socket with this number. Each answer is a message.
pub fn answers(bytes: &[u8], receiver: u32, sockets: &[KnownSocket]) -> Vec<Vec<u8>> {
    netlink::answers(bytes, receiver, |answers: &mut Answers, request| {
        let bodies = match u16::from(request.family()) {
            _ if request.kind != BY_FAMILY => return Err(EINVAL),
            AF_INET | AF_INET6 => of_internet(request, sockets)?,
            AF_UNIX => of_local(request, sockets)?,
            // As for a family whose module is not there.
            _ => return Err(ENOENT),
        };
        answers.tell(request, BY_FAMILY, &bodies);
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operations::sockets::netlink::{ALL, DONE, ERROR, HEADER};
    use crate::state::files::socket_family::{LOOPBACK, Version, internet_name};
    use alloc::vec;

    const TCP: u8 = 6;
    const UDP: u8 = 17;

    fn socket(family: Family, state: u8, name: &[u8], inode: u64) -> KnownSocket {
        KnownSocket { inode, peer: 0, uid: 5, received: 1, unsent: 2, kind: 1, state, family, name: name.to_vec(), peer_name: Vec::new() }
    }

    fn both() -> [KnownSocket; 2] {
        [socket(Family::Internet, 10, &internet_name(Version::Four, 1, LOOPBACK, 80), 77), socket(Family::Local, 10, b"/run/x", 78)]
    }

    fn ask(flags: u16, body: &[u8]) -> Vec<Vec<u8>> {
        let mut bytes = ((HEADER + body.len()) as u32).to_le_bytes().to_vec();
        bytes.extend([BY_FAMILY, flags | 1].iter().flat_map(|half| half.to_le_bytes()));
        bytes.extend([7, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend(body);
        answers(&bytes, 42, &both())
    }

    fn kinds(messages: &[Vec<u8>]) -> Vec<u16> {
        messages.iter().map(|message| u16::from_le_bytes([message[4], message[5]])).collect()
    }

    #[test]
    fn listeners_are_told_of_with_their_ports() {
        let mut body = vec![AF_INET as u8, TCP, 0, 0, 0, 4, 0, 0];
        body.resize(INTERNET, 0);
        let all = ask(ALL, &body);
        assert_eq!(kinds(&all), [BY_FAMILY, DONE]);
        let told = &all[0][HEADER..];
        assert_eq!((&told[..8], &told[8..12], word(told, 56), word(told, 64), word(told, 68)), (&[2, 10, 0, 0, 0, 80, 0, 0][..], &LOOPBACK[..], Some(1), Some(5), Some(77)));
        body[1] = UDP;
        assert_eq!(kinds(&ask(ALL, &body)), [DONE]);
        (body[1], body[5]) = (TCP, 1);
        assert_eq!(kinds(&ask(ALL, &body)), [DONE], "of other states");
        assert_eq!(kinds(&ask(0, &body)), [ERROR]);
        let multipath = [&body[..], &[8, 0, 3, 0, 6, 1, 0, 0]].concat();
        assert_eq!(kinds(&ask(ALL, &multipath)), [DONE], "of a protocol with a large number");
        body[8..12].copy_from_slice(&[0, 80, 0, 0]);
        body[5] = 4;
        body[12..16].copy_from_slice(&LOOPBACK);
        assert_eq!(kinds(&ask(0, &body)), [BY_FAMILY], "one by its name");
    }

    #[test]
    fn local_sockets_are_told_of_with_what_is_wanted() {
        let mut body = vec![AF_UNIX as u8, 0, 0, 0, 0xff, 0xff, 0, 0];
        body.resize(LOCAL, 0);
        body[12] = (SHOW_NAME | SHOW_LENGTHS) as u8;
        let all = ask(ALL, &body);
        assert_eq!(kinds(&all), [BY_FAMILY, DONE]);
        assert_eq!((find(&all[0][HEADER + 16..], 0), find(&all[0][HEADER + 16..], 3)), (Some(&b"/run/x"[..]), None));
        body[8] = 78;
        assert_eq!(kinds(&ask(0, &body)), [BY_FAMILY]);
        body[8] = 77;
        assert_eq!(kinds(&ask(0, &body)), [ERROR]);
    }

    #[test]
    fn what_is_cut_off_or_unknown_is_an_error() {
        for size in 0..INTERNET {
            assert_eq!(kinds(&ask(ALL, &vec![AF_INET as u8; size])), [ERROR]);
        }
        assert_eq!(kinds(&ask(ALL, &[17; 56])), [ERROR]);
    }
}
