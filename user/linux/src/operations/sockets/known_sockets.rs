//! Sockets that the process may know of: those of its world, as the services list them.

use crate::operations::paths::file_status;
use crate::process::Process;
use crate::state::files::open_file::OpenFile;
use crate::state::files::socket_family::{ANY, Family, LOOPBACK, Version, hops, in_version, version, without_hops};
use alloc::vec;
use alloc::vec::Vec;
use nacre_abi::message::MAX_BYTES;
use nacre_proto::channel::{self, InternetName, MESSAGES, SocketRecord, SocketRecords};
use nacre_proto::flags::SOCK_STREAM;

/// Number of sockets that are asked for, at most, and of questions.
const MAX_SOCKETS: usize = 8192;
const MAX_QUESTIONS: usize = 1024;

/// A socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownSocket {
    /// Inode number; 0: no program has it yet.
    pub inode: u64,
    /// Inode number of the peer, or 0.
    pub peer: u64,
    /// User of its owner.
    pub uid: u32,
    /// Bytes or connections that wait.
    pub received: u32,
    /// Bytes that are to be sent, or connections that may wait.
    pub unsent: u32,
    /// Kind of socket.
    pub kind: u64,
    /// Linux's number of the state.
    pub state: u8,
    /// Family.
    pub family: Family,
    /// Own name, as the service knows it.
    pub name: Vec<u8>,
    /// Name of the peer.
    pub peer_name: Vec<u8>,
}

impl KnownSocket {
    fn new(record: &SocketRecord<'_>) -> KnownSocket {
        let SocketRecord { inode, peer, uid, received, unsent, kind, state, name, peer_name } = *record;
        let family = match version(name) {
            None => Family::Local,
            Some(Version::Four) => Family::Internet,
            Some(Version::Six | Version::Both) => Family::Internet6,
        };
        let mut own = name.to_vec();
        if family.is_internet() && let Some(of_peer) = version(peer_name) {
            // Who takes part in both versions has the one of the other end.
            own = in_version(name, if version(name) == Some(Version::Both) { of_peer } else { version(name).unwrap_or(of_peer) });
            if u64::from(kind) == SOCK_STREAM && own.len() == InternetName::SIZE && own.get(2..6) == Some(&ANY) {
                own[2..6].copy_from_slice(&LOOPBACK);
            }
        }
        KnownSocket { inode, peer, uid, received, unsent, kind: kind.into(), state, family, name: own, peer_name: peer_name.to_vec() }
    }

    /// Returns address and port of an end, each as it stands in a `sockaddr`: the own one, or that
    /// of the peer.
    pub fn address(&self, of_peer: bool) -> (Vec<u8>, u16) {
        let shown = match of_peer {
            true if self.peer_name.is_empty() => self.family.shown(&[]),
            true => self.family.shown_peer(&without_hops(&self.peer_name)),
            false => self.family.shown(&self.name),
        };
        let port = shown.get(2..4).map_or(0, |port| u16::from_be_bytes([port[0], port[1]]));
        let place = if self.family == Family::Internet { 4..8 } else { 8..24 };
        (shown.get(place).unwrap_or_default().to_vec(), port)
    }

    /// Linux's number of the protocol of a socket of the internet.
    pub fn protocol(&self) -> u8 {
        match self.is_stream() {
            true => 6,
            false if hops(&self.name).is_some() => 1,
            false => 17,
        }
    }

    /// Returns true for a socket of the internet that hears all messages of ICMP.
    pub fn is_raw(&self) -> bool {
        self.name.get(1) == Some(&MESSAGES) && self.family.is_internet()
    }

    /// Returns true for a stream or a listener.
    pub fn is_stream(&self) -> bool {
        self.kind == SOCK_STREAM
    }

    /// Returns the name of a local socket as people read it: a path, or `@` before a name that is
    /// in no directory.
    pub fn path(&self) -> Vec<u8> {
        self.name.iter().map(|byte| if *byte == 0 { b'@' } else { *byte }).collect()
    }
}

/// Returns what the services list of one socket.
pub fn one(process: &mut Process, file: &OpenFile) -> Option<KnownSocket> {
    let inode = file_status::of_file(process, file).ok()?.inode;
    let services = [process.services.internet(), process.services.channels().ok()];
    let mut bytes = vec![0; SocketRecord::MAX_SIZE];
    services.into_iter().flatten().find_map(|service| {
        let reply = channel::sockets(service, inode.checked_sub(1)?, &mut bytes[..]).ok()?;
        let record = SocketRecords(bytes.get(..reply.sockets)?).next()?;
        (record.inode == inode).then(|| KnownSocket::new(&record))
    })
}

/// All sockets of the process's world. A service that does not tell of any, as below a guard, has
/// none.
pub fn all(process: &mut Process) -> Vec<KnownSocket> {
    let mut all = Vec::new();
    let services = [process.services.channels().ok(), process.services.internet()];
    let mut bytes = vec![0; MAX_BYTES as usize];
    for service in services.into_iter().flatten() {
        let mut after = 0;
        for _ in 0..MAX_QUESTIONS {
            let Ok(reply) = channel::sockets(service, after, &mut bytes[..]) else { break };
            all.extend(SocketRecords(bytes.get(..reply.sockets).unwrap_or_default()).map(|record| KnownSocket::new(&record)));
            if reply.next <= after || all.len() >= MAX_SOCKETS {
                break;
            }
            after = reply.next;
        }
    }
    // A stream of the internet that is over is none of any table.
    all.retain(|socket| !(socket.family.is_internet() && socket.is_stream() && socket.state == SocketRecord::CLOSED));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::files::socket_family::{LOOPBACK6, MAPPED, internet_name};

    #[test]
    fn addresses_are_those_that_programs_see() {
        let record = |name, peer_name| SocketRecord { inode: 1, peer: 0, uid: 0, received: 0, unsent: 0, kind: 1, state: 1, name, peer_name };
        let four = internet_name(Version::Four, 1, [10, 0, 2, 15], 80);
        let (any, both) = (internet_name(Version::Four, 1, ANY, 80), internet_name(Version::Both, 1, ANY, 80));
        assert_eq!(KnownSocket::new(&record(&four, &any)).address(false), ([10, 0, 2, 15].to_vec(), 80));
        assert_eq!(KnownSocket::new(&record(&any, &four)).address(false), (LOOPBACK.to_vec(), 80));
        assert_eq!(KnownSocket::new(&record(&any, b"")).address(false), (ANY.to_vec(), 80));
        assert_eq!(KnownSocket::new(&record(&any, b"")).address(true), (ANY.to_vec(), 0));
        let mapped = KnownSocket::new(&record(&both, &four));
        assert_eq!((mapped.family, mapped.address(true).0), (Family::Internet6, [&MAPPED[..], &[10, 0, 2, 15]].concat()));
        let peer = internet_name(Version::Six, 1, LOOPBACK, 9);
        let six = KnownSocket::new(&record(&both, &peer));
        assert_eq!((six.address(false).0, six.address(true)), (LOOPBACK6.to_vec(), (LOOPBACK6.to_vec(), 9)));
        let local = KnownSocket::new(&record(b"\0name", b""));
        assert_eq!((local.family, local.path()), (Family::Local, b"@name".to_vec()));
    }
}
