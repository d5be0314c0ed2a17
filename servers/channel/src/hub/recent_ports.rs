//! Ports from which connections went outside lately. The other side may still know such a
//! connection, and takes the next one from that port for a part of it. So who asks for any port is
//! not given one of these.

use alloc::collections::{BTreeSet, VecDeque};

/// Number of ports that are remembered: a quarter of those that are given to whoever asks for any.
const MOST: usize = 7000;

/// The ports, the oldest first.
#[derive(Debug, Default)]
pub(super) struct RecentPorts {
    order: VecDeque<u16>,
    all: BTreeSet<u16>,
}

impl RecentPorts {
    /// Notes that a connection goes out from a port.
    pub(super) fn note(&mut self, port: u16) {
        if !self.all.insert(port) {
            return;
        }
        self.order.push_back(port);
        if self.order.len() > MOST {
            let oldest = self.order.pop_front();
            oldest.map(|port| self.all.remove(&port));
        }
    }

    /// Returns true if a connection went out from a port lately.
    pub(super) fn has(&self, port: u16) -> bool {
        self.all.contains(&port)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Hub;
    use super::super::outside::Interface;
    use super::super::sharing::Sharing;
    use super::*;
    use nacre_proto::Errno;
    use nacre_proto::channel::{INTERNET, InternetName};
    use nacre_proto::flags::{BIND_ALONE, SOCK_STREAM};

    #[test]
    fn the_oldest_are_forgotten() {
        let mut ports = RecentPorts::default();
        (0..8000).for_each(|port| ports.note(port));
        assert!(!ports.has(999) && ports.has(1000) && ports.has(7999));
        ports.note(1000);
        assert_eq!(ports.order.len(), MOST);
    }

    #[test]
    fn who_asks_for_any_port_gets_none_that_went_outside_lately() {
        let mut hub = Hub::<u64>::default();
        hub.set_interface(Interface { address: [10, 0, 2, 15], prefix: 24, gateway: None, card: [0; 6], packet: 1500 });
        let name = |address, port| InternetName { version: INTERNET, kind: SOCK_STREAM as u8, address, port }.bytes();
        let bind = |hub: &mut Hub<u64>, flags| {
            let key = hub.socket(SOCK_STREAM, 0).unwrap();
            (key, hub.bind_shared(key, &name(InternetName::LOOPBACK, 40_000), &name(InternetName::ANY, 40_000), Sharing::new(flags, 0)))
        };
        let (first, bound) = bind(&mut hub, BIND_ALONE);
        assert_eq!(bound, Ok(()));
        hub.connect(first, &name([10, 0, 2, 2].into(), 80), [0; 3]).unwrap();
        hub.close(first);
        assert_eq!(bind(&mut hub, BIND_ALONE).1, Err(Errno::EADDRINUSE));
        assert_eq!(bind(&mut hub, 0).1, Ok(()), "who names it gets it");
    }
}
