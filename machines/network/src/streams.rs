//! TCP: connections that the guest asks for, and those that stand, each between a socket of the
//! protocols, which has the guest at its other end, and a socket outside.

use crate::frames::GUEST;
use crate::link::Link;
use crate::outside::{Address, Outside, Received, Stage};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;
use smoltcp::iface::{SocketHandle, SocketSet};
use smoltcp::socket::tcp::{Socket, SocketBuffer, State};
use smoltcp::time::Duration;
use smoltcp::wire::{IpAddress, IpEndpoint, Ipv4Address};

/// Bytes of the buffers of a connection, in each direction.
const BUFFER: usize = 32 << 10;
/// Bytes that are moved at once.
const PIECE: usize = 16 << 10;
/// Nanoseconds of a second.
pub(crate) const SECOND: u64 = 1_000_000_000;
/// Seconds of silence after which a guest is asked whether it is there, and is given up.
const KEEP_ALIVE: u64 = 60;
const SILENCE: u64 = 180;
/// Time in which an answer may come that carries the acknowledgement, too.
const ACK_DELAY: Duration = Duration::from_millis(5);

/// Both sides of a connection: the guest's port, and the other's address and port.
pub(crate) type Sides = (u16, Address);

/// Fate of a packet of the guest's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Passed on to the protocols, which answer it.
    Pass,
    /// Kept or dropped: the protocols do not see it, or not yet.
    Held,
}

/// Kind of a packet, as far as it begins or ends a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Asks for a connection.
    Asks,
    /// Breaks the connection off.
    Breaks,
    /// Any other packet.
    Plain,
}

/// A connection that the guest asks for, with the packet that asks.
#[derive(Debug)]
struct Asking {
    socket: u32,
    packet: Vec<u8>,
}

/// A connection that stands outside.
#[derive(Debug)]
struct Stream {
    handle: SocketHandle,
    socket: u32,
    /// Set when nothing more comes from outside.
    has_all: bool,
    /// The outside was told that nothing more comes from the guest.
    has_told: bool,
}

/// The connections.
#[derive(Debug)]
pub(crate) struct Streams {
    most: usize,
    /// There is memory for one more.
    pub(crate) has_memory: bool,
    asking: BTreeMap<Sides, Asking>,
    standing: BTreeMap<Sides, Stream>,
    /// Connections by their sockets outside.
    by_socket: BTreeMap<u32, Sides>,
    /// Connections at which something may be due.
    due: BTreeSet<Sides>,
    /// Time at which all were looked at.
    swept: u64,
    /// Sockets that are closed outside, and that the guest still has.
    left: Vec<(SocketHandle, Sides)>,
}

fn endpoint((address, port): Address) -> IpEndpoint {
    IpEndpoint::new(IpAddress::Ipv4(Ipv4Address::from(address)), port)
}

fn socket() -> Socket<'static> {
    let mut socket = Socket::new(SocketBuffer::new(vec![0; BUFFER]), SocketBuffer::new(vec![0; BUFFER]));
    socket.set_nagle_enabled(false);
    socket.set_ack_delay(Some(ACK_DELAY));
    socket.set_keep_alive(Some(Duration::from_secs(KEEP_ALIVE)));
    socket.set_timeout(Some(Duration::from_secs(SILENCE)));
    socket
}

impl Streams {
    /// Returns no connections, of which there may be so many.
    pub(crate) fn new(most: usize) -> Streams {
        Streams {
            most,
            has_memory: true,
            asking: BTreeMap::new(),
            standing: BTreeMap::new(),
            by_socket: BTreeMap::new(),
            due: BTreeSet::new(),
            swept: 0,
            left: Vec::new(),
        }
    }

    /// Returns the number of connections.
    pub(crate) fn count(&self) -> usize {
        self.asking.len() + self.standing.len() + self.left.len()
    }

    /// Notes sockets outside at which something may have changed.
    pub(crate) fn called(&mut self, sockets: &BTreeSet<u32>) {
        self.due.extend(sockets.iter().filter_map(|socket| self.by_socket.get(socket)));
    }

    /// Makes room for one more connection. One that is closed outside gives way, the oldest first.
    fn make_room(&mut self, sockets: &mut SocketSet<'static>) -> bool {
        if self.count() >= self.most && !self.left.is_empty() {
            sockets.remove(self.left.remove(0).0);
        }
        self.count() < self.most && self.has_memory
    }

    /// Decides about a packet of the guest's. One that asks for a connection is kept until the
    /// outside has answered, and is lost if there are too many: the guest asks again.
    pub(crate) fn judge(&mut self, sockets: &mut SocketSet<'static>, outside: &mut dyn Outside, (sides, kind): (Sides, Kind), packet: &[u8]) -> Verdict {
        if kind == Kind::Breaks && let Some(given_up) = self.asking.remove(&sides) {
            self.by_socket.remove(&given_up.socket);
            outside.close(given_up.socket);
            return Verdict::Held;
        }
        if self.asking.contains_key(&sides) {
            return Verdict::Held;
        }
        self.due.insert(sides);
        if kind != Kind::Asks || self.standing.contains_key(&sides) {
            return Verdict::Pass;
        }
        self.left.retain(|(handle, old)| {
            if *old == sides {
                sockets.remove(*handle);
            }
            *old != sides
        });
        if !self.make_room(sockets) {
            return Verdict::Held;
        }
        // Without a socket the protocols refuse it.
        let Ok(socket) = outside.connect(sides.1) else { return Verdict::Pass };
        self.asking.insert(sides, Asking { socket, packet: packet.to_vec() });
        self.by_socket.insert(socket, sides);
        Verdict::Held
    }

