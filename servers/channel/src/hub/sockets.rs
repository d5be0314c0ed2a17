//! Sockets: names, who listens, who connects to whom.

use super::{End, Hub, LONGEST_NAME, SOCKET_ACCESS, Stage};
use crate::queue::Queue;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::vec::Vec;
use nacre_proto::Errno;
use nacre_proto::channel::InternetName;
use nacre_proto::flags::{END_OWN, O_NONBLOCK, SOCK_DGRAM, SOCK_SEQPACKET, SOCK_STREAM};

/// Beginning of the keys of files.
const FILE: &[u8] = b"/";
/// Maximum number of connections that wait to be accepted.
const MAX_WAITING: usize = 1024;
/// Connections of the internet that may wait, also where the listener asks for fewer. On Linux
/// those beyond are in the middle of their beginning, and try again.
const HANDSHAKES: usize = 128;
/// Number of names for sockets that nobody named.
const NAMES: u64 = 1 << 20;

impl<R> End<R> {
    /// Returns true if it listens, and one more connection may wait.
    pub(super) fn has_place(&self) -> bool {
        let Stage::Listening(waiting, most) = &self.stage else { return false };
        let is_internet = InternetName::read(&self.name).is_some();
        waiting.len() < if is_internet { HANDSHAKES.max(*most) } else { *most }
    }
}

impl<R> Hub<R> {
    /// Two sockets that are connected.
    pub fn pair(&mut self, kind: u64, flags: u64, owner: [u64; 3]) -> Result<(u64, u64), Errno> {
        let first = self.socket(kind, flags)?;
        let second = self.socket(kind, flags).inspect_err(|_| self.close(first))?;
        self.end_mut(first)?.credentials = owner;
        self.end_mut(second)?.credentials = owner;
        self.connect_ends(first, second)?;
        Ok((first, second))
    }

    /// A socket.
    pub fn socket(&mut self, kind: u64, flags: u64) -> Result<u64, Errno> {
        if ![SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET].contains(&kind) {
            return Err(Errno::ESOCKTNOSUPPORT);
        }
        let key = self.add_end(kind, flags & O_NONBLOCK | SOCKET_ACCESS)?;
        if kind == SOCK_DGRAM {
            let queue = self.add_queue(true, false);
            self.join(queue, Some(key), None);
            self.datagrams.insert(key);
        }
        Ok(key)
    }

    pub(super) fn connect_ends(&mut self, first: u64, second: u64) -> Result<(), Errno> {
        let kind = self.end(first)?.kind;
        for (from, to) in [(first, second), (second, first)] {
            if kind != SOCK_DGRAM {
                let queue = self.add_queue(kind == SOCK_SEQPACKET, false);
                self.join(queue, Some(to), Some(from));
            }
            let (credentials, name) = self.end(to).map(|end| (end.credentials, end.name.clone()))?;
            let end = self.end_mut(from)?;
            end.stage = Stage::Connected(to);
            (end.peer_credentials, end.peer_name) = (Some(credentials), name);
            self.touched.insert(from);
        }
        Ok(())
    }

    /// A socket's end: `ENOTSOCK` for a pipe's.
    fn socket_end(&mut self, key: u64) -> Result<&mut End<R>, Errno> {
        self.end_mut(key).and_then(|end| if end.kind == 0 { Err(Errno::ENOTSOCK) } else { Ok(end) })
    }

    /// Gives it a name, by which others find it if there is no key; if that is empty too, one is
    /// chosen. Of two with the key of a file the later one is found.
    pub fn bind(&mut self, key: u64, found_by: &[u8], name: &[u8]) -> Result<(), Errno> {
        let end = self.socket_end(key)?;
        let (kind, is_paired) = (end.kind, matches!(end.stage, Stage::Connected(_)));
        if !end.name.is_empty() && found_by.is_empty() && name.is_empty() {
            return Ok(());
        }
        if !end.name.is_empty() || name.len() > LONGEST_NAME || found_by.len() > LONGEST_NAME {
            return Err(Errno::EINVAL);
        }
        self.check_own(kind, found_by, name)?;
        // An end of a pair is no socket of the internet, and would hear what others ask.
        if is_paired && InternetName::read(name).is_some() {
            return Err(Errno::EINVAL);
        }
        self.check_hearers(key, name)?;
        let wanted = if found_by.is_empty() { name } else { found_by };
        if !wanted.starts_with(FILE) && !self.may_share(key, wanted)? {
            return Err(Errno::EADDRINUSE);
        }
        let chosen = || (key..key + NAMES).map(|number| format!("\0{:05x}", number % NAMES).into_bytes()).find(|name| !self.names.contains_key(name));
        let name = if name.is_empty() { chosen().ok_or(Errno::ENOSPC)? } else { name.to_vec() };
        let found_by = if found_by.is_empty() { name.clone() } else { found_by.to_vec() };
        self.take_name(&found_by, key);
        let end = self.end_mut(key)?;
        (end.key, end.name) = (found_by, name);
        Ok(())
    }

