//! Ports of the internet that several sockets have, where all of them allow it: who may have one,
//! and which of them takes a datagram or a connection.
//!
//! A key with one socket alone is in `names`, as ever. A key with several is in `sharers`, too,
//! with all of them, at most [`MAX_SHARERS`]: that bounds what a datagram costs.
//!
//! Sockets have a port together only if their accounts lie below the same one: if one manager has
//! made both. What a client says of its user tells apart those of one manager alone.

use super::sharing::Sharing;
use super::{End, Hub, Stage};
use alloc::vec::Vec;
use nacre_proto::Errno;
use nacre_proto::channel::InternetName;
use nacre_proto::flags::{BIND_REUSE_ADDRESS, SOCK_DGRAM, SOCK_STREAM};

/// Maximum number of sockets that have one port.
const MAX_SHARERS: usize = 64;

/// Order in which sockets of one port are asked to take what comes. The largest one takes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Fit {
    /// The socket has the very address that is asked for, and not any.
    is_exact: bool,
    /// The socket takes what comes from this sender alone.
    is_for_sender: bool,
}

/// Returns accounts above the one that an end was made on.
fn family(line: &[u64]) -> &[u64] {
    line.split_last().map_or(&[], |(_, above)| above)
}

/// Spreads numbers that have something in common.
fn mixed(number: u64) -> usize {
    (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33) as usize
}

impl<R> Hub<R> {
    /// Binds a socket as [`Hub::bind`] does. Others may have its port, too, as far as `sharing` of
    /// all of them allows it.
    pub fn bind_shared(&mut self, key: u64, found_by: &[u8], name: &[u8], sharing: Sharing) -> Result<(), Errno> {
        let before = core::mem::replace(&mut self.end_mut(key)?.sharing, sharing);
        self.bind(key, found_by, name).inspect_err(|_| {
            if let Ok(end) = self.end_mut(key) {
                end.sharing = before;
            }
        })
    }

    /// Returns ends that have a key; none if there is one at most.
    fn sharers(&self, found_by: &[u8]) -> &[u64] {
        self.sharers.get(found_by).map_or(&[], |all| all)
    }

    /// Returns true if machines outside find one of the ends that have a key.
    pub(super) fn is_any_seen(&self, found_by: &[u8]) -> bool {
        let all = self.names.get(found_by).into_iter().chain(self.sharers(found_by));
        all.filter_map(|key| self.ends.get(key)).any(|end| self.is_seen(end))
    }

    /// Returns other ends that have the key of an end.
    fn beside(&self, key: u64) -> impl Iterator<Item = &End<R>> {
        let all = self.ends.get(&key).map_or(&[][..], |end| self.sharers(&end.key));
        all.iter().filter(move |other| **other != key).filter_map(|other| self.ends.get(other))
    }

    /// Returns true if a socket may have a key beside those that have it.
    pub(super) fn may_share(&self, key: u64, found_by: &[u8]) -> Result<bool, Errno> {
        let Some(first) = self.names.get(found_by) else { return Ok(!self.is_recent(key, found_by)?) };
        let Some(name) = InternetName::read(found_by).filter(|name| !name.is_icmp()) else { return Ok(false) };
        let own = self.end(key)?;
        let all = self.sharers(found_by);
        let all = if all.is_empty() { core::slice::from_ref(first) } else { all };
        if own.sharing.is_alone() || all.len() >= MAX_SHARERS {
            return Ok(false);
        }
        let is_stream = u64::from(name.kind) == SOCK_STREAM;
        let lets = |other: &End<R>| own.sharing.both_have(other.sharing, BIND_REUSE_ADDRESS) && !(is_stream && matches!(other.stage, Stage::Listening(..)));
        let fits = |other: &End<R>| family(&own.line) == family(&other.line) && (own.sharing.divides_with(other.sharing) || lets(other));
        Ok(all.iter().filter_map(|other| self.ends.get(other)).all(fits))
    }

