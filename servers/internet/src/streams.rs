//! TCP: connections that an end has asked for, those that somebody outside asks for, and those that
//! stand, each between a socket of the protocols and an inner end of the hub.

use crate::arrivals::Sides;
use crate::card::Card;
use crate::lane::Lane;
use crate::stack::{endpoint, ip, parts};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;
use nacre_channel::hub::budgets::Way;
use nacre_channel::hub::outside::Wanted;
use nacre_channel::hub::{Hub, Sending};
use nacre_channel::queue::ReceiveRequest;
use nacre_proto::Errno;
use nacre_proto::channel::Address;
use smoltcp::iface::{Interface, SocketHandle, SocketSet};
use smoltcp::socket::Socket as Any;
use smoltcp::socket::tcp::{ConnectError, Socket, SocketBuffer, State};
use smoltcp::time::Duration;
use smoltcp::wire::IpListenEndpoint;

/// Bytes of the buffers of a connection, in each direction.
const BUFFER: usize = 64 << 10;
/// Number of connections that somebody outside has asked for and not confirmed, at most.
const MAX_HALF: usize = 128;
/// Seconds in which an answer must come, for who asks and for who is asked, and for which the other
/// side may keep a connection open that ours has closed.
const ASKING: u64 = 60;
const ASKED: u64 = 20;
const CLOSING: u64 = 60;
/// Nanoseconds of a second.
pub const SECOND: u64 = 1_000_000_000;
/// Time in which an answer may come that carries the acknowledgement, too.
const ACK_DELAY: Duration = Duration::from_millis(5);
/// Bytes that are moved at once.
const PIECE: usize = 16 << 10;

/// A connection that stands.
#[derive(Debug)]
struct Stream {
    sides: Sides,
    /// Set when nothing more comes from the end.
    has_all: bool,
    /// The end was told that nothing more comes from outside.
    has_told: bool,
    /// Time since which our side has closed it altogether.
    closed: Option<u64>,
}

impl Stream {
    fn new(sides: Sides) -> Stream {
        Stream { sides, has_all: false, has_told: false, closed: None }
    }
}

/// A connection that an end asks for.
#[derive(Debug)]
struct Asking {
    handle: SocketHandle,
    since: u64,
}

/// The connections. The head of this module describes them.
#[derive(Debug)]
pub struct Streams {
    most: usize,
    /// There is memory for one more.
    pub has_memory: bool,
    /// Connections that ends ask for, by the end.
    asking: BTreeMap<u64, Asking>,
    /// Connections that are asked for from outside, with our port.
    asked: Vec<(SocketHandle, u16)>,
    /// Connections that stand, by the inner end.
    standing: BTreeMap<u64, (Lane, Stream)>,
    by_sides: BTreeMap<Sides, u64>,
    /// Inner ends at which something may be due, and those whose sockets may have to send.
    due: BTreeSet<u64>,
    sending: BTreeSet<u64>,
    /// First of those in their order whose turn it is.
    first: u64,
    /// Deadlines of sockets of connections that stand, with the inner end.
    deadlines: BTreeSet<(u64, u64)>,
    /// Time at which all were looked at.
    swept: u64,
    /// Sockets without an end, which the other side still has.
    left: Vec<SocketHandle>,
}

fn socket(timeout: u64) -> Socket<'static> {
    let mut socket = Socket::new(SocketBuffer::new(vec![0; BUFFER]), SocketBuffer::new(vec![0; BUFFER]));
    socket.set_nagle_enabled(false);
    socket.set_ack_delay(Some(ACK_DELAY));
    socket.set_timeout(Some(Duration::from_secs(timeout)));
    socket
}

/// Address and port of ours from which a machine is reached. In version 6 it is the address that
/// the hub knows, and not the one of the wire alone.
fn own<R>(hub: &Hub<R>, to: Address, port: u16) -> IpListenEndpoint {
    let own = hub.interface_6().filter(|_| to.four().is_none());
    IpListenEndpoint { addr: own.map(|own| ip(own.address.into())), port }
}

