//! UDP: a socket of the protocols for each port at which an end has sent or is found.

use crate::stack::{endpoint, parts};
use alloc::collections::BTreeMap;
use alloc::vec;
use nacre_channel::hub::Hub;
use smoltcp::iface::{SocketHandle, SocketSet};
use smoltcp::socket::udp::{PacketBuffer, PacketMetadata, Socket};

/// Number of datagrams that wait in each direction at a port, and the bytes for them.
const MAX_WAITING: usize = 32;
const BYTES: usize = 66_000;
/// Number of ports, at most.
const MAX_PORTS: usize = 64;

/// The ports. The head of this module describes them.
#[derive(Debug, Default)]
pub struct Datagrams {
    ports: BTreeMap<u16, SocketHandle>,
}

fn buffer() -> PacketBuffer<'static> {
    PacketBuffer::new(vec![PacketMetadata::EMPTY; MAX_WAITING], vec![0; BYTES])
}

impl Datagrams {
    /// Makes a socket at a port, if there is none and there are not too many.
    pub fn expect(&mut self, sockets: &mut SocketSet<'static>, port: u16) {
        if self.ports.contains_key(&port) || self.ports.len() >= MAX_PORTS {
            return;
        }
        let mut socket = Socket::new(buffer(), buffer());
        if socket.bind(port).is_ok() {
            self.ports.insert(port, sockets.add(socket));
        }
    }

    /// Brings what has come to the ends, and takes what they send. Ports at which no end is any
    /// more are given up.
    pub fn settle<R>(&mut self, sockets: &mut SocketSet<'static>, hub: &mut Hub<R>) {
        while let Some(datagram) = hub.next_datagram() {
            self.expect(sockets, datagram.from);
            if let Some(handle) = self.ports.get(&datagram.from) {
                // One for which there is no room is lost, as on a wire.
                let _ = sockets.get_mut::<Socket<'_>>(*handle).send_slice(&datagram.data, endpoint(datagram.to));
            }
        }
        self.ports.retain(|port, handle| {
            let socket = sockets.get_mut::<Socket<'_>>(*handle);
            while let Ok((data, from)) = socket.recv() {
                hub.deliver(*port, parts(from.endpoint), data);
            }
            let stays = hub.takes_datagrams(*port) || socket.send_queue() > 0;
            if !stays {
                sockets.remove(*handle);
            }
            stays
        });
    }
}