    /// Returns true if a socket asks for any port, and this one was used outside lately.
    fn is_recent(&self, key: u64, found_by: &[u8]) -> Result<bool, Errno> {
        let name = InternetName::read(found_by).filter(|name| u64::from(name.kind) == SOCK_STREAM);
        Ok(self.end(key)?.sharing.is_alone() && name.is_some_and(|name| self.outside.recent.has(name.port)))
    }

    /// Gives a socket a key.
    pub(super) fn take_name(&mut self, found_by: &[u8], key: u64) {
        let before = self.names.insert(found_by.to_vec(), key);
        if let Some(before) = before.filter(|_| InternetName::read(found_by).is_some()) {
            self.sharers.entry(found_by.to_vec()).or_insert_with(|| [before].to_vec()).push(key);
        }
    }

    /// Takes a key from a socket that goes. If others have it, too, the one that was bound last is
    /// found by it.
    pub(super) fn give_up_name(&mut self, found_by: &[u8], key: u64) {
        let left: Vec<u64> = self.sharers(found_by).iter().copied().filter(|other| *other != key).collect();
        let last = left.last().copied();
        if left.len() > 1 {
            self.sharers.insert(found_by.to_vec(), left);
        } else {
            self.sharers.remove(found_by);
        }
        match last {
            Some(last) => drop(self.names.insert(found_by.to_vec(), last)),
            None if self.names.get(found_by) == Some(&key) => drop(self.names.remove(found_by)),
            None => {}
        }
    }

    /// Refuses to let a socket listen beside another that listens at its port, unless both divide
    /// what comes.
    pub(super) fn check_listeners(&self, key: u64) -> Result<(), Errno> {
        let own = self.end(key)?.sharing;
        let mut listeners = self.beside(key).filter(|other| matches!(other.stage, Stage::Listening(..)));
        if listeners.any(|other| !own.divides_with(other.sharing)) { Err(Errno::EADDRINUSE) } else { Ok(()) }
    }

    /// Returns the socket that another one of ours finds by a key, having asked for a name.
    pub(super) fn found(&self, found_by: &[u8], key: u64, name: &[u8]) -> Option<u64> {
        let first = self.names.get(found_by)?;
        let all = self.sharers(found_by);
        if all.is_empty() {
            return Some(*first);
        }
        // Who is connected to a socket of any address has asked for the machine itself.
        let asked = Some(InternetName::read(name)?.address).filter(|address| *address != InternetName::ANY).unwrap_or(InternetName::LOOPBACK);
        let fit = |other: u64, end: &End<R>| {
            let is_datagrams = end.kind == SOCK_DGRAM;
            let takes = self.check_found(other, name).is_ok() && !(is_datagrams && self.refuses(key, other));
            let is_exact = InternetName::read(&end.name).is_some_and(|name| name.address == asked);
            takes.then_some(Fit { is_exact, is_for_sender: is_datagrams && end.stage != Stage::Plain })
        };
        Some(self.chosen(all, mixed(key), fit))
    }