impl Streams {
    /// Returns no connections, of which there may be so many.
    pub fn new(most: usize) -> Streams {
        Streams {
            most,
            has_memory: true,
            asking: BTreeMap::new(),
            asked: Vec::new(),
            standing: BTreeMap::new(),
            by_sides: BTreeMap::new(),
            due: BTreeSet::new(),
            sending: BTreeSet::new(),
            first: 0,
            deadlines: BTreeSet::new(),
            swept: 0,
            left: Vec::new(),
        }
    }

    /// Returns the number of connections.
    pub fn count(&self) -> usize {
        self.asking.len() + self.asked.len() + self.standing.len() + self.left.len()
    }

    /// Notes that a machine on the wire has told its address: sockets may wait for that.
    pub fn found_neighbour(&mut self) {
        self.due.extend(self.deadlines.iter().map(|(_, inner)| inner));
    }

    /// Notes that a frame of a connection has come. Returns the set with its socket, if it stands.
    pub fn heard(&mut self, sides: &Sides) -> Option<&mut SocketSet<'static>> {
        let inner = *self.by_sides.get(sides)?;
        self.due.insert(inner);
        self.standing.get_mut(&inner).map(|(lane, _)| &mut lane.sockets)
    }

    /// Returns the time at which a connection that stands has something to do.
    pub fn deadline(&self) -> Option<u64> {
        self.deadlines.first().map(|(at, _)| *at)
    }

    /// Sends what connections have to send at which something was due, or whose time has come. If
    /// the card has no room, the next call begins with those that have not had their turn.
    pub fn send(&mut self, interface: &mut Interface, card: &mut Card, now: u64) {
        let late = self.deadlines.iter().take_while(|(at, _)| *at <= now).map(|(_, inner)| *inner);
        self.sending.extend(late);
        let first = self.sending.split_off(&self.first);
        let last = core::mem::take(&mut self.sending);
        for inner in first.into_iter().chain(last) {
            if card.is_full() {
                self.first = if self.sending.is_empty() { inner } else { self.first };
                self.sending.insert(inner);
                continue;
            }
            let Some((lane, _)) = self.standing.get_mut(&inner) else { continue };
            let before = lane.deadline;
            lane.send(interface, card, now);
            self.deadlines.extend(lane.deadline.map(|at| (at, inner)));
            if let Some(at) = before.filter(|_| before != lane.deadline) {
                self.deadlines.remove(&(at, inner));
            }
        }
    }

    /// Notes that something may have changed at ends.
    pub fn touched(&mut self, ends: &BTreeSet<u64>) {
        self.due.extend(ends.iter().filter(|end| self.standing.contains_key(end)));
    }

    /// Makes room for one more connection: one that both sides have closed, and that only waits for
    /// what may still be on its way, is forgotten. Returns false if there is no such one.
    fn make_room(&mut self, sockets: &mut SocketSet<'static>) -> bool {
        if self.count() < self.most && self.has_memory {
            return true;
        }
        let is_over = |handle: &SocketHandle| matches!(sockets.get::<Socket<'_>>(*handle).state(), State::TimeWait | State::Closed);
        // What our side has closed gives way, the oldest first, if nothing else does.
        let orphan = (!self.left.is_empty()).then_some(0);
        let Some(place) = self.left.iter().position(is_over).or(orphan) else { return false };
        sockets.remove(self.left.remove(place));
        self.has_memory
    }

    /// Makes a socket for a connection that somebody asks for, if somebody listens at the port.
    /// Returns false if it is to be asked for again, because there are too many.
    pub fn expect<R>(&mut self, sockets: &mut SocketSet<'static>, hub: &Hub<R>, from: (Address, u16), port: u16) -> bool {
        let is_asked_again = |(handle, own): &(SocketHandle, u16)| *own == port && sockets.get::<Socket<'_>>(*handle).remote_endpoint() == Some(endpoint(from));
        let is_known = self.by_sides.contains_key(&(from.0, from.1, port)) || self.asked.iter().any(is_asked_again);
        if is_known || hub.listener(port, from).is_none() {
            // Without a socket the protocols refuse it.
            return true;
        }
        if self.asked.len() >= MAX_HALF || !self.make_room(sockets) {
            return false;
        }
        let mut socket = socket(ASKED);
        if socket.listen(port).is_ok() {
            self.asked.push((sockets.add(socket), port));
        }
        true
    }

    /// Asks for the connections that ends want.
    pub fn begin<R>(&mut self, interface: &mut Interface, sockets: &mut SocketSet<'static>, hub: &mut Hub<R>, now: u64) {
        while let Some(Wanted { end, port, to }) = hub.next_wanted() {
            if self.by_sides.contains_key(&(to.0, to.1, port)) {
                hub.refused(end, Errno::EADDRNOTAVAIL);
                continue;
            }
            if !self.make_room(sockets) {
                hub.refused(end, Errno::ENOBUFS);
                continue;
            }
            let mut socket = socket(ASKING);
            match socket.connect(interface.context(), endpoint(to), own(hub, to.0, port)) {
                Ok(()) => drop(self.asking.insert(end, Asking { handle: sockets.add(socket), since: now })),
                Err(ConnectError::Unaddressable) => hub.refused(end, Errno::ENETUNREACH),
                Err(ConnectError::InvalidState) => hub.refused(end, Errno::EADDRNOTAVAIL),
            }
        }
    }

    /// A connection stands: its socket leaves the others.
    fn stand(&mut self, sockets: &mut SocketSet<'static>, inner: u64, handle: SocketHandle) {
        let Any::Tcp(mut socket) = sockets.remove(handle) else { return };
        socket.set_timeout(None);
        let (Some((address, from)), Some(own)) = (socket.remote_endpoint().map(parts), socket.local_endpoint()) else { return };
        let sides = (address, from, own.port);
        self.standing.insert(inner, (Lane::new(socket), Stream::new(sides)));
        self.by_sides.insert(sides, inner);
        self.due.insert(inner);
    }

    /// The inner end of a connection has gone: its socket joins those that the other side still
    /// has.
    fn leave(&mut self, sockets: &mut SocketSet<'static>, inner: u64) {
        let Some((lane, stream)) = self.standing.remove(&inner) else { return };
        self.by_sides.remove(&stream.sides);
        if let Some(at) = lane.deadline {
            self.deadlines.remove(&(at, inner));
        }
        if let Any::Tcp(socket) = lane.into_socket() {
            self.left.push(sockets.add(socket));
        }
    }

    /// Does what is due.
    pub fn settle<R>(&mut self, sockets: &mut SocketSet<'static>, hub: &mut Hub<R>, now: u64) {
        self.settle_asking(sockets, hub, now);
        self.settle_asked(sockets, hub);
        if now.saturating_sub(self.swept) >= SECOND {
            self.swept = now;
            self.due.extend(self.standing.keys());
            self.sweep(sockets);
        }
        for inner in core::mem::take(&mut self.due) {
            let Some((lane, stream)) = self.standing.get_mut(&inner) else { continue };
            if stream.settle(lane.socket(), inner, hub, now) {
                self.sending.insert(inner);
            } else {
                self.leave(sockets, inner);
            }
        }
    }

    /// Forgets sockets that nobody has any more.
    fn sweep(&mut self, sockets: &mut SocketSet<'static>) {
        self.left.retain(|handle| {
            let is_over = sockets.get::<Socket<'_>>(*handle).state() == State::Closed;
            if is_over {
                sockets.remove(*handle);
            }
            !is_over
        });
    }

    fn settle_asking<R>(&mut self, sockets: &mut SocketSet<'static>, hub: &mut Hub<R>, now: u64) {
        for (end, Asking { handle, since }) in core::mem::take(&mut self.asking) {
            let socket = sockets.get_mut::<Socket<'_>>(handle);
            match socket.state() {
                _ if !hub.is_connecting(end) => {}
                State::SynSent | State::SynReceived => {
                    self.asking.insert(end, Asking { handle, since });
                    continue;
                }
                // The protocols do not say whether it was refused or not answered; the time does.
                State::Closed if now.saturating_sub(since) >= ASKING * SECOND => hub.refused(end, Errno::ETIMEDOUT),
                State::Closed => hub.refused(end, Errno::ECONNREFUSED),
                _ => match hub.connected(end) {
                    Ok(inner) => {
                        self.stand(sockets, inner, handle);
                        continue;
                    }
                    Err(errno) => hub.refused(end, errno),
                },
            }
            socket.abort();
            self.left.push(handle);
        }
    }

    fn settle_asked<R>(&mut self, sockets: &mut SocketSet<'static>, hub: &mut Hub<R>) {
        for (handle, port) in core::mem::take(&mut self.asked) {
            let socket = sockets.get_mut::<Socket<'_>>(handle);
            match socket.state() {
                State::SynReceived => {
                    self.asked.push((handle, port));
                    continue;
                }
                // What it was made for was not what it seemed.
                State::Closed | State::Listen => {}
                _ => {
                    let from = socket.remote_endpoint().map(parts);
                    let inner = from.and_then(|from| hub.arrived(hub.listener(port, from)?, from).ok());
                    if let Some(inner) = inner {
                        self.stand(sockets, inner, handle);
                        continue;
                    }
                }
            }
            sockets.get_mut::<Socket<'_>>(handle).abort();
            self.left.push(handle);
        }
    }
}

