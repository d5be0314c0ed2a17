//! Sockets of the internet whose other end is no socket of ours: whoever has a network card asks
//! here who wants to reach the outside, and brings what comes from there.
//!
//! A connection to the outside is one between two ends as any other. Its inner end has no place at
//! which clients find it: it belongs to whoever speaks with the outside.

use super::budgets::Way;
use super::{End, Hub, Stage};
use crate::queue::{NOBODY, PIECE, SendRequest};
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use nacre_proto::Errno;
use nacre_proto::channel::{Address, INTERNET, INTERNET_6, INTERNET_BOTH, InternetName};
use nacre_proto::flags::{SOCK_DGRAM, SOCK_STREAM};

/// Limits of datagrams that wait to go out: their number and their bytes.
const MAX_WAITING: usize = 64;
const MAX_BYTES: usize = 1 << 20;
/// Largest datagram to the outside, in bytes: as much as the protocols cut into packets.
const MAX_DATAGRAM: usize = 16_000;

/// A datagram that is to go out.
#[derive(Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Kind of it, as in a name: UDP or ICMP.
    pub kind: u8,
    /// Port that it comes from.
    pub from: u16,
    /// Address and port that it is for, or of ICMP the number of hops.
    pub to: (Address, u16),
    /// Bytes.
    pub data: Vec<u8>,
}

/// A socket that wants to be connected to the outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The end.
    pub end: u64,
    /// Port of the end.
    pub port: u16,
    /// Address and port that it wants to reach.
    pub to: (Address, u16),
}

/// Network card by which the outside is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Address of this machine.
    pub address: [u8; 4],
    /// Number of leading bits that all addresses on the wire have alike.
    pub prefix: u8,
    /// Address of whoever reaches all others.
    pub gateway: Option<[u8; 4]>,
    /// Address of the card.
    pub card: [u8; 6],
    /// Bytes of the largest packet.
    pub packet: u64,
}

impl Interface {
    /// Returns true for an address by which several machines are reached: a multicast or broadcast
    /// one.
    fn is_of_many(&self, address: [u8; 4]) -> bool {
        const MULTICAST: core::ops::RangeInclusive<u8> = 224..=239;
        let hosts = u32::MAX.checked_shr(self.prefix.into()).unwrap_or(0);
        let wire = u32::from_be_bytes(self.address) | hosts;
        // A wire with two addresses has none for all.
        let is_wire = self.prefix < 31 && u32::from_be_bytes(address) == wire;
        is_wire || MULTICAST.contains(&address[0]) || address == [255; 4]
    }
}

/// Way to the outside in version 6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface6 {
    /// Address of this machine.
    pub address: [u8; 16],
    /// Number of leading bits that all addresses on the wire have alike.
    pub prefix: u8,
    /// Address of whoever reaches all others, on this wire alone.
    pub gateway: Option<[u8; 16]>,
}

/// Returns true for an address of version 6 that several machines have, or that is known on one
/// wire alone. Whoever judges addresses knows none of them.
fn is_of_wire(address: [u8; 16]) -> bool {
    address[0] == 0xff || address[0] == 0xfe && address[1] & 0xc0 == 0x80
}

/// Bytes of the heads of a datagram's packet of version 6, which is not cut into parts.
const HEADS_6: u64 = 48;

/// The outside, as far as it is known, and what is to go there.
#[derive(Debug, Default)]
pub(super) struct Outside {
    /// The way there; `None`: there is no outside.
    interface: Option<Interface>,
    /// Address of this machine there.
    own: Option<Address>,
    /// The way there in version 6, and the address that the machine has or had by it.
    interface_6: Option<Interface6>,
    own_6: Option<Address>,
    wanted: VecDeque<u64>,
    pub(super) recent: super::recent_ports::RecentPorts,
    datagrams: VecDeque<Datagram>,
    bytes: usize,
    /// There was no room for more of them since the last one was taken.
    was_full: bool,
    /// Packets and bytes that came, and that went.
    traffic: [u64; 4],
}

impl<R> Hub<R> {
    /// Makes an outside known. Inode numbers of sockets there are other ones than those of a
    /// manager within, so that one who has sockets of both can tell them apart.
    pub fn set_interface(&mut self, interface: Interface) {
        const FIRST: u64 = 1 << 30;
        self.next = self.next.max(FIRST);
        (self.outside.own, self.outside.interface) = (Some(interface.address.into()), Some(interface));
    }

