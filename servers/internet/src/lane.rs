//! The socket of one connection, in a set of its own: frames of a connection, and its timers, look
//! at no other's socket.

use crate::card::Card;
use smoltcp::iface::{Interface, PollResult, SocketHandle, SocketSet};
use smoltcp::socket::Socket as Any;
use smoltcp::socket::tcp::Socket;
use smoltcp::time::Instant;

/// A set with one socket. The head of this module describes it.
#[derive(Debug)]
pub struct Lane {
    /// The set.
    pub sockets: SocketSet<'static>,
    handle: SocketHandle,
    /// Time at which the socket has something to do, though nothing comes.
    pub deadline: Option<u64>,
}

impl Lane {
    /// A set with this socket.
    pub fn new(socket: Socket<'static>) -> Lane {
        let mut sockets = SocketSet::new(alloc::vec::Vec::new());
        let handle = sockets.add(socket);
        Lane { sockets, handle, deadline: None }
    }

    /// The socket.
    pub fn socket(&mut self) -> &mut Socket<'static> {
        self.sockets.get_mut(self.handle)
    }

    /// Takes the socket out, which is one of TCP.
    pub fn into_socket(mut self) -> Any<'static> {
        self.sockets.remove(self.handle)
    }

    /// Sends what the socket has to send, and sets the deadline.
    pub fn send(&mut self, interface: &mut Interface, card: &mut Card, now: u64) {
        let now = Instant::from_micros((now / 1000) as i64);
        while interface.poll_egress(now, card, &mut self.sockets) == PollResult::SocketStateChanged {}
        let at = interface.poll_at(now, &self.sockets);
        self.deadline = at.map(|at| u64::try_from(at.total_micros()).unwrap_or(0).saturating_mul(1000));
    }
}
