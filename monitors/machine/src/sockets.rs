//! Sockets of the program around the machine, for the guest's connections: protocol `channel`, as
//! Linux programs use it. No call waits; a port is notified when something may have changed.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;
use nacre_machine_network::{Address, GATEWAY, Gone, Outside, Received, Stage};
use nacre_proto::channel::{self, INTERNET, INTERNET_BOTH, InternetName, Outgoing};
use nacre_proto::flags::{
    END_PEER, MSG_DONTWAIT, O_NONBLOCK, OWN_POSITION, POLLERR, POLLHUP, POLLIN, POLLOUT, SERVICE_CHANNELS, SERVICE_NETWORK, SOCK_DGRAM, SOCK_STREAM,
};
use nacre_proto::{Errno, file, parent};
use nacre_sys::{OwnedReference, Reference};

/// First port that is tried for a socket, how many there are, and how many are tried.
const FIRST_PORT: u16 = 32768;
const PORTS: u16 = 28232;
const TRIES: u16 = 64;
/// Any address, and the one of a machine for itself.
const ANY: [u8; 4] = [0; 4];
const LOOPBACK: [u8; 4] = [127, 0, 0, 1];
/// Bits of the port for sockets; several sockets share one.
pub const BITS: u32 = 61;
/// Events that are asked for.
const EVENTS: u64 = POLLIN | POLLOUT;

/// A socket.
struct Socket {
    end: OwnedReference,
    /// Counters of what came and went, when they were seen last.
    seen: [u64; 2],
    /// The server will notify.
    is_expected: bool,
}

/// Sockets of the environment.
pub struct Sockets {
    service: OwnedReference,
    /// There is a network beyond the environment.
    has_outside: bool,
    /// Port that is notified.
    called: OwnedReference,
    sockets: BTreeMap<u32, Socket>,
    next: u32,
    next_port: u16,
    /// Sockets that were tried in vain, and are to notify.
    waiting: BTreeSet<u32>,
    /// Sockets at which something may have changed.
    changed: BTreeSet<u32>,
}

/// Bit of the port by which a socket notifies.
fn bit(socket: u32) -> u64 {
    1 << (socket % BITS)
}

impl Sockets {
    /// Finds the service that makes sockets. `called` is a reference to the port that is notified,
    /// by the lowest [`BITS`] bits.
    pub fn find(called: OwnedReference, random: u16) -> Option<Sockets> {
        let service = [SERVICE_NETWORK, SERVICE_CHANNELS].into_iter().find_map(|service| parent::find(Reference::PARENT, service).ok())?.found;
        let has_outside = channel::interface(service.handle()).is_ok();
        Some(Sockets {
            service,
            has_outside,
            called,
            sockets: BTreeMap::new(),
            next: 0,
            next_port: random % PORTS,
            waiting: BTreeSet::new(),
            changed: BTreeSet::new(),
        })
    }

    /// The address by which the environment knows whom the guest wants to reach. Where there is no
    /// network beyond the environment, the gateway is the environment itself, and there is nobody
    /// else.
    fn outer(&self, (address, port): Address) -> Option<Address> {
        match address {
            _ if self.has_outside => Some((address, port)),
            GATEWAY => Some((LOOPBACK, port)),
            _ => None,
        }
    }

    /// Makes a socket with a port of its own.
    fn make(&mut self, kind: u64, address: [u8; 4]) -> Result<u32, Errno> {
        let end = channel::socket(self.service.handle(), kind, O_NONBLOCK)?.socket;
        for _ in 0..TRIES {
            self.next_port = (self.next_port + 1) % PORTS;
            let port = FIRST_PORT + self.next_port;
            let name = |address: [u8; 4]| InternetName { version: INTERNET, kind: kind as u8, address: address.into(), port }.bytes();
            let key = name(LOOPBACK);
            match channel::bind(end.handle(), key.len() as u64, 0, 0, &[&key[..], &name(address)].concat()[..]) {
                Err(Errno::EADDRINUSE) => {}
                Err(errno) => return Err(errno),
                Ok(_) => return Ok(self.add(end)),
            }
        }
        Err(Errno::EADDRINUSE)
    }

    fn add(&mut self, end: OwnedReference) -> u32 {
        while self.sockets.contains_key(&self.next) {
            self.next = self.next.wrapping_add(1);
        }
        let number = self.next;
        self.next = self.next.wrapping_add(1);
        self.sockets.insert(number, Socket { end, seen: [u64::MAX; 2], is_expected: false });
        self.changed.insert(number);
        number
    }

    fn end(&self, socket: u32) -> Result<Reference, Gone> {
        self.sockets.get(&socket).map(|socket| socket.end.handle()).ok_or(Gone)
    }

    /// Asks for a connection. One that listens in both versions is found where the one version has
    /// nobody.
    fn ask(&self, end: Reference, to: Address) -> Result<(), Errno> {
        let connect = |version| {
            let name = InternetName { version, kind: SOCK_STREAM as u8, address: to.0.into(), port: to.1 };
            match channel::connect(end, 0, 0, 0, &name.bytes()[..]) {
                Ok(_) | Err(Errno::EINPROGRESS) => Ok(()),
                Err(errno) => Err(errno),
            }
        };
        match connect(INTERNET) {
            Err(Errno::ECONNREFUSED) => connect(INTERNET_BOTH),
            done => done,
        }
    }