    /// Returns the socket that a machine outside finds by a key.
    pub(super) fn found_outside(&self, found_by: &[u8], from: InternetName) -> Option<u64> {
        let first = self.names.get(found_by)?;
        let all = self.sharers(found_by);
        if all.is_empty() {
            return Some(*first);
        }
        let number = from.address.bytes().iter().fold(u64::from(from.port), |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte)));
        let sender = from.bytes();
        let fit = |_: u64, end: &End<R>| {
            let is_for_sender = end.stage == Stage::Outside && end.peer_name == sender;
            let takes = end.kind != SOCK_DGRAM || end.stage == Stage::Plain || is_for_sender;
            let is_exact = InternetName::read(&end.name).is_some_and(|name| name.address != InternetName::ANY);
            (takes && self.is_seen(end)).then_some(Fit { is_exact, is_for_sender })
        };
        Some(self.chosen(all, mixed(number), fit))
    }

    /// Chooses one of several sockets: of those that fit best the one that was bound last, and, if
    /// it shares in what comes, by `number` one of those with which it does. A listener without
    /// room fits not at all. If none fits it is the last one that listens, or the last one, which
    /// refuses.
    fn chosen(&self, all: &[u64], number: usize, fit: impl Fn(u64, &End<R>) -> Option<Fit>) -> u64 {
        let fitting = |key: &u64| {
            let end = self.ends.get(key)?;
            Some((*key, end, fit(*key, end).filter(|_| end.kind == SOCK_DGRAM || end.has_place())?))
        };
        let open: Vec<(u64, &End<R>, Fit)> = all.iter().rev().filter_map(fitting).collect();
        let listens = |key: &&u64| self.ends.get(key).is_some_and(|end| matches!(end.stage, Stage::Listening(..)));
        let Some(best) = open.iter().map(|(.., fit)| *fit).max() else {
            return all.iter().rev().find(listens).or(all.last()).copied().unwrap_or_default();
        };
        let mut best = open.iter().filter(|(.., fit)| *fit == best);
        let Some((last, end, _)) = best.next() else { return 0 };
        let divided: Vec<u64> = best.filter(|(_, other, _)| end.sharing.divides_with(other.sharing)).map(|(key, ..)| *key).collect();
        match number % (divided.len() + 1) {
            0 => *last,
            other => divided[other - 1],
        }
    }

    /// Returns true if a socket of datagrams of the internet does not take those of this sender,
    /// because it is connected to somebody else.
    pub(super) fn refuses(&self, key: u64, other: u64) -> bool {
        let Some(hearer) = self.ends.get(&other).filter(|hearer| InternetName::read(&hearer.key).is_some()) else { return false };
        match hearer.stage {
            Stage::Connected(peer) => peer != key && !self.is_at(key, &hearer.peer_name),
            Stage::Absent => !self.is_at(key, &hearer.peer_name),
            Stage::Outside => true,
            _ => false,
        }
    }

    /// Returns true if a datagram to a name is lost, since the socket that is found there takes
    /// none of this sender.
    pub(super) fn is_refused(&self, key: u64, name: &[u8]) -> bool {
        let found_by = self.local_name(name).ok().flatten().filter(|found_by| InternetName::read(found_by).is_some_and(|name| !name.is_icmp()));
        found_by.and_then(|found_by| self.found(&found_by, key, name)).is_some_and(|other| self.check_found(other, name).is_ok() && self.refuses(key, other))
    }

    /// Returns the socket to which datagrams of a connected one go: its peer, or the one of its
    /// port that is found now, if several have that.
    pub(super) fn found_again(&self, key: u64, peer: u64) -> u64 {
        let shared = self.ends.get(&peer).filter(|end| end.kind == SOCK_DGRAM && !self.sharers(&end.key).is_empty());
        let own = shared.and_then(|_| self.ends.get(&key));
        shared.zip(own).and_then(|(peer, own)| self.found(&peer.key, key, &own.peer_name)).unwrap_or(peer)
    }

    /// Returns true if another socket of the same port has, or has asked for, a connection to this
    /// name.
    pub(super) fn asks_beside(&self, key: u64, name: &[u8]) -> bool {
        let is_there = |end: &End<R>| matches!(end.stage, Stage::Connecting | Stage::Connected(_)) && is_same_place(&end.peer_name, name);
        self.beside(key).any(is_there)
    }
}

/// Returns true if two names are one place: the machine's own addresses are all the same.
fn is_same_place(one: &[u8], other: &[u8]) -> bool {
    let Some((one, other)) = InternetName::read(one).zip(InternetName::read(other)) else { return false };
    (one.kind, one.port) == (other.kind, other.port) && (one.address == other.address || one.is_of_machine() && other.is_of_machine())
}

