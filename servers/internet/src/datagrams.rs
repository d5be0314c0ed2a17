//! UDP: a socket of the protocols for each port at which an end has sent or is found.

use crate::stack::{endpoint, parts};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use nacre_channel::hub::Hub;
use nacre_channel::hub::outside::Datagram;
use smoltcp::iface::{SocketHandle, SocketSet};
use smoltcp::socket::udp::{PacketBuffer, PacketMetadata, Socket, UdpMetadata};
use smoltcp::wire::IpAddress;

/// Number of datagrams that wait in each direction at a port, and the bytes for them.
const MAX_WAITING: usize = 32;
const BYTES: usize = 66_000;
/// Number of ports with a socket, at most. Others have theirs when something comes or goes there.
const MAX_PORTS: usize = 64;

/// The ports. The head of this module describes them.
#[derive(Debug, Default)]
pub struct Datagrams {
    ports: BTreeMap<u16, Port>,
    /// Ports at which something may have come or gone.
    due: BTreeSet<u16>,
    /// Number of uses so far.
    uses: u64,
    /// Turns since all ports were looked at.
    turns: u32,
    /// Set if there is no memory for one more.
    pub is_short: bool,
}

/// Turns after which all ports are looked at.
const MAX_TURNS: u32 = 256;

/// A port.
#[derive(Debug)]
struct Port {
    handle: SocketHandle,
    /// Number of its last use.
    used: u64,
}

fn buffer() -> PacketBuffer<'static> {
    PacketBuffer::new(vec![PacketMetadata::EMPTY; MAX_WAITING], vec![0; BYTES])
}

impl Datagrams {
    /// Makes a socket at a port, if there is none. If there are too many, the one that was not
    /// used for the longest time goes, with what has not been sent.
    pub fn expect(&mut self, sockets: &mut SocketSet<'static>, port: u16) {
        self.uses += 1;
        self.due.insert(port);
        if let Some(known) = self.ports.get_mut(&port) {
            known.used = self.uses;
            return;
        }
        if self.ports.len() >= MAX_PORTS
            && let Some(oldest) = self.ports.iter().min_by_key(|(_, known)| known.used).map(|(port, _)| *port)
            && let Some(gone) = self.ports.remove(&oldest)
        {
            let socket = sockets.get_mut::<Socket<'_>>(gone.handle);
            socket.close();
            if socket.bind(port).is_ok() {
                self.ports.insert(port, Port { handle: gone.handle, used: self.uses });
            } else {
                sockets.remove(gone.handle);
            }
            return;
        }
        if self.is_short {
            return;
        }
        let mut socket = Socket::new(buffer(), buffer());
        if socket.bind(port).is_ok() {
            self.ports.insert(port, Port { handle: sockets.add(socket), used: self.uses });
        }
    }

    /// Sends a datagram from this address of the machine. One for which there is no room is lost,
    /// as on a wire.
    pub fn send(&mut self, sockets: &mut SocketSet<'static>, own: Option<IpAddress>, datagram: &Datagram) {
        self.expect(sockets, datagram.from);
        if let Some(port) = self.ports.get(&datagram.from) {
            let to = UdpMetadata { local_address: own, ..endpoint(datagram.to).into() };
            let _ = sockets.get_mut::<Socket<'_>>(port.handle).send_slice(&datagram.data, to);
        }
    }

    /// Makes the next [`Datagrams::settle`] look at all ports.
    pub fn look_at_all(&mut self) {
        self.turns = MAX_TURNS;
    }

    /// Brings what has come to the ends. Ports at which no end is any more are given up.
    pub fn settle<R>(&mut self, sockets: &mut SocketSet<'static>, hub: &mut Hub<R>) {
        let due = core::mem::take(&mut self.due);
        let is_all = self.turns >= MAX_TURNS;
        self.turns = if is_all { 0 } else { self.turns + 1 };
        self.ports.retain(|port, known| {
            if !is_all && !due.contains(port) {
                return true;
            }
            let socket = sockets.get_mut::<Socket<'_>>(known.handle);
            while let Ok((data, from)) = socket.recv() {
                hub.deliver(*port, parts(from.endpoint), data);
            }
            let stays = hub.takes_datagrams(*port) || socket.send_queue() > 0;
            if !stays {
                sockets.remove(known.handle);
            }
            stays
        });
    }

    /// Gives a port up at which no end is any more, unless something is still to be sent there.
    pub fn forget(&mut self, sockets: &mut SocketSet<'static>, port: u16) {
        if let Some(known) = self.ports.get(&port)
            && sockets.get::<Socket<'_>>(known.handle).send_queue() == 0
        {
            sockets.remove(known.handle);
            self.ports.remove(&port);
        }
    }
}