    /// Lets others connect to a socket.
    pub fn listen(&mut self, key: u64, backlog: u64, owner: [u64; 3]) -> Result<(), Errno> {
        let end = self.socket_end(key)?;
        if end.kind == SOCK_DGRAM {
            return Err(Errno::EOPNOTSUPP);
        }
        if end.name.is_empty() {
            return Err(Errno::EINVAL);
        }
        self.check_listeners(key)?;
        let end = self.socket_end(key)?;
        let most = usize::try_from(backlog).unwrap_or(MAX_WAITING).min(MAX_WAITING) + 1;
        match &mut end.stage {
            Stage::Connected(_) | Stage::Connecting | Stage::Outside | Stage::Absent => return Err(Errno::EINVAL),
            Stage::Listening(_, limit) => *limit = most,
            Stage::Plain => end.stage = Stage::Listening(VecDeque::new(), most),
        }
        end.credentials = owner;
        end.changes += 1;
        self.touched.insert(key);
        self.touch_unconnected();
        Ok(())
    }

    /// Connects to the socket that is found by `name`, none for a socket of datagrams that is to
    /// have no peer. `false`: it has to wait.
    pub fn connect(&mut self, key: u64, name: &[u8], owner: [u64; 3]) -> Result<bool, Errno> {
        let end = self.socket_end(key)?;
        let kind = end.kind;
        if name.is_empty() && kind == SOCK_DGRAM {
            (end.stage, end.peer_name) = (Stage::Plain, Vec::new());
            self.touch_senders_to(key);
            return Ok(true);
        }
        if self.is_echo(key) {
            return self.connect_echo(key, name);
        }
        let Some(found_by) = self.local_name(name)? else { return self.connect_outside(key, name) };
        let Some(target) = self.found(&found_by, key, name) else { return self.connect_to_nobody(key, found_by) };
        self.check_found(target, name)?;
        let listener = self.end(target)?;
        if listener.kind != kind {
            return Err(Errno::EPROTOTYPE);
        }
        if kind == SOCK_DGRAM {
            self.check_peer(key, target)?;
            let name = self.end(target)?.name.clone();
            let end = self.end_mut(key)?;
            (end.stage, end.peer_name) = (Stage::Connected(target), name);
            self.touch_senders_to(key);
            return Ok(true);
        }
        if !matches!(listener.stage, Stage::Listening(..)) {
            return Err(Errno::ECONNREFUSED);
        }
        if !listener.has_place() {
            return Ok(false);
        }
        match self.end(key)?.stage {
            Stage::Connected(_) | Stage::Outside | Stage::Absent => return Err(Errno::EISCONN),
            Stage::Listening(..) => return Err(Errno::EINVAL),
            Stage::Connecting => return Err(Errno::EALREADY),
            Stage::Plain if self.asks_beside(key, name) => return Err(Errno::EADDRNOTAVAIL),
            Stage::Plain => {}
        }
        self.join_listener(key, target, owner)?;
        Ok(true)
    }

    pub(super) fn join_listener(&mut self, key: u64, target: u64, owner: [u64; 3]) -> Result<(), Errno> {
        let listener = self.end(target)?;
        let (kind, name, credentials, is_signed) = (listener.kind, listener.name.clone(), listener.credentials, listener.is_signed);
        self.charge_as(key)?;
        let server = self.add_end(kind, SOCKET_ACCESS)?;
        let end = self.end_mut(server)?;
        (end.name, end.credentials, end.is_signed) = (name, credentials, is_signed);
        self.end_mut(key)?.credentials = owner;
        self.connect_ends(key, server)?;
        let listener = self.end_mut(target)?;
        listener.changes += 1;
        if let Stage::Listening(waiting, _) = &mut listener.stage {
            waiting.push_back(server);
        }
        self.touched.insert(target);
        Ok(())
    }