#[cfg(test)]
mod tests {
    use super::super::Sending;
    use super::super::outside::Interface;
    use super::*;
    use crate::queue::ReceiveRequest;
    use alloc::sync::Arc;
    use nacre_proto::channel::INTERNET;
    use nacre_proto::flags::{BIND_ALONE, BIND_REUSE_PORT};

    const PEER: [u8; 4] = [10, 0, 2, 2];
    const BOTH: u64 = BIND_REUSE_ADDRESS | BIND_REUSE_PORT;

    fn name(kind: u64, port: u16) -> Vec<u8> {
        InternetName { version: INTERNET, kind: kind as u8, address: InternetName::LOOPBACK, port }.bytes()
    }

    fn any(kind: u64, port: u16) -> Vec<u8> {
        InternetName { version: INTERNET, kind: kind as u8, address: InternetName::ANY, port }.bytes()
    }

    fn bound(hub: &mut Hub<u64>, kind: u64, port: u16, sharing: (u64, u64)) -> Result<u64, Errno> {
        bound_to(hub, kind, (port, any(kind, port)), sharing)
    }

    fn bound_to(hub: &mut Hub<u64>, kind: u64, (port, own): (u16, Vec<u8>), (flags, user): (u64, u64)) -> Result<u64, Errno> {
        let key = hub.socket(kind, 0).unwrap();
        hub.bind_shared(key, &name(kind, port), &own, Sharing::new(flags, user)).inspect_err(|_| hub.close(key))?;
        Ok(key)
    }

    fn send(hub: &mut Hub<u64>, key: u64, to: &[u8]) -> Result<Option<usize>, Errno> {
        hub.send(key, &Sending { to: to.to_vec(), data: [7; 3].to_vec(), ..Sending::default() }, &mut Vec::new())
    }

    fn hears(hub: &mut Hub<u64>, key: u64) -> bool {
        hub.receive(key, ReceiveRequest { size: 9, ..Default::default() }).is_ok_and(|received| received.is_some())
    }

    #[test]
    fn a_port_is_shared_where_all_allow_it() {
        for (kind, first, second, is_fine) in [
            (SOCK_DGRAM, (0, 0), (BOTH, 0), false),
            (SOCK_DGRAM, (BIND_REUSE_ADDRESS, 1), (BIND_REUSE_ADDRESS, 2), true),
            (SOCK_DGRAM, (BIND_REUSE_PORT, 1), (BIND_REUSE_PORT, 2), false),
            (SOCK_DGRAM, (BIND_REUSE_PORT, 1), (BIND_REUSE_PORT, 1), true),
            (SOCK_DGRAM, (BOTH, 1), (BIND_REUSE_PORT, 1), true),
            (SOCK_DGRAM, (BIND_REUSE_ADDRESS, 1), (BIND_REUSE_ADDRESS | BIND_ALONE, 1), false),
            (SOCK_STREAM, (BIND_REUSE_ADDRESS, 1), (BIND_REUSE_ADDRESS, 2), true),
        ] {
            let mut hub = Hub::default();
            let one = bound(&mut hub, kind, 80, first).unwrap();
            let other = bound(&mut hub, kind, 80, second);
            assert_eq!(other.is_ok(), is_fine, "{kind} {first:?} {second:?}");
            hub.close(one);
            other.into_iter().for_each(|other| hub.close(other));
            assert!(hub.names.is_empty() && hub.sharers.is_empty());
        }
        let mut hub = Hub::default();
        assert_eq!((0..200).filter(|_| bound(&mut hub, SOCK_DGRAM, 80, (BOTH, 0)).is_ok()).count(), MAX_SHARERS);
    }