    /// Makes the way to the outside in version 6 known, or that there is none any more.
    pub fn set_interface_6(&mut self, interface: Option<Interface6>) {
        self.outside.own_6 = interface.map(|interface| interface.address.into()).or(self.outside.own_6);
        self.outside.interface_6 = interface;
    }

    /// The way to the outside in version 6, if there is one.
    pub fn interface_6(&self) -> Option<Interface6> {
        self.outside.interface_6
    }

    /// Returns true if an address is the machine's own outside.
    pub(super) fn is_own(&self, address: Address) -> bool {
        [self.outside.own, self.outside.own_6].contains(&Some(address))
    }

    /// The address by which the machine is seen from another one. `ENETUNREACH`: there is no way.
    fn own_towards(&self, other: Address) -> Result<Address, Errno> {
        let own = match other {
            Address::Four(_) => self.outside.own,
            Address::Six(_) => self.outside.interface_6.map(|interface| interface.address.into()),
        };
        own.ok_or(Errno::ENETUNREACH)
    }

    /// The way to the outside, if there is one.
    pub fn interface(&self) -> Option<Interface> {
        self.outside.interface
    }

    /// Counts packets with so many bytes, of which some came and some went.
    pub fn count_traffic(&mut self, traffic: [u64; 4]) {
        self.outside.traffic.iter_mut().zip(traffic).for_each(|(all, more)| *all = all.wrapping_add(more));
    }

    /// Returns the number of packets that came and their bytes, and of those that went; `None`:
    /// there is no outside.
    pub fn traffic(&self) -> Option<[u64; 4]> {
        self.outside.interface.map(|_| self.outside.traffic)
    }

    /// Returns true if an end is the inner one of a connection to the outside.
    pub(super) fn is_inner(&self, end: &End<R>) -> bool {
        InternetName::read(&end.name).is_some_and(|name| !name.is_of_machine() && !self.is_own(name.address))
    }

    /// The name under which a socket of ours is found; `None`: it is one of the outside.
    /// `ENETUNREACH`: there is no outside, or several machines have the address. QEMU's network
    /// takes a datagram to all for one to the host itself, which nobody who judges addresses could
    /// know.
    pub(super) fn local_name(&self, name: &[u8]) -> Result<Option<Vec<u8>>, Errno> {
        let Some(parts) = InternetName::read(name).filter(|parts| !parts.is_of_machine()) else { return Ok(Some(name.to_vec())) };
        if self.is_own(parts.address) {
            return Ok(Some(InternetName { address: InternetName::LOOPBACK, ..parts }.bytes()));
        }
        match parts.address {
            Address::Four(_) if self.outside.own.is_none() => Err(Errno::ENETUNREACH),
            Address::Four(address) if self.outside.interface.is_some_and(|interface| interface.is_of_many(address)) => Err(Errno::ENETUNREACH),
            // Whoever takes part in both versions is asked for where the one version has nobody.
            Address::Four(_) if parts.version == INTERNET_BOTH => Err(Errno::ECONNREFUSED),
            Address::Four(_) if parts.version == INTERNET_6 => Err(Errno::ENETUNREACH),
            Address::Six(address) if self.outside.interface_6.is_none() || is_of_wire(address) => Err(Errno::ENETUNREACH),
            _ => Ok(None),
        }
    }

    /// Checks that a socket of ours is found by a name: one that is for the machine alone is not
    /// found by the machine's address outside.
    pub(super) fn check_found(&self, target: u64, name: &[u8]) -> Result<(), Errno> {
        let is_outer = InternetName::read(name).is_some_and(|name| !name.is_of_machine());
        let is_inner = InternetName::read(&self.end(target)?.name).is_some_and(|name| name.address.is_loopback());
        if is_outer && is_inner { Err(Errno::ECONNREFUSED) } else { Ok(()) }
    }

    /// The name that an end is seen by where it has sent something.
    pub(super) fn own_name(&self, end: &End<R>) -> Vec<u8> {
        let peer = InternetName::read(&end.peer_name).filter(|peer| end.stage == Stage::Outside && !peer.is_of_machine());
        match (InternetName::read(&end.name), peer.map(|peer| self.own_towards(peer.address))) {
            (Some(parts), Some(Ok(own))) => at(parts, own).bytes(),
            _ => end.name.clone(),
        }
    }