    /// The port was notified with these bits.
    pub fn notified(&mut self, bits: u64) {
        for (number, socket) in self.sockets.iter_mut().filter(|(number, _)| bits & bit(**number) != 0) {
            socket.is_expected = false;
            self.changed.insert(*number);
        }
    }

    /// Takes the sockets at which something may have changed.
    pub fn take_changed(&mut self) -> BTreeSet<u32> {
        core::mem::take(&mut self.changed)
    }

    /// Returns true if there are such sockets.
    pub fn has_changed(&self) -> bool {
        !self.changed.is_empty()
    }

    /// Asks to be notified of the sockets that were tried in vain.
    pub fn expect(&mut self) {
        for number in core::mem::take(&mut self.waiting) {
            let Some(socket) = self.sockets.get_mut(&number).filter(|socket| !socket.is_expected) else { continue };
            let [came, went] = socket.seen;
            match channel::expect(socket.end.handle(), EVENTS, came, went, bit(number), self.called.handle()) {
                Ok(reply) if [reply.arrivals, reply.departures] == socket.seen => socket.is_expected = true,
                Ok(reply) => {
                    socket.seen = [reply.arrivals, reply.departures];
                    self.changed.insert(number);
                }
                // Whoever uses it next finds that it has gone, at the latest in a second.
                Err(_) => {}
            }
        }
    }
}

impl Outside for Sockets {
    fn connect(&mut self, to: Address) -> Result<u32, Gone> {
        let to = self.outer(to).ok_or(Gone)?;
        let number = self.make(SOCK_STREAM, LOOPBACK).map_err(|_| Gone)?;
        let asked = self.end(number).and_then(|end| self.ask(end, to).map_err(|_| Gone));
        if asked.is_err() {
            self.close(number);
        }
        asked.map(|()| number)
    }

    fn stage(&mut self, socket: u32) -> Stage {
        let Ok(end) = self.end(socket) else { return Stage::Refused };
        match channel::look(end, EVENTS) {
            Ok(reply) if reply.events & (EVENTS | POLLERR | POLLHUP) == 0 => {
                self.waiting.insert(socket);
                Stage::Asking
            }
            Ok(_) if channel::name(end, END_PEER, &mut [0; InternetName::SIZE][..]).is_ok() => Stage::Standing,
            _ => Stage::Refused,
        }
    }

    fn send(&mut self, socket: u32, bytes: &[u8]) -> Result<usize, Gone> {
        match file::write(self.end(socket)?, OWN_POSITION, bytes) {
            Ok(reply) => Ok((reply.count as usize).min(bytes.len())),
            Err(Errno::EAGAIN | Errno::ENOMEM | Errno::ENOBUFS) => {
                self.waiting.insert(socket);
                Ok(0)
            }
            Err(_) => Err(Gone),
        }
    }

    fn receive(&mut self, socket: u32, into: &mut [u8]) -> Result<Received, Gone> {
        let size = into.len();
        match file::read(self.end(socket)?, OWN_POSITION, size as u64, into) {
            Ok(reply) if reply.count == 0 => Ok(Received::End),
            Ok(reply) => Ok(Received::Bytes((reply.count as usize).min(size))),
            Err(Errno::EAGAIN) => {
                self.waiting.insert(socket);
                Ok(Received::Nothing)
            }
            Err(_) => Err(Gone),
        }
    }

    fn finish(&mut self, socket: u32) {
        if let Ok(end) = self.end(socket) {
            // One that has gone sends nothing more.
            let _ = channel::shutdown(end, 1);
        }
    }

    fn open(&mut self) -> Result<u32, Gone> {
        self.make(SOCK_DGRAM, ANY).map_err(|_| Gone)
    }

    fn send_to(&mut self, socket: u32, to: Address, bytes: &[u8]) {
        let (Some(to), Ok(end)) = (self.outer(to), self.end(socket)) else { return };
        let name = InternetName { version: INTERNET, kind: SOCK_DGRAM as u8, address: to.0.into(), port: to.1 }.bytes();
        let outgoing = Outgoing { flags: MSG_DONTWAIT, name_size: name.len(), ..Outgoing::default() };
        // One that is refused is lost.
        let _ = channel::send_with(end, outgoing, &[&name[..], bytes].concat()[..], &[]);
    }

    fn receive_from(&mut self, socket: u32, into: &mut [u8]) -> Option<(Address, usize)> {
        let end = self.end(socket).ok()?;
        let mut bytes: Vec<u8> = vec![0; InternetName::SIZE + into.len()];
        let received = channel::receive_with(end, MSG_DONTWAIT, into.len() as u64, &[], &mut bytes[..]);
        let Ok(reply) = received else {
            self.waiting.insert(socket);
            return None;
        };
        let (name, data) = bytes.get(..reply.data)?.split_at_checked(reply.name_size as usize)?;
        let from = InternetName::read(name)?;
        let count = data.len().min(into.len());
        into[..count].copy_from_slice(&data[..count]);
        // A longer one was cut off, and is lost.
        let size = usize::try_from(reply.total).unwrap_or(usize::MAX).max(count);
        // A sender beside the machine has any address, or that of the environment for itself.
        let address = if from.is_of_machine() { GATEWAY } else { from.address.four()? };
        Some(((address, from.port), size))
    }

    fn close(&mut self, socket: u32) {
        self.sockets.remove(&socket);
        self.waiting.remove(&socket);
        self.changed.remove(&socket);
    }
}