impl Stream {
    /// Moves bytes both ways. Returns false if the inner end has gone.
    fn settle<R>(&mut self, socket: &mut Socket<'_>, end: u64, hub: &mut Hub<R>, now: u64) -> bool {
        if socket.state() == State::Closed && socket.recv_queue() == 0 {
            hub.broken(end);
            return false;
        }
        // Whoever reads and writes the rings says so when something changes.
        hub.want(end);
        let goes_on = self.bring(socket, end, hub).and_then(|goes_on| self.take(socket, end, hub).map(|()| goes_on));
        if goes_on.is_err() {
            socket.abort();
            hub.exhausted(end);
            return false;
        }
        if goes_on == Ok(false) || self.is_given_up(end, hub, now) {
            socket.abort();
            hub.close(end);
            return false;
        }
        if self.has_all && self.has_told {
            hub.close(end);
            return false;
        }
        true
    }

    /// Returns true if our side has closed the connection for so long that it waits no more for the
    /// other.
    fn is_given_up<R>(&mut self, end: u64, hub: &Hub<R>, now: u64) -> bool {
        if !hub.is_alone(end) {
            return false;
        }
        now.saturating_sub(*self.closed.get_or_insert(now)) >= CLOSING * SECOND
    }

    /// Brings the end what has come. Returns false if nobody reads it any more. An error: no more
    /// bytes may come.
    fn bring<R>(&mut self, socket: &mut Socket<'_>, end: u64, hub: &mut Hub<R>) -> Result<bool, Errno> {
        while socket.recv_queue() > 0 {
            let left = hub.bytes_left(end, Way::In).min(PIECE as u64) as usize;
            if left == 0 {
                return Err(Errno::EDQUOT);
            }
            let Ok(data) = socket.peek(left).map(<[u8]>::to_vec) else { break };
            let sending = Sending { data, ..Sending::default() };
            match hub.send(end, &sending, &mut Vec::new()) {
                Ok(Some(count)) if count > 0 => {
                    let _ = socket.recv(|_| (count, ()));
                    hub.spend(end, Way::In, count)?;
                }
                // Room for it may come.
                Ok(_) | Err(Errno::ENOMEM | Errno::ENOBUFS) => return Ok(true),
                Err(_) => return Ok(false),
            }
        }
        if !self.has_told && socket.recv_queue() == 0 && !socket.may_recv() {
            self.has_told = true;
            // It is still open, so it can be shut.
            let _ = hub.shutdown(end, 1);
        }
        Ok(true)
    }

    /// Takes what the end sends. An error: no more bytes may go.
    fn take<R>(&mut self, socket: &mut Socket<'_>, end: u64, hub: &mut Hub<R>) -> Result<(), Errno> {
        while !self.has_all && socket.can_send() {
            let room = socket.send_capacity() - socket.send_queue();
            let wish = ReceiveRequest { size: room.min(PIECE), ..ReceiveRequest::default() };
            match hub.receive(end, wish) {
                Ok(None) => return Ok(()),
                Ok(Some(received)) if !received.data.is_empty() => {
                    hub.spend(end, Way::Out, received.data.len())?;
                    // There is room for all of it.
                    let _ = socket.send_slice(&received.data);
                    self.closed = None;
                }
                _ => {
                    self.has_all = true;
                    socket.close();
                }
            }
        }
        Ok(())
    }
}