    /// Passes on the packet of one connection that the outside has answered. The protocols have to
    /// take it before the next one: two sockets may listen at the same port. Returns false if there
    /// is none.
    pub(crate) fn open_next(&mut self, sockets: &mut SocketSet<'static>, link: &mut Link, outside: &mut dyn Outside) -> bool {
        loop {
            let Some(sides) = self.due.iter().find(|sides| self.asking.contains_key(sides)).copied() else { return false };
            self.due.remove(&sides);
            let Some(asking) = self.asking.get(&sides) else { continue };
            let stage = outside.stage(asking.socket);
            if stage == Stage::Asking {
                continue;
            }
            let Some(Asking { socket: outer, packet }) = self.asking.remove(&sides) else { continue };
            let mut inner = socket();
            if stage == Stage::Standing && inner.listen(endpoint(sides.1)).is_ok() {
                let handle = sockets.add(inner);
                self.standing.insert(sides, Stream { handle, socket: outer, has_all: false, has_told: false });
                self.due.insert(sides);
            } else {
                self.by_socket.remove(&outer);
                outside.close(outer);
            }
            link.arrive(&packet);
            return true;
        }
    }

    /// Does what is due.
    pub(crate) fn settle(&mut self, sockets: &mut SocketSet<'static>, outside: &mut dyn Outside, now: u64) {
        if now.saturating_sub(self.swept) >= SECOND {
            self.swept = now;
            self.due.extend(self.standing.keys().chain(self.asking.keys()));
            self.sweep(sockets);
        }
        let asking = &self.asking;
        let (waiting, due): (BTreeSet<_>, BTreeSet<_>) = core::mem::take(&mut self.due).into_iter().partition(|sides| asking.contains_key(sides));
        self.due = waiting;
        for sides in due {
            let Some(stream) = self.standing.get_mut(&sides) else { continue };
            let inner = sockets.get_mut::<Socket<'_>>(stream.handle);
            if stream.settle(inner, outside, sides) {
                continue;
            }
            if !stream.has_all {
                inner.abort();
            }
            outside.close(stream.socket);
            self.by_socket.remove(&stream.socket);
            self.left.push((stream.handle, sides));
            self.standing.remove(&sides);
        }
    }

    /// Forgets sockets that the guest has no more.
    fn sweep(&mut self, sockets: &mut SocketSet<'static>) {
        self.left.retain(|(handle, _)| {
            let is_over = sockets.get::<Socket<'_>>(*handle).state() == State::Closed;
            if is_over {
                sockets.remove(*handle);
            }
            !is_over
        });
    }
}

impl Stream {
    /// Moves bytes both ways. Returns false if the connection is over outside: in good order if
    /// `has_all` is set.
    fn settle(&mut self, inner: &mut Socket<'_>, outside: &mut dyn Outside, (port, _): Sides) -> bool {
        match inner.state() {
            // The packet that asked was not what it seemed.
            State::Listen => return false,
            State::SynReceived => return true,
            State::Closed if inner.recv_queue() == 0 => {
                self.has_all = false;
                return false;
            }
            _ => {}
        }
        let is_guest = inner.remote_endpoint().is_none_or(|remote| remote == endpoint((GUEST, port)));
        if !is_guest || self.carry_out(inner, outside).is_err() || self.carry_in(inner, outside).is_err() {
            self.has_all = false;
            return false;
        }
        !(self.has_all && self.has_told)
    }

    /// Carries what the guest has sent to the outside.
    fn carry_out(&mut self, inner: &mut Socket<'_>, outside: &mut dyn Outside) -> Result<(), crate::Gone> {
        while inner.recv_queue() > 0 {
            let Ok(data) = inner.peek(PIECE) else { break };
            let count = outside.send(self.socket, data)?.min(data.len());
            if count == 0 {
                return Ok(());
            }
            // So many are there.
            let _ = inner.recv(|_| (count, ()));
        }
        if !self.has_told && inner.recv_queue() == 0 && !inner.may_recv() {
            self.has_told = true;
            outside.finish(self.socket);
        }
        Ok(())
    }

    /// Carries what has come from outside to the guest.
    fn carry_in(&mut self, inner: &mut Socket<'_>, outside: &mut dyn Outside) -> Result<(), crate::Gone> {
        let mut bytes = Vec::new();
        while !self.has_all && inner.can_send() {
            let room = (inner.send_capacity() - inner.send_queue()).min(PIECE);
            bytes.resize(room, 0);
            match outside.receive(self.socket, &mut bytes)? {
                Received::Nothing => break,
                // There is room for all of it.
                Received::Bytes(count) => _ = inner.send_slice(&bytes[..count.min(room)]),
                Received::End => {
                    self.has_all = true;
                    inner.close();
                }
            }
        }
        Ok(())
    }
}
