//! ICMP: one socket of the protocols that hears all messages, while an end of the hub is for them.

use alloc::vec;
use nacre_channel::hub::Hub;
use nacre_channel::hub::outside::Datagram;
use smoltcp::iface::{SocketHandle, SocketSet};
use smoltcp::phy::ChecksumCapabilities;
use smoltcp::socket::raw::{PacketBuffer, PacketMetadata, Socket};
use smoltcp::wire::{IpProtocol, IpVersion, Ipv4Address, Ipv4Packet, Ipv4Repr};

/// Number of messages that wait in each direction, and the bytes for them.
const MAX_WAITING: usize = 32;
const BYTES: usize = 66_000;
/// Nanoseconds for which messages wait to be sent, at most: the protocols ask for one address a
/// second.
const MAX_HELD: u64 = 3_000_000_000;
/// Bytes of the head of a packet.
const HEAD: usize = 20;

/// The socket. The head of this module describes it.
#[derive(Debug, Default)]
pub struct Messages {
    handle: Option<SocketHandle>,
    /// Time since which something waits to be sent, if something does.
    held: Option<u64>,
}

fn buffer() -> PacketBuffer<'static> {
    PacketBuffer::new(vec![PacketMetadata::EMPTY; MAX_WAITING], vec![0; BYTES])
}

impl Messages {
    /// Makes the socket, if there is none.
    pub fn expect(&mut self, sockets: &mut SocketSet<'static>) {
        self.handle.get_or_insert_with(|| sockets.add(Socket::new(Some(IpVersion::Ipv4), Some(IpProtocol::Icmp), buffer(), buffer())));
    }

    /// Sends a message. One for which there is no room is lost, as on a wire.
    pub fn send(&mut self, sockets: &mut SocketSet<'static>, own: [u8; 4], datagram: &Datagram, now: u64) {
        let Some(handle) = self.handle else { return };
        let (Some(address), hops) = (datagram.to.0.four(), datagram.to.1) else { return };
        let head = Ipv4Repr {
            src_addr: Ipv4Address::from(own),
            dst_addr: Ipv4Address::from(address),
            next_header: IpProtocol::Icmp,
            payload_len: datagram.data.len(),
            hop_limit: hops.clamp(1, 255) as u8,
        };
        if let Ok(packet) = sockets.get_mut::<Socket<'_>>(handle).send(HEAD + datagram.data.len()) {
            head.emit(&mut Ipv4Packet::new_unchecked(&mut packet[..]), &ChecksumCapabilities::default());
            packet[HEAD..].copy_from_slice(&datagram.data);
            self.held.get_or_insert(now);
        }
    }

    /// Drops what waits to be sent, if something has waited for as long as it may. The first
    /// message stays in its place while nobody tells the address of its receiver, and all others
    /// wait behind it.
    pub fn drop_held(&mut self, sockets: &mut SocketSet<'static>, now: u64) {
        let Some(handle) = self.waiting(sockets) else {
            self.held = None;
            return;
        };
        if now.saturating_sub(*self.held.get_or_insert(now)) >= MAX_HELD {
            sockets.remove(handle);
            (self.handle, self.held) = (None, None);
            self.expect(sockets);
        }
    }

    /// Returns the socket if something waits there to be sent.
    fn waiting(&self, sockets: &SocketSet<'static>) -> Option<SocketHandle> {
        self.handle.filter(|handle| sockets.get::<Socket<'_>>(*handle).send_queue() > 0)
    }

    /// Returns the time at which what waits to be sent is dropped, if something waits.
    pub fn deadline(&self, sockets: &SocketSet<'static>) -> Option<u64> {
        self.waiting(sockets).and(self.held).map(|since| since.saturating_add(MAX_HELD))
    }

    /// Brings the ends what has come. The socket goes if there is no such end any more.
    pub fn settle<R>(&mut self, sockets: &mut SocketSet<'static>, hub: &mut Hub<R>) {
        let Some(handle) = self.handle else { return };
        let socket = sockets.get_mut::<Socket<'_>>(handle);
        while let Ok(packet) = socket.recv() {
            hub.hear(packet);
        }
        if !hub.hears_messages() && socket.send_queue() == 0 {
            sockets.remove(handle);
            (self.handle, self.held) = (None, None);
        }
    }
}
