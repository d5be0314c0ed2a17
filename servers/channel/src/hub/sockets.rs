//! Sockets: names, who listens, who connects to whom.

use super::{End, Hub, SOCKET_ACCESS, Stage};
use crate::queue::Queue;
use alloc::collections::VecDeque;
use alloc::format;
use alloc::vec::Vec;
use nacre_proto::Errno;
use nacre_proto::flags::{END_OWN, O_NONBLOCK, SOCK_DGRAM, SOCK_SEQPACKET, SOCK_STREAM};

/// Longest name.
const LONGEST_NAME: usize = 108;
/// Most that may wait to be accepted.
const MOST_WAITING: usize = 128;
/// How many names that nobody chose there are.
const NAMES: u64 = 1 << 20;

impl<R> Hub<R> {
    /// Two sockets that are connected.
    pub fn pair(&mut self, kind: u64, flags: u64) -> Result<(u64, u64), Errno> {
        let first = self.socket(kind, flags)?;
        let second = self.socket(kind, flags).inspect_err(|_| self.close(first))?;
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

    fn connect_ends(&mut self, first: u64, second: u64) -> Result<(), Errno> {
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
    fn socket_end(&mut self, key: u64) -> Result<&mut End, Errno> {
        self.end_mut(key).and_then(|end| if end.kind == 0 { Err(Errno::ENOTSOCK) } else { Ok(end) })
    }

    /// Gives it a name; an empty one is chosen.
    pub fn bind(&mut self, key: u64, name: &[u8]) -> Result<(), Errno> {
        if !self.socket_end(key)?.name.is_empty() || name.len() > LONGEST_NAME {
            return Err(Errno::EINVAL);
        }
        if self.names.contains_key(name) {
            return Err(Errno::EADDRINUSE);
        }
        let chosen = || (key..key + NAMES).map(|number| format!("\0{:05x}", number % NAMES).into_bytes()).find(|name| !self.names.contains_key(name));
        let name = if name.is_empty() { chosen().ok_or(Errno::ENOSPC)? } else { name.to_vec() };
        self.names.insert(name.clone(), key);
        self.end_mut(key)?.name = name;
        Ok(())
    }

    /// Others may connect to it.
    pub fn listen(&mut self, key: u64, backlog: u64) -> Result<(), Errno> {
        let end = self.socket_end(key)?;
        if end.kind == SOCK_DGRAM {
            return Err(Errno::EOPNOTSUPP);
        }
        if end.name.is_empty() {
            return Err(Errno::EINVAL);
        }
        let most = usize::try_from(backlog).unwrap_or(MOST_WAITING).min(MOST_WAITING) + 1;
        match &mut end.stage {
            Stage::Connected(_) => return Err(Errno::EINVAL),
            Stage::Listening(_, limit) => *limit = most,
            Stage::Plain => end.stage = Stage::Listening(VecDeque::new(), most),
        }
        self.touched.insert(key);
        Ok(())
    }

    /// Connects to the socket of this name. `false`: it has to wait.
    pub fn connect(&mut self, key: u64, name: &[u8]) -> Result<bool, Errno> {
        let end = self.socket_end(key)?;
        let kind = end.kind;
        match end.stage {
            Stage::Connected(_) if kind != SOCK_DGRAM => return Err(Errno::EISCONN),
            Stage::Listening(..) => return Err(Errno::EINVAL),
            _ => {}
        }
        let target = *self.names.get(name).ok_or(Errno::ECONNREFUSED)?;
        let listener = self.end(target)?;
        if listener.kind != kind {
            return Err(Errno::EPROTOTYPE);
        }
        if kind == SOCK_DGRAM {
            let name = name.to_vec();
            let end = self.end_mut(key)?;
            (end.stage, end.peer_name) = (Stage::Connected(target), name);
            return Ok(true);
        }
        let Stage::Listening(waiting, most) = &listener.stage else { return Err(Errno::ECONNREFUSED) };
        if waiting.len() >= *most {
            return Ok(false);
        }
        let (name, credentials) = (listener.name.clone(), listener.credentials);
        let server = self.add_end(kind, SOCKET_ACCESS)?;
        let end = self.end_mut(server)?;
        (end.name, end.credentials) = (name, credentials);
        self.connect_ends(key, server)?;
        if let Stage::Listening(waiting, _) = &mut self.end_mut(target)?.stage {
            waiting.push_back(server);
        }
        self.touched.insert(target);
        Ok(true)
    }

    /// The next end that has connected, with the name of the other one; `None`: it has to wait.
    pub fn accept(&mut self, key: u64, flags: u64) -> Result<Option<(u64, Vec<u8>)>, Errno> {
        let end = self.socket_end(key)?;
        if end.kind == SOCK_DGRAM {
            return Err(Errno::EOPNOTSUPP);
        }
        let Stage::Listening(waiting, most) = &mut end.stage else { return Err(Errno::EINVAL) };
        let was_full = waiting.len() >= *most;
        let Some(accepted) = waiting.pop_front() else { return Ok(None) };
        if was_full {
            self.touch_unconnected();
        }
        self.set_flags(accepted, flags)?;
        Ok(Some((accepted, self.end(accepted)?.peer_name.clone())))
    }

    /// Whoever waits to connect looks again.
    pub(super) fn touch_unconnected(&mut self) {
        let plain = self.ends.iter().filter(|(_, end)| end.kind != 0 && end.stage == Stage::Plain).map(|(key, _)| *key);
        self.touched.extend(plain);
    }

    /// Whoever waits to send a datagram looks again.
    pub(super) fn touch_senders(&mut self) {
        self.touched.extend(&self.datagrams);
    }

    /// Ends reading (0), writing (1), or both (2).
    pub fn shutdown(&mut self, key: u64, how: u64) -> Result<(), Errno> {
        let end = self.socket_end(key)?;
        if how > 2 {
            return Err(Errno::EINVAL);
        }
        if !matches!(end.stage, Stage::Connected(_)) {
            return Err(Errno::ENOTCONN);
        }
        end.is_mute |= how != 0;
        let (incoming, outgoing) = (end.incoming.filter(|_| how != 1), end.outgoing.filter(|_| how != 0));
        let mut change = |key: Option<u64>, act: fn(&mut Queue<R>)| {
            if let Some(queue) = key.and_then(|key| self.queues.get_mut(&key)) {
                act(queue);
            }
            key.into_iter().for_each(|key| self.touch_queue(key));
        };
        change(incoming, |queue| queue.is_deaf = true);
        change(outgoing, |queue| queue.is_ended = true);
        Ok(())
    }

    /// The queue that a message goes to.
    pub(super) fn target(&self, key: u64, name: &[u8]) -> Result<u64, Errno> {
        let end = self.end(key)?;
        let other = match end.kind {
            0 if name.is_empty() => return end.outgoing.ok_or(Errno::EBADF),
            0 => return Err(Errno::ENOTSOCK),
            _ if end.is_mute => return Err(Errno::EPIPE),
            SOCK_DGRAM => self.datagram_target(end, name)?,
            _ if name.is_empty() => return end.outgoing.ok_or(Errno::ENOTCONN),
            _ if matches!(end.stage, Stage::Connected(_)) => return Err(Errno::EISCONN),
            _ => return Err(Errno::EOPNOTSUPP),
        };
        self.ends.get(&other).and_then(|other| other.incoming).ok_or(Errno::ECONNREFUSED)
    }

    fn datagram_target(&self, end: &End, name: &[u8]) -> Result<u64, Errno> {
        let Stage::Connected(peer) = end.stage else {
            let named = if name.is_empty() { Err(Errno::ENOTCONN) } else { self.names.get(name).copied().ok_or(Errno::ECONNREFUSED) };
            return named.and_then(|key| self.check_datagrams(key));
        };
        if name.is_empty() { Ok(peer) } else { self.names.get(name).copied().ok_or(Errno::ECONNREFUSED).and_then(|key| self.check_datagrams(key)) }
    }

    fn check_datagrams(&self, key: u64) -> Result<u64, Errno> {
        if self.end(key)?.kind == SOCK_DGRAM { Ok(key) } else { Err(Errno::EPROTOTYPE) }
    }

    /// Its own name, or that of the other end.
    pub fn name(&self, key: u64, which: u64) -> Result<Vec<u8>, Errno> {
        let end = self.end(key)?;
        if end.kind == 0 {
            return Err(Errno::ENOTSOCK);
        }
        match end.stage {
            _ if which == END_OWN => Ok(end.name.clone()),
            Stage::Connected(_) => Ok(end.peer_name.clone()),
            _ => Err(Errno::ENOTCONN),
        }
    }

    /// Whether it listens.
    pub fn listens(&self, key: u64) -> Result<bool, Errno> {
        Ok(matches!(self.end(key)?.stage, Stage::Listening(..)))
    }

    /// Whom it belongs to.
    pub fn set_credentials(&mut self, key: u64, credentials: [u64; 3]) -> Result<(), Errno> {
        self.socket_end(key)?.credentials = credentials;
        Ok(())
    }

    /// Whom the other end belonged to.
    pub fn peer_credentials(&self, key: u64) -> Result<[u64; 3], Errno> {
        self.end(key)?.peer_credentials.ok_or(Errno::ENOTCONN)
    }
}