    #[test]
    fn a_port_is_shared_by_sockets_of_one_manager_alone() {
        // The service's own port, processes of a manager there, of two managers within, and of one
        // whose account is bounded.
        let families = [&[&[][..], &[1], &[2]][..], &[&[1, 3], &[1, 4]], &[&[2, 5]], &[&[6, 3], &[6, 7]], &[&[1, 3, 8]]];
        let all: Vec<(usize, &[u64])> = families.iter().enumerate().flat_map(|(family, lines)| lines.iter().map(move |line| (family, *line))).collect();
        for (kind, flags) in [(SOCK_DGRAM, BIND_REUSE_ADDRESS), (SOCK_DGRAM, BIND_REUSE_PORT), (SOCK_DGRAM, BOTH), (SOCK_STREAM, BIND_REUSE_ADDRESS), (SOCK_STREAM, BIND_REUSE_PORT)] {
            for ((one, line), (other, second)) in all.iter().flat_map(|one| all.iter().map(move |other| (*one, *other))) {
                let mut hub = Hub::default();
                hub.charge_line(Arc::from(line));
                bound(&mut hub, kind, 80, (flags, 0)).unwrap();
                hub.charge_line(Arc::from(second));
                let wanted = if one == other { Ok(()) } else { Err(Errno::EADDRINUSE) };
                assert_eq!(bound(&mut hub, kind, 80, (flags, 0)).map(drop), wanted, "{kind} {flags}: {line:?} {second:?}");
            }
        }
    }

    #[test]
    fn a_refused_name_changes_nothing() {
        let mut hub = Hub::default();
        let one = bound(&mut hub, SOCK_DGRAM, 53, (0, 0)).unwrap();
        assert_eq!(hub.bind_shared(one, &name(SOCK_DGRAM, 54), &any(SOCK_DGRAM, 54), Sharing::new(BOTH, 0)), Err(Errno::EINVAL));
        assert_eq!(bound(&mut hub, SOCK_DGRAM, 53, (BOTH, 0)), Err(Errno::EADDRINUSE));
    }

    #[test]
    fn the_very_address_comes_before_any() {
        let mut hub = Hub::default();
        let [inner, outer] = [name, any].map(|own| bound_to(&mut hub, SOCK_DGRAM, (53, own(SOCK_DGRAM, 53)), (BIND_REUSE_ADDRESS, 0)).unwrap());
        let client = bound(&mut hub, SOCK_DGRAM, 5000, (0, 0)).unwrap();
        send(&mut hub, client, &name(SOCK_DGRAM, 53)).unwrap();
        assert!(hears(&mut hub, inner) && !hears(&mut hub, outer));
        hub.set_interface(Interface { address: [10, 0, 2, 15], prefix: 24, gateway: Some(PEER), card: [0; 6], packet: 1500 });
        hub.deliver(53, (PEER.into(), 9), b"x");
        assert!(!hears(&mut hub, inner) && hears(&mut hub, outer));
        // One that the outside does not find hides none that it finds.
        let outside = InternetName { version: INTERNET, kind: SOCK_DGRAM as u8, address: PEER.into(), port: 9 }.bytes();
        hub.connect(outer, &outside, [0; 3]).unwrap();
        let last = bound_to(&mut hub, SOCK_DGRAM, (53, name(SOCK_DGRAM, 53)), (BIND_REUSE_ADDRESS, 0)).unwrap();
        hub.deliver(53, (PEER.into(), 9), b"x");
        hub.deliver(53, (PEER.into(), 8), b"x");
        assert!(hub.takes_datagrams(53) && hears(&mut hub, outer) && ![inner, last, outer].iter().any(|key| hears(&mut hub, *key)));
        hub.close(outer);
        assert!(!hub.takes_datagrams(53));
    }

