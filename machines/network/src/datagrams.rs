//! UDP: a socket outside for each port of the guest's from which something has gone out lately.

use crate::MAX_PORTS;
use crate::frames::{GUEST, MAX_DATAGRAM, datagram};
use crate::link::Link;
use crate::outside::{Address, Outside};
use crate::streams::SECOND;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;

/// Time after which a port at which nothing comes and goes is given up, in nanoseconds.
const IDLE: u64 = 60 * SECOND;
/// Number of datagrams that are taken from a port in one turn.
const TURN: usize = 32;

#[derive(Debug)]
struct Port {
    socket: u32,
    /// Time of its last use.
    used: u64,
}

/// Ports of the guest's.
#[derive(Debug, Default)]
pub(crate) struct Datagrams {
    ports: BTreeMap<u16, Port>,
    /// Ports at which something may have come.
    due: BTreeSet<u16>,
}

impl Datagrams {
    /// Takes a datagram of the guest's. If too many ports are in use, the one that was not used for
    /// the longest time gives way.
    pub(crate) fn send(&mut self, outside: &mut dyn Outside, (port, to): (u16, Address), data: &[u8], now: u64) {
        if !self.ports.contains_key(&port) {
            let oldest = self.ports.iter().min_by_key(|(_, known)| known.used).map(|(port, _)| *port);
            if let Some(oldest) = oldest.filter(|_| self.ports.len() >= MAX_PORTS) {
                self.close(outside, oldest);
            }
            let Ok(socket) = outside.open() else { return };
            self.ports.insert(port, Port { socket, used: now });
        }
        if let Some(known) = self.ports.get_mut(&port) {
            known.used = now;
            outside.send_to(known.socket, to, data);
            self.due.insert(port);
        }
    }

    fn close(&mut self, outside: &mut dyn Outside, port: u16) {
        if let Some(gone) = self.ports.remove(&port) {
            outside.close(gone.socket);
        }
    }

    /// Returns the number of ports.
    pub(crate) fn count(&self) -> usize {
        self.ports.len()
    }

    /// Brings the guest what has come, and gives ports up that are not used any more. `called` are
    /// sockets at which something may have come.
    pub(crate) fn settle(&mut self, link: &mut Link, outside: &mut dyn Outside, called: &BTreeSet<u32>, now: u64) {
        let is_called = |(_, known): &(&u16, &Port)| called.contains(&known.socket);
        self.due.extend(self.ports.iter().filter(is_called).map(|(port, _)| *port));
        for port in core::mem::take(&mut self.due) {
            if !self.bring(link, outside, port, now) {
                self.due.insert(port);
            }
        }
        let idle = self.ports.iter().filter(|(_, known)| now.saturating_sub(known.used) >= IDLE);
        for port in idle.map(|(port, _)| *port).collect::<BTreeSet<_>>() {
            self.close(outside, port);
        }
    }

    /// Returns true if datagrams may wait outside for another turn.
    pub(crate) fn has_rest(&self) -> bool {
        !self.due.is_empty()
    }

    /// Brings what has come at a port. Returns false if there may be more.
    fn bring(&mut self, link: &mut Link, outside: &mut dyn Outside, port: u16, now: u64) -> bool {
        let Some(known) = self.ports.get_mut(&port) else { return true };
        let mut bytes = vec![0; MAX_DATAGRAM];
        for _ in 0..TURN {
            if !link.has_room() {
                return false;
            }
            let Some((from, size)) = outside.receive_from(known.socket, &mut bytes) else { return true };
            known.used = now;
            let packet = bytes.get(..size).and_then(|data| datagram(from, (GUEST, port), data));
            if let Some(packet) = packet {
                link.send_packet(&packet);
            }
        }
        false
    }
}
