//! Connected sockets of datagrams whose other side is not there. On the internet that is no error
//! of `connect`: what is sent is lost, and the call after that fails, as if an answer of ICMP had
//! come.

use super::{Hub, Stage};
use alloc::vec::Vec;
use nacre_proto::channel::{INTERNET_BOTH, InternetName};
use nacre_proto::flags::SOCK_DGRAM;
use nacre_proto::Errno;

impl<R> Hub<R> {
    /// Refuses to connect an end to a name that nobody has. Datagrams of the internet go there all
    /// the same from now on.
    pub(super) fn connect_to_nobody(&mut self, key: u64, found_by: Vec<u8>) -> Result<bool, Errno> {
        let is_named = InternetName::read(&found_by).is_some_and(|name| u64::from(name.kind) == SOCK_DGRAM && name.version != INTERNET_BOTH);
        let end = self.end_mut(key)?;
        if end.kind == SOCK_DGRAM && is_named {
            (end.stage, end.peer_name) = (Stage::Absent, found_by);
        }
        Err(Errno::ECONNREFUSED)
    }

    /// Returns true if an end is found at the port of a name.
    pub(super) fn is_at(&self, key: u64, name: &[u8]) -> bool {
        let own = self.end(key).ok().and_then(|end| InternetName::read(&end.name));
        own.zip(InternetName::read(name)).is_some_and(|(own, name)| (own.kind, own.port) == (name.kind, name.port))
    }

    /// Returns true if a datagram to a name, or to the peer of an end, is lost, since nobody is
    /// there who takes it. The error of the one before it comes first.
    pub(super) fn loses(&mut self, key: u64, name: &[u8]) -> Result<bool, Errno> {
        let end = self.end(key)?;
        if !name.is_empty() {
            return Ok(end.kind == SOCK_DGRAM && !end.is_mute && self.is_refused(key, name));
        }
        let has_gone = match end.stage {
            Stage::Connected(peer) => !self.ends.contains_key(&peer) || self.refuses(key, peer),
            Stage::Absent => true,
            _ => false,
        };
        let peer = InternetName::read(&end.peer_name).filter(|peer| has_gone && !end.is_mute && u64::from(peer.kind) == SOCK_DGRAM);
        let Some(peer) = peer else { return Ok(false) };
        let now_there = [peer.version, INTERNET_BOTH].into_iter().find_map(|version| {
            let found_by = InternetName { version, address: InternetName::LOOPBACK, ..peer }.bytes();
            self.found(&found_by, key, &end.peer_name).filter(|other| *other != key && !self.refuses(key, *other))
        });
        let end = self.end_mut(key)?;
        if let Some(other) = now_there {
            end.stage = Stage::Connected(other);
            return Ok(false);
        }
        if let Some(error) = end.error.take() {
            return Err(error);
        }
        end.stage = Stage::Absent;
        end.error = Some(Errno::ECONNREFUSED);
        end.changes += 1;
        self.touched.insert(key);
        Ok(true)
    }
}