    #[test]
    fn a_connected_socket_reaches_the_one_that_was_bound_last() {
        let mut hub = Hub::default();
        let client = bound(&mut hub, SOCK_DGRAM, 5000, (0, 0)).unwrap();
        let first = bound(&mut hub, SOCK_DGRAM, 53, (BIND_REUSE_ADDRESS, 0)).unwrap();
        hub.connect(client, &name(SOCK_DGRAM, 53), [0; 3]).unwrap();
        let last = bound(&mut hub, SOCK_DGRAM, 53, (BIND_REUSE_ADDRESS, 0)).unwrap();
        send(&mut hub, client, &[]).unwrap();
        assert!(!hears(&mut hub, first) && hears(&mut hub, last));
        for other in [last, first] {
            send(&mut hub, other, &name(SOCK_DGRAM, 5000)).unwrap();
            assert!(hears(&mut hub, client));
        }
        hub.close(last);
        send(&mut hub, client, &[]).unwrap();
        assert!(hears(&mut hub, first));
    }

    #[test]
    fn two_of_one_port_do_not_ask_for_the_same_connection() {
        let mut hub = Hub::default();
        hub.set_interface(Interface { address: [10, 0, 2, 15], prefix: 24, gateway: Some(PEER), card: [0; 6], packet: 1500 });
        let listener = bound(&mut hub, SOCK_STREAM, 80, (0, 0)).unwrap();
        hub.listen(listener, 4, [0; 3]).unwrap();
        let [one, two] = [0; 2].map(|_| bound(&mut hub, SOCK_STREAM, 5000, (BIND_REUSE_ADDRESS, 0)).unwrap());
        assert_eq!(hub.connect(one, &name(SOCK_STREAM, 80), [0; 3]), Ok(true));
        assert_eq!(hub.connect(two, &name(SOCK_STREAM, 80), [0; 3]), Err(Errno::EADDRNOTAVAIL));
        let outside = InternetName { version: INTERNET, kind: SOCK_STREAM as u8, address: PEER.into(), port: 80 }.bytes();
        assert_eq!(hub.connect(two, &outside, [0; 3]), Ok(false));
        let third = bound(&mut hub, SOCK_STREAM, 5000, (BIND_REUSE_ADDRESS, 0)).unwrap();
        assert_eq!(hub.connect(third, &outside, [0; 3]), Err(Errno::EADDRNOTAVAIL));
        hub.next_wanted().unwrap();
        hub.connected(two).unwrap();
        assert_eq!(hub.connect(third, &outside, [0; 3]), Err(Errno::EADDRNOTAVAIL));
    }

    #[test]
    fn what_waits_goes_with_its_listener_and_the_others_go_on() {
        let mut hub = Hub::default();
        let both = [0; 2].map(|_| bound(&mut hub, SOCK_STREAM, 80, (BIND_REUSE_PORT, 0)).unwrap());
        both.iter().for_each(|key| hub.listen(*key, 64, [0; 3]).unwrap());
        let clients: Vec<u64> = (0..32).map(|port| bound(&mut hub, SOCK_STREAM, 6000 + port, (0, 0)).unwrap()).collect();
        for client in &clients {
            assert_eq!(hub.connect(*client, &name(SOCK_STREAM, 80), [0; 3]), Ok(true));
        }
        hub.close(both[1]);
        let lost = clients.iter().filter(|client| hub.take_error(**client) == Ok(Some(Errno::ECONNRESET))).count();
        let kept = core::iter::from_fn(|| hub.accept(both[0], 0).unwrap()).count();
        assert!(lost > 4 && kept > 4 && lost + kept == 32, "{lost} {kept}");
        let late = bound(&mut hub, SOCK_STREAM, 7000, (0, 0)).unwrap();
        assert_eq!(hub.connect(late, &name(SOCK_STREAM, 80), [0; 3]), Ok(true));
        assert!(hub.accept(both[0], 0).unwrap().is_some());
    }