    /// Checks that a socket of this kind can have the name and be found by the key: an address is
    /// the machine's own, or any, and who is found at a port has that port.
    pub(super) fn check_own(&self, kind: u64, found_by: &[u8], name: &[u8]) -> Result<(), Errno> {
        let (key, name) = (InternetName::read(found_by), InternetName::read(name));
        match (key, name) {
            (None, None) => Ok(()),
            (Some(key), Some(name)) if key != (InternetName { address: InternetName::LOOPBACK, ..name }) || !is_of_kind(name, kind) => Err(Errno::EINVAL),
            (None, Some(_)) => Err(Errno::EINVAL),
            (_, Some(name)) if name.is_of_machine() || self.is_own(name.address) => Ok(()),
            (_, Some(_)) => Err(Errno::EADDRNOTAVAIL),
            (Some(_), None) => Err(Errno::EINVAL),
        }
    }

    /// Connects an end to the outside; false: it has to wait.
    pub(super) fn connect_outside(&mut self, key: u64, name: &[u8]) -> Result<bool, Errno> {
        let end = self.end_mut(key)?;
        // Whoever judges names goes by the kind that they tell.
        let own = InternetName::read(&end.name).ok_or(Errno::EINVAL)?;
        if InternetName::read(name).is_none_or(|to| to.kind != own.kind || !takes_part(own, to.address)) {
            return Err(Errno::EPROTOTYPE);
        }
        let asks_beside = self.asks_beside(key, name);
        let end = self.end_mut(key)?;
        match (end.kind, &end.stage) {
            (_, Stage::Listening(..)) => return Err(Errno::EINVAL),
            (SOCK_STREAM, Stage::Connecting) => return Ok(false),
            (SOCK_STREAM, Stage::Plain) if asks_beside => return Err(Errno::EADDRNOTAVAIL),
            (SOCK_STREAM, Stage::Plain) => {}
            (SOCK_STREAM, _) => return Err(Errno::EISCONN),
            _ => {
                (end.stage, end.peer_name) = (Stage::Outside, name.to_vec());
                return Ok(true);
            }
        }
        if let Some(error) = end.error.take() {
            return Err(error);
        }
        self.charge_connection(key)?;
        self.outside.recent.note(own.port);
        let end = self.end_mut(key)?;
        (end.stage, end.peer_name) = (Stage::Connecting, name.to_vec());
        self.outside.wanted.push_back(key);
        Ok(false)
    }

    /// Returns true if an end waits for an answer from outside.
    pub fn is_connecting(&self, key: u64) -> bool {
        self.ends.get(&key).is_some_and(|end| end.stage == Stage::Connecting)
    }

    /// Returns true if an end that wanted a connection has it, false if it waits on, or the error
    /// that became of it.
    pub(crate) fn outcome(&mut self, key: u64) -> Result<bool, Errno> {
        let end = self.end_mut(key)?;
        match end.stage {
            Stage::Connecting => Ok(false),
            Stage::Connected(_) => Ok(true),
            _ => Err(end.error.take().unwrap_or(Errno::ECONNREFUSED)),
        }
    }

    /// Returns true if somebody wants a connection to the outside, or a datagram is to go there.
    pub fn wants_outside(&self) -> bool {
        !self.outside.wanted.is_empty() || !self.outside.datagrams.is_empty()
    }

    /// The next end that wants a connection to the outside.
    pub fn next_wanted(&mut self) -> Option<Wanted> {
        loop {
            let key = self.outside.wanted.pop_front()?;
            let Some(end) = self.ends.get(&key).filter(|end| end.stage == Stage::Connecting) else { continue };
            if let (Some(own), Some(to)) = (InternetName::read(&end.name), InternetName::read(&end.peer_name)) {
                return Some(Wanted { end: key, port: own.port, to: (to.address, to.port) });
            }
        }
    }

    /// An inner end, which is charged as a connection.
    fn add_inner(&mut self) -> Result<u64, Errno> {
        let inner = self.add_end(SOCK_STREAM, super::SOCKET_ACCESS)?;
        self.charge_connection(inner).inspect_err(|_| self.close(inner))?;
        Ok(inner)
    }

    /// The outside has answered an end: it is connected. Returns the inner end.
    pub fn connected(&mut self, key: u64) -> Result<u64, Errno> {
        if !self.is_connecting(key) {
            return Err(Errno::EINVAL);
        }
        let peer_name = self.end(key)?.peer_name.clone();
        let own = self.own_towards(InternetName::read(&peer_name).ok_or(Errno::EINVAL)?.address)?;
        self.charge_as(key)?;
        // The inner end has the connection that was charged to this one.
        let line = self.end(key)?.line.clone();
        self.release_connection(key, &line);
        let inner = self.add_inner()?;
        self.end_mut(inner)?.name = peer_name;
        let end = self.end_mut(key)?;
        at_address(end, own);
        end.changes += 1;
        self.connect_ends(key, inner)?;
        Ok(inner)
    }

