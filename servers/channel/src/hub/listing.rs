//! The list of sockets, as `channel.sockets` gives it.

use super::{End, Hub, Stage};
use crate::queue::Queue;
use alloc::vec::Vec;
use nacre_proto::channel::{InternetName, SocketRecord};
use nacre_proto::flags::SOCK_DGRAM;

impl<R> Hub<R> {
    /// Lists sockets with keys above `after` that were made on accounts below `above`, and returns
    /// the key to go on after; 0: that was all. The list has at most `room` bytes. `is_held` tells
    /// if programs have an end.
    pub fn list_sockets(&self, above: &[u64], after: u64, room: usize, is_held: impl Fn(u64) -> bool) -> (Vec<u8>, u64) {
        let (mut bytes, mut last) = (Vec::new(), 0);
        for (key, end) in self.ends.range(after.saturating_add(1)..) {
            if !end.line.starts_with(above) || !self.is_told(*key, end) {
                continue;
            }
            if bytes.len() + SocketRecord::MAX_SIZE > room {
                return (bytes, last);
            }
            last = *key;
            self.record(*key, end, is_held(*key)).pack(&mut bytes);
        }
        (bytes, 0)
    }

    /// Returns true if an end is a socket of a program that has a name or a peer.
    fn is_told(&self, key: u64, end: &End<R>) -> bool {
        let is_socket = end.kind != 0 && end.terminal.is_none() && !self.is_mailbox(key) && !self.is_inner(end);
        let is_internet = InternetName::read(&end.name).is_some();
        // A socket of datagrams that is its own peer is one by which the system is asked.
        let is_system = end.stage == Stage::Connected(key) && !is_internet;
        // Linux does not tell of streams of the internet that have a port alone.
        let is_idle = end.stage == Stage::Plain && if is_internet { end.kind != SOCK_DGRAM } else { end.name.is_empty() };
        is_socket && !is_system && !is_idle
    }

    fn record<'a>(&self, key: u64, end: &'a End<R>, is_held: bool) -> SocketRecord<'a> {
        let queue = |queue: Option<u64>| queue.and_then(|queue| self.queues.get(&queue));
        let waiting = |of: Option<&Queue<R>>| of.map_or(0, |queue| queue.waiting() as u32);
        let incoming = queue(end.incoming);
        let (peer, mut peer_name) = match end.stage {
            Stage::Connected(peer) => (self.ends.get(&peer), &end.peer_name[..]),
            Stage::Outside | Stage::Connecting => (None, &end.peer_name[..]),
            _ => (None, &[][..]),
        };
        let is_over = incoming.is_none_or(|queue| queue.is_ended || queue.is_deaf || queue.writers.is_empty());
        let (state, received, unsent) = match &end.stage {
            Stage::Listening(waiting, most) => (SocketRecord::LISTENING, waiting.len() as u32, most.saturating_sub(1) as u32),
            Stage::Connecting => (SocketRecord::ASKING, 0, 0),
            Stage::Plain => (SocketRecord::CLOSED, waiting(incoming), 0),
            _ if end.kind == SOCK_DGRAM => (SocketRecord::ESTABLISHED, waiting(incoming), 0),
            _ => {
                let state = match (is_over, end.is_mute) {
                    (false, false) => SocketRecord::ESTABLISHED,
                    (true, false) => SocketRecord::LEFT,
                    (false, true) => SocketRecord::HALF_CLOSED,
                    (true, true) => SocketRecord::CLOSED,
                };
                // What a peer here has not read waits at the peer.
                let unsent = if peer.is_some_and(|peer| self.is_inner(peer)) { waiting(queue(end.outgoing)) } else { 0 };
                (state, waiting(incoming), unsent)
            }
        };
        if end.stage == Stage::Connected(key) {
            peer_name = &end.name;
        }
        let peer = match end.stage {
            Stage::Connected(other) if peer.is_some_and(|peer| !self.is_inner(peer)) => other,
            _ => 0,
        };
        SocketRecord { inode: if is_held { key } else { 0 }, peer, uid: end.credentials[1] as u32, received, unsent, kind: end.kind as u8, state, name: &end.name, peer_name }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::sync::Arc;
    use nacre_proto::channel::{INTERNET, SocketRecords};
    use nacre_proto::flags::SOCK_STREAM;

    fn list(hub: &Hub<u64>, above: &[u64]) -> Vec<(u64, u8, Vec<u8>, Vec<u8>)> {
        let (bytes, next) = hub.list_sockets(above, 0, 1 << 14, |_| true);
        assert_eq!(next, 0);
        SocketRecords(&bytes).map(|record| (record.inode, record.state, record.name.to_vec(), record.peer_name.to_vec())).collect()
    }

    fn name(kind: u64, port: u16) -> Vec<u8> {
        InternetName { version: INTERNET, kind: kind as u8, address: InternetName::LOOPBACK, port }.bytes()
    }

    fn bound(hub: &mut Hub<u64>, kind: u64, port: u16) -> u64 {
        let key = hub.socket(kind, 0).unwrap();
        hub.bind(key, &name(kind, port), &name(kind, port)).unwrap();
        key
    }

    #[test]
    fn sockets_are_listed_with_their_states() {
        let mut hub: Hub<u64> = Hub::default();
        hub.pipe(0).unwrap();
        hub.socket(SOCK_STREAM, 0).unwrap();
        let listener = bound(&mut hub, SOCK_STREAM, 80);
        assert!(list(&hub, &[]).is_empty());
        hub.listen(listener, 4, [1, 1000, 0]).unwrap();
        let (client, datagrams) = (bound(&mut hub, SOCK_STREAM, 40_000), bound(&mut hub, SOCK_DGRAM, 53));
        hub.connect(client, &name(SOCK_STREAM, 80), [2, 0, 0]).unwrap();
        let (server, _) = hub.accept(listener, 0).unwrap().unwrap();
        let all = list(&hub, &[]);
        assert_eq!(all.iter().map(|one| (one.0, one.1)).collect::<Vec<_>>(), [(listener, 10), (client, 1), (datagrams, 7), (server, 1)]);
        assert_eq!((&all[1].2, &all[1].3), (&name(SOCK_STREAM, 40_000), &name(SOCK_STREAM, 80)));
        hub.shutdown(client, 1).unwrap();
        hub.shutdown(client, 1).unwrap();
        assert_eq!(list(&hub, &[]).iter().map(|one| one.1).collect::<Vec<_>>(), [10, 5, 7, 8]);
        let (bytes, next) = hub.list_sockets(&[], 0, SocketRecord::MAX_SIZE, |_| false);
        assert_eq!((SocketRecords(&bytes).next().unwrap().inode, next), (0, listener), "one fits");
        assert_eq!(hub.list_sockets(&[], u64::MAX, 1 << 14, |_| true), (Vec::new(), 0));
    }

    #[test]
    fn who_asks_learns_of_its_own_family_alone() {
        let mut hub: Hub<u64> = Hub::default();
        for (line, port) in [(&[1][..], 1), (&[2], 2), (&[2, 3], 3), (&[2, 4], 4), (&[5, 3], 5)] {
            hub.charge_line(Arc::from(line));
            bound(&mut hub, SOCK_DGRAM, port);
        }
        let ports = |above: &[u64]| list(&hub, above).iter().map(|one| one.2[7]).collect::<Vec<_>>();
        assert_eq!(ports(&[]), [1, 2, 3, 4, 5]);
        assert_eq!(ports(&[2]), [2, 3, 4]);
        assert_eq!(ports(&[2, 3]), [3]);
        assert_eq!(ports(&[3]), []);
    }
}