    #[test]
    fn the_last_one_hears_strangers_and_connected_ones_their_peer() {
        let mut hub = Hub::default();
        let [first, last] = [0; 2].map(|_| bound(&mut hub, SOCK_DGRAM, 53, (BIND_REUSE_ADDRESS, 0)).unwrap());
        let [client, other] = [5000, 5001].map(|port| bound(&mut hub, SOCK_DGRAM, port, (0, 0)).unwrap());
        hub.connect(client, &name(SOCK_DGRAM, 53), [0; 3]).unwrap();
        send(&mut hub, client, &[]).unwrap();
        assert!(!hears(&mut hub, first) && hears(&mut hub, last));
        // The last one is the client's now, and the first one has all others.
        hub.connect(last, &name(SOCK_DGRAM, 5000), [0; 3]).unwrap();
        send(&mut hub, client, &[]).unwrap();
        assert!(!hears(&mut hub, first) && hears(&mut hub, last));
        send(&mut hub, other, &name(SOCK_DGRAM, 53)).unwrap();
        assert!(hears(&mut hub, first) && !hears(&mut hub, last));
        hub.close(last);
        send(&mut hub, client, &[]).unwrap();
        assert!(hears(&mut hub, first));
    }

    #[test]
    fn datagrams_of_strangers_are_lost() {
        let mut hub = Hub::default();
        let [server, client, other] = [53, 5000, 5001].map(|port| bound(&mut hub, SOCK_DGRAM, port, (0, 0)).unwrap());
        hub.connect(server, &name(SOCK_DGRAM, 5000), [0; 3]).unwrap();
        assert_eq!(send(&mut hub, other, &name(SOCK_DGRAM, 53)), Ok(Some(3)));
        hub.connect(other, &name(SOCK_DGRAM, 53), [0; 3]).unwrap();
        assert_eq!((send(&mut hub, other, &[]), send(&mut hub, other, &[])), (Ok(Some(3)), Err(Errno::ECONNREFUSED)));
        assert!(!hears(&mut hub, server));
        assert_eq!(send(&mut hub, client, &name(SOCK_DGRAM, 53)), Ok(Some(3)));
        assert!(hears(&mut hub, server));
        hub.connect(server, &[], [0; 3]).unwrap();
        assert_eq!(send(&mut hub, other, &[]), Ok(Some(3)));
        assert!(hears(&mut hub, server));
    }

    #[test]
    fn listeners_of_one_user_divide_connections() {
        let mut hub = Hub::default();
        hub.set_interface(Interface { address: [10, 0, 2, 15], prefix: 24, gateway: Some(PEER), card: [0; 6], packet: 1500 });
        let plain = [0; 2].map(|_| bound(&mut hub, SOCK_STREAM, 81, (BIND_REUSE_ADDRESS, 0)).unwrap());
        hub.listen(plain[0], 4, [0; 3]).unwrap();
        assert_eq!(hub.listen(plain[1], 4, [0; 3]), Err(Errno::EADDRINUSE));
        assert_eq!(bound(&mut hub, SOCK_STREAM, 81, (BIND_REUSE_ADDRESS, 0)), Err(Errno::EADDRINUSE));
        let both = [0; 2].map(|_| bound(&mut hub, SOCK_STREAM, 80, (BIND_REUSE_PORT, 0)).unwrap());
        both.iter().for_each(|key| hub.listen(*key, 64, [0; 3]).unwrap());
        let outside: Vec<u64> = (0..64).filter_map(|port| hub.listener(80, (PEER.into(), 4000 + port))).collect();
        assert!(both.iter().all(|key| outside.iter().filter(|found| *found == key).count() > 8));
        for port in 0..64 {
            let client = bound(&mut hub, SOCK_STREAM, 6000 + port, (0, 0)).unwrap();
            assert_eq!(hub.connect(client, &name(SOCK_STREAM, 80), [0; 3]), Ok(true));
        }
        let counts = both.map(|key| core::iter::from_fn(|| hub.accept(key, 0).unwrap()).count());
        assert!(counts[0] + counts[1] == 64 && counts[0] > 8 && counts[1] > 8, "{counts:?}");
    }
}