    /// An end gets no connection to the outside.
    pub fn refused(&mut self, key: u64, errno: Errno) {
        if let Some(end) = self.ends.get_mut(&key).filter(|end| end.stage == Stage::Connecting) {
            (end.stage, end.error) = (Stage::Plain, Some(errno));
            end.changes += 1;
            self.touched.insert(key);
            let line = end.line.clone();
            self.release_connection(key, &line);
        }
    }

    /// The socket that a machine outside finds at a port.
    fn bound(&self, kind: u64, port: u16, (from, from_port): (Address, u16)) -> Option<u64> {
        let sender = InternetName { version: version_of(from), kind: kind as u8, address: from, port: from_port };
        let key = |version| InternetName { version, address: InternetName::LOOPBACK, port, ..sender }.bytes();
        let found = [sender.version, INTERNET_BOTH].into_iter().find_map(|version| self.found_outside(&key(version), sender))?;
        let end = self.ends.get(&found)?;
        self.is_seen(end).then_some(found)
    }

    /// Returns true if machines outside find an end. One that asked somebody there hears the
    /// answer, whatever address it has itself.
    pub(super) fn is_seen(&self, end: &End<R>) -> bool {
        InternetName::read(&end.name).is_some_and(|name| name.address == InternetName::ANY || self.is_own(name.address) || end.stage == Stage::Outside)
    }

    /// Returns true if the outside finds a socket of datagrams at a port.
    pub fn takes_datagrams(&self, port: u16) -> bool {
        let key = |version| InternetName { version, kind: SOCK_DGRAM as u8, address: InternetName::LOOPBACK, port }.bytes();
        [INTERNET, INTERNET_6, INTERNET_BOTH].into_iter().any(|version| self.is_any_seen(&key(version)))
    }

    /// The socket that listens for a machine outside at a port, and has room for one more
    /// connection.
    pub fn listener(&self, port: u16, from: (Address, u16)) -> Option<u64> {
        let key = self.bound(SOCK_STREAM, port, from)?;
        self.ends.get(&key)?.has_place().then_some(key)
    }

    /// Somebody outside has connected to a socket of ours. Returns the inner end.
    pub fn arrived(&mut self, listener: u64, from: (Address, u16)) -> Result<u64, Errno> {
        let own = self.own_towards(from.0)?;
        self.charge_as(listener)?;
        let inner = self.add_inner()?;
        let name = InternetName { version: version_of(from.0), kind: SOCK_STREAM as u8, address: from.0, port: from.1 };
        self.end_mut(inner)?.name = name.bytes();
        if let Err(errno) = self.join_listener(inner, listener, [0; 3]) {
            self.close(inner);
            return Err(errno);
        }
        if let Stage::Connected(server) = self.end(inner)?.stage {
            at_address(self.end_mut(server)?, own);
        }
        Ok(inner)
    }

    /// Returns true if the other end of an inner end has gone.
    pub fn is_alone(&self, inner: u64) -> bool {
        match self.ends.get(&inner).map(|end| &end.stage) {
            Some(Stage::Connected(peer)) => !self.ends.contains_key(peer),
            _ => true,
        }
    }

    /// The connection of an inner end was broken off outside.
    pub fn broken(&mut self, inner: u64) {
        self.close_unaccepted(inner);
    }

    /// The bytes that the connection of an inner end may move are used up.
    pub fn exhausted(&mut self, inner: u64) {
        self.break_off(inner, Errno::EDQUOT);
    }

    /// The address outside that a datagram of this end goes to, if it goes there.
    pub(super) fn outside_receiver(&self, key: u64, name: &[u8]) -> Result<Option<InternetName>, Errno> {
        let end = self.end(key)?;
        let found = match end.kind {
            SOCK_DGRAM if !name.is_empty() && self.local_name(name)?.is_none() => InternetName::read(name),
            SOCK_DGRAM if name.is_empty() && end.stage == Stage::Outside => InternetName::read(&end.peer_name),
            _ => return Ok(None),
        };
        // A name of another kind could be one that nobody has judged.
        let own = InternetName::read(&end.name);
        if found.is_some_and(|to| u64::from(to.kind) != SOCK_DGRAM || own.is_some_and(|own| !takes_part(own, to.address))) {
            return Err(Errno::EPROTOTYPE);
        }
        if end.is_mute { Err(Errno::EPIPE) } else { Ok(found) }
    }