    /// A connection goes with the listener that never accepted it.
    pub(super) fn close_unaccepted(&mut self, key: u64) {
        self.break_off(key, Errno::ECONNRESET);
    }

    /// Closes an end, whose peer hears of it by an error.
    pub(super) fn break_off(&mut self, key: u64, errno: Errno) {
        if let Some(Stage::Connected(peer)) = self.ends.get(&key).map(|end| &end.stage)
            && let Some(peer) = self.ends.get_mut(&{ *peer })
        {
            peer.error = Some(errno);
            let incoming = peer.incoming;
            incoming.into_iter().for_each(|queue| self.tell_trouble(queue));
        }
        self.close(key);
    }

    /// Tells the peer of an end that has gone that bytes were not read.
    pub(super) fn reset_peer(&mut self, end: &End<R>) {
        let has_unread = end.incoming.and_then(|queue| self.queues.get(&queue)).is_some_and(Queue::has_some);
        if let Stage::Connected(peer) = end.stage
            && end.kind != SOCK_DGRAM
            && has_unread
            && let Some(peer) = self.ends.get_mut(&peer)
        {
            peer.error = Some(Errno::ECONNRESET);
            let incoming = peer.incoming;
            incoming.into_iter().for_each(|queue| self.tell_trouble(queue));
        }
    }

    /// The error that waits, which is gone then.
    pub fn take_error(&mut self, key: u64) -> Result<Option<Errno>, Errno> {
        Ok(self.end_mut(key)?.error.take())
    }

    /// The next end that has connected, with the name of the other one; `None`: it has to wait.
    pub fn accept(&mut self, key: u64, flags: u64) -> Result<Option<(u64, Vec<u8>)>, Errno> {
        let end = self.socket_end(key)?;
        if end.kind == SOCK_DGRAM {
            return Err(Errno::EOPNOTSUPP);
        }
        let was_full = !end.has_place();
        let Stage::Listening(waiting, _) = &mut end.stage else { return Err(Errno::EINVAL) };
        let Some(accepted) = waiting.pop_front() else { return Ok(None) };
        if was_full {
            self.touch_unconnected();
        }
        self.set_flags(accepted, flags)?;
        Ok(Some((accepted, self.end(accepted)?.peer_name.clone())))
    }

    /// Puts back an accepted connection that did not reach the caller. It is first again.
    pub fn accept_back(&mut self, key: u64, accepted: u64) {
        if let Ok(Stage::Listening(waiting, _)) = self.socket_end(key).map(|end| &mut end.stage) {
            waiting.push_front(accepted);
            self.touched.insert(key);
        } else {
            self.close(accepted);
        }
    }

    /// Makes all ends that wait to connect look again.
    pub(super) fn touch_unconnected(&mut self) {
        let plain = self.ends.iter().filter(|(_, end)| end.kind != 0 && end.stage == Stage::Plain).map(|(key, _)| *key);
        self.touched.extend(plain);
    }

    /// Makes ends that wait to send a datagram look again; all ends that send datagrams, if a poll
    /// may have found no room at one.
    pub(super) fn touch_senders(&mut self, was_full: bool) {
        let held = core::mem::take(&mut self.held_senders);
        self.touched.extend(if was_full { &self.datagrams } else { &held });
    }

    /// Makes those look again that may wait to send datagrams to this end, which takes others now.
    fn touch_senders_to(&mut self, key: u64) {
        if self.datagrams.contains(&key) {
            let incoming = self.ends.get(&key).and_then(|end| end.incoming);
            let was_full = incoming.and_then(|queue| self.queues.get(&queue)).is_some_and(is_full);
            self.touch_senders(was_full);
        }
    }

    /// Ends reading (0), writing (1), or both (2).
    pub fn shutdown(&mut self, key: u64, how: u64) -> Result<(), Errno> {
        let end = self.socket_end(key)?;
        if how > 2 {
            return Err(Errno::EINVAL);
        }
        end.is_mute |= how != 0;
        let (incoming, outgoing) = (end.incoming.filter(|_| how != 1), end.outgoing.filter(|_| how != 0));
        let mut change = |key: Option<u64>, act: fn(&mut Queue<R>)| {
            if let Some(queue) = key.and_then(|key| self.queues.get_mut(&key)) {
                act(queue);
            }
            key.into_iter().for_each(|key| self.change_queue(key));
        };
        change(incoming, |queue| queue.is_deaf = true);
        change(outgoing, |queue| queue.is_ended = true);
        self.touch_senders_to(key);
        Ok(())
    }