    /// Sends a datagram to the outside. `None`: it would have to wait.
    pub(super) fn send_outside(&mut self, key: u64, to: InternetName, data: &[u8]) -> Result<Option<usize>, Errno> {
        let from = InternetName::read(&self.end(key)?.name).ok_or(Errno::EINVAL)?.port;
        let is_six = matches!(to.address, Address::Six(_));
        if is_six && self.outside.interface.is_none_or(|interface| data.len() as u64 > interface.packet.saturating_sub(HEADS_6)) {
            return Err(Errno::EMSGSIZE);
        }
        Ok(self.push_outside(key, Datagram { kind: to.kind, from, to: (to.address, to.port), data: data.to_vec() })?.then_some(data.len()))
    }

    /// Puts a datagram among those that are to go out. Returns false if it would have to wait.
    pub(super) fn push_outside(&mut self, key: u64, datagram: Datagram) -> Result<bool, Errno> {
        if datagram.data.len() > MAX_DATAGRAM {
            return Err(Errno::EMSGSIZE);
        }
        if !self.has_room_outside() {
            return Ok(false);
        }
        self.spend(key, Way::Out, datagram.data.len())?;
        self.outside.bytes += datagram.data.len();
        self.outside.datagrams.push_back(datagram);
        Ok(true)
    }

    /// Returns true if one more datagram may wait to go out.
    pub(super) fn has_room_outside(&self) -> bool {
        self.outside.datagrams.len() < MAX_WAITING && self.outside.bytes < MAX_BYTES
    }

    /// The next datagram that is to go out.
    pub fn next_datagram(&mut self) -> Option<Datagram> {
        self.outside.was_full |= !self.has_room_outside();
        let datagram = self.outside.datagrams.pop_front()?;
        self.outside.bytes -= datagram.data.len();
        if self.outside.datagrams.is_empty() {
            let was_full = core::mem::take(&mut self.outside.was_full);
            self.touch_senders(was_full);
        }
        Some(datagram)
    }

    /// Brings a datagram from outside to the socket at a port. It is lost if that has no room, or
    /// takes datagrams of another sender alone.
    pub fn deliver(&mut self, port: u16, from: (Address, u16), data: &[u8]) {
        let name = InternetName { version: version_of(from.0), kind: SOCK_DGRAM as u8, address: from.0, port: from.1 }.bytes();
        let Some(key) = self.bound(SOCK_DGRAM, port, from) else { return };
        let takes = self.ends.get(&key).is_some_and(|end| match end.stage {
            Stage::Outside => end.peer_name == name,
            Stage::Connected(_) | Stage::Absent => false,
            _ => true,
        });
        if takes && self.spend(key, Way::In, data.len()).is_ok() {
            self.put_datagram(key, &name, data);
        }
    }

    /// Puts a datagram into the queue of a socket. It is lost if that has no room.
    pub(super) fn put_datagram(&mut self, key: u64, from: &[u8], data: &[u8]) {
        let Some(target) = self.ends.get(&key).and_then(|end| end.incoming) else { return };
        let used = (self.bytes, self.references);
        let Some(queue) = self.queues.get_mut(&target).filter(|queue| !queue.is_deaf) else { return };
        let fits = matches!(queue.takes(data.len(), 0, false), Ok(Some(_)));
        if !fits || self.loads.check(queue.account, used, (data.len() + PIECE, 0)).is_err() {
            return;
        }
        let (account, before) = (queue.account, queue.load());
        // Without memory it is lost as one that has no room.
        let _ = queue.put(SendRequest { data, references: Vec::new(), control: &[], from, sender: NOBODY }, false);
        let after = queue.load();
        self.count(account, before, after);
        self.touch_queue(target);
    }
}

/// Returns true if a socket of this kind can have such a name.
fn is_of_kind(name: InternetName, kind: u64) -> bool {
    u64::from(name.kind) == kind || name.is_icmp() && kind == SOCK_DGRAM
}

/// An end that has any address, or the machine's for itself, is seen outside by this one.
fn at_address<R>(end: &mut End<R>, own: Address) {
    if let Some(parts) = InternetName::read(&end.name) {
        end.name = at(parts, own).bytes();
    }
}

/// The name with another address, in its version.
fn at(name: InternetName, address: Address) -> InternetName {
    InternetName { version: version_of(address), address, ..name }
}

/// The version of names with an address of another machine.
fn version_of(address: Address) -> u8 {
    if matches!(address, Address::Six(_)) { INTERNET_6 } else { INTERNET }
}

/// Returns true if a socket with this name can reach another machine's address.
fn takes_part(own: InternetName, address: Address) -> bool {
    matches!(address, Address::Four(_)) || own.version != INTERNET
}