    /// The queue that a message goes to, and whether it is one whose owner has another peer, or
    /// none.
    pub(super) fn target(&mut self, key: u64, name: &[u8]) -> Result<(u64, bool), Errno> {
        let end = self.end(key)?;
        let is_connected = matches!(end.stage, Stage::Connected(_));
        match end.kind {
            0 if name.is_empty() => return Ok((end.outgoing.ok_or(Errno::EBADF)?, false)),
            0 => return Err(Errno::ENOTSOCK),
            SOCK_DGRAM => {}
            SOCK_STREAM if !name.is_empty() => return Err(if is_connected { Errno::EISCONN } else { Errno::EOPNOTSUPP }),
            _ if end.is_mute => return Err(Errno::EPIPE),
            _ => return Ok((end.outgoing.ok_or(Errno::ENOTCONN)?, false)),
        }
        let is_mute = end.is_mute;
        let other = self.datagram_target(key, name)?;
        let Some(peer) = self.ends.get(&other) else {
            let end = self.end_mut(key)?;
            (end.stage, end.peer_name) = (Stage::Plain, Vec::new());
            return Err(Errno::ECONNREFUSED);
        };
        let is_foreign = other != key && peer.stage != Stage::Connected(key);
        let queue = peer.incoming.ok_or(Errno::ECONNREFUSED)?;
        if is_mute { Err(Errno::EPIPE) } else { Ok((queue, is_foreign)) }
    }

    fn datagram_target(&self, key: u64, name: &[u8]) -> Result<u64, Errno> {
        if name.is_empty() {
            return if let Stage::Connected(peer) = self.end(key)?.stage { Ok(self.found_again(key, peer)) } else { Err(Errno::ENOTCONN) };
        }
        let found_by = self.local_name(name)?.ok_or(Errno::EIO)?;
        let other = self.found(&found_by, key, name).ok_or(Errno::ECONNREFUSED)?;
        self.check_found(other, name)?;
        if self.end(other)?.kind != SOCK_DGRAM {
            return Err(Errno::EPROTOTYPE);
        }
        self.check_peer(key, other)?;
        Ok(other)
    }

    /// Refuses datagrams from others than the peer of a connected local socket, and all to sockets
    /// of ICMP: those hear what [`Hub::hear`] brings them. On the internet datagrams of others are
    /// lost ([`Hub::loses`]).
    fn check_peer(&self, key: u64, other: u64) -> Result<(), Errno> {
        if self.is_echo(other) {
            return Err(Errno::EPROTOTYPE);
        }
        let hearer = self.end(other)?;
        match hearer.stage {
            Stage::Connected(peer) if peer != key && InternetName::read(&hearer.key).is_none() => Err(Errno::EPERM),
            _ => Ok(()),
        }
    }

    /// Returns the name of an end, or of the other end.
    pub fn name(&self, key: u64, which: u64) -> Result<Vec<u8>, Errno> {
        let end = self.end(key)?;
        if end.kind == 0 {
            return Err(Errno::ENOTSOCK);
        }
        match end.stage {
            _ if which == END_OWN => Ok(self.own_name(end)),
            Stage::Connected(_) | Stage::Outside | Stage::Absent => Ok(end.peer_name.clone()),
            _ => Err(Errno::ENOTCONN),
        }
    }

    /// Returns true if the socket listens.
    pub fn listens(&self, key: u64) -> Result<bool, Errno> {
        Ok(matches!(self.end(key)?.stage, Stage::Listening(..)))
    }

    /// Returns the credentials of the other end.
    pub fn peer_credentials(&self, key: u64) -> Result<[u64; 3], Errno> {
        self.end(key)?.peer_credentials.ok_or(Errno::ENOTCONN)
    }
}

/// Returns true if a poll finds no room in a queue of datagrams, at least at some of the ends that
/// send there.
pub(super) fn is_full<R>(queue: &Queue<R>) -> bool {
    !queue.is_writable() || queue.count() >= super::DATAGRAMS
}
