//! What connections to the outside and their bytes cost the accounts of an end.

use super::Hub;
use super::budgets::{Budget, Way};
use super::ends_held::Line;
use nacre_proto::Errno;

impl<R> Hub<R> {
    /// Gives an account a budget.
    pub fn set_budget(&mut self, account: u64, budget: Budget) {
        self.budgets.all.insert(account, budget);
    }

    /// Returns the budget of an account, if it has one.
    pub fn budget(&self, account: u64) -> Option<Budget> {
        self.budgets.all.get(&account).copied()
    }

    /// Returns true if an account has a budget.
    pub fn has_budgets(&self) -> bool {
        !self.budgets.all.is_empty()
    }

    /// Forgets budgets whose account has gone, with all that was made below it. `is_there` tells if
    /// an account, or one below it, can still make ends.
    pub fn forget_budgets(&mut self, is_there: impl Fn(u64) -> bool) {
        let held = &self.accounts.held;
        self.budgets.all.retain(|account, _| held.contains_key(account) || is_there(*account));
    }

    /// Sets how many connections there may be: none of the accounts takes all from then on.
    pub fn set_connections(&mut self, most: usize) {
        self.budgets.most = most;
    }

    /// Charges one more connection to the accounts of this end. `ENOBUFS`: one of them has as many
    /// as it may.
    pub(super) fn charge_connection(&mut self, key: u64) -> Result<(), Errno> {
        let line = self.end(key)?.line.clone();
        let budgets = &mut self.budgets;
        let is_spent = line.iter().any(|account| budgets.all.get(account).is_some_and(|budget| budget.connections == 0));
        if is_spent || !budgets.has_share(&line) {
            return Err(Errno::ENOBUFS);
        }
        budgets.charge(key, &line);
        Ok(())
    }

    /// An end has gone, or asks for no connection any more. If it was charged with one, another one
    /// may take its place.
    pub(super) fn release_connection(&mut self, key: u64, line: &Line) {
        self.budgets.release(key, line);
    }

    /// Returns the number of bytes that may still go this way at an end.
    pub fn bytes_left(&mut self, key: u64, way: Way) -> u64 {
        let Some(line) = self.ends.get(&key).map(|end| end.line.clone()) else { return 0 };
        let budgets = &mut self.budgets.all;
        line.iter().filter_map(|account| budgets.get_mut(account).map(|budget| *budget.bytes(way))).min().unwrap_or(u64::MAX)
    }

    /// Charges bytes to the accounts of an end. `EDQUOT`: they are more than are left, and none is
    /// charged.
    pub fn spend(&mut self, key: u64, way: Way, count: usize) -> Result<(), Errno> {
        let count = count as u64;
        if self.bytes_left(key, way) < count {
            return Err(Errno::EDQUOT);
        }
        let line = self.end(key)?.line.clone();
        for account in line.iter() {
            if let Some(budget) = self.budgets.all.get_mut(account) {
                *budget.bytes(way) -= count;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hub::outside::Interface;
    use crate::hub::Sending;
    use alloc::sync::Arc;
    use alloc::vec::Vec;
    use nacre_proto::channel::{Address, INTERNET, InternetName};
    use nacre_proto::flags::{SOCK_DGRAM, SOCK_STREAM};

    const OWN: [u8; 4] = [10, 0, 2, 15];
    const PEER: [u8; 4] = [10, 0, 2, 2];

    fn hub() -> Hub<u64> {
        let mut hub = Hub::default();
        hub.set_interface(Interface { address: OWN, prefix: 24, gateway: None, card: [0; 6], packet: 1500 });
        hub.set_budget(7, Budget { connections: 2, bytes_in: 10, bytes_out: 10 });
        hub.charge_line(Arc::new([7, 8]));
        hub
    }

    fn name(kind: u64, address: impl Into<Address>, port: u16) -> Vec<u8> {
        InternetName { version: INTERNET, kind: kind as u8, address: address.into(), port }.bytes()
    }

    fn socket(hub: &mut Hub<u64>, kind: u64, port: u16) -> u64 {
        let key = hub.socket(kind, 0).unwrap();
        hub.bind(key, &name(kind, InternetName::LOOPBACK, port), &name(kind, InternetName::ANY, port)).unwrap();
        key
    }

    #[test]
    fn connections_are_bounded_at_once() {
        let mut hub = hub();
        let mut connect = |port| {
            let key = socket(&mut hub, SOCK_STREAM, port);
            let asked = hub.connect(key, &name(SOCK_STREAM, PEER, 80), [0; 3]);
            (key, asked, hub.budget(7).unwrap().connections)
        };
        let (first, second, third) = (connect(1), connect(2), connect(3));
        assert_eq!((first.2, second.2, third.1), (1, 0, Err(Errno::ENOBUFS)), "who asks has one already");
        let inner = hub.connected(first.0).unwrap();
        hub.refused(second.0, Errno::ETIMEDOUT);
        assert_eq!(hub.budget(7).unwrap().connections, 1, "who has one has no second one for having asked");
        hub.charge_line(Arc::new([7, 8]));
        let fourth = socket(&mut hub, SOCK_STREAM, 4);
        hub.connect(fourth, &name(SOCK_STREAM, PEER, 80), [0; 3]).unwrap();
        hub.close(fourth);
        hub.close(inner);
        assert_eq!(hub.budget(7).unwrap().connections, 2, "all have come back");
        hub.charge_to(9);
        let other = socket(&mut hub, SOCK_STREAM, 9);
        hub.connect(other, &name(SOCK_STREAM, PEER, 80), [0; 3]).unwrap();
        assert!(hub.connected(other).is_ok(), "others have what they had");
    }

    #[test]
    fn nobody_takes_all_connections() {
        let mut hub = Hub::<u64>::default();
        hub.set_interface(Interface { address: OWN, prefix: 24, gateway: None, card: [0; 6], packet: 1500 });
        hub.set_connections(160);
        let mut next = 0;
        let mut take = |line: &[u64]| {
            let mut count = 0;
            loop {
                hub.charge_line(line.into());
                next += 1;
                let key = socket(&mut hub, SOCK_STREAM, next);
                if hub.connect(key, &name(SOCK_STREAM, PEER, 80), [0; 3]).is_err() {
                    return count;
                }
                count += 1;
            }
        };
        assert_eq!((take(&[1, 2]), take(&[1, 3]), take(&[1, 4])), (120, 16, 4));
        assert_eq!((take(&[1, 5]), take(&[6, 7]), take(&[8])), (0, 16, 4), "what is left is for others at the top");
    }

    #[test]
    fn datagrams_are_bounded_for_good() {
        let mut hub = hub();
        let key = socket(&mut hub, SOCK_DGRAM, 53);
        let mut send = |count: usize, to| hub.send(key, &Sending { to: name(SOCK_DGRAM, to, 53), data: alloc::vec![1; count], ..Sending::default() }, &mut Vec::new());
        assert_eq!((send(8, PEER), send(3, PEER), send(2, PEER), send(1, PEER)), (Ok(Some(8)), Err(Errno::EDQUOT), Ok(Some(2)), Err(Errno::EDQUOT)));
        assert_eq!(send(100, [127, 0, 0, 1]), Ok(Some(100)), "it stays on the machine");
        hub.deliver(53, (PEER.into(), 53), &[1; 11]);
        hub.deliver(53, (PEER.into(), 53), &[1; 4]);
        assert_eq!(hub.budget(7).unwrap(), Budget { connections: 2, bytes_in: 6, bytes_out: 0 });
    }

    #[test]
    fn a_budget_stays_as_long_as_somebody_is_below_it() {
        let mut hub = hub();
        let key = socket(&mut hub, SOCK_DGRAM, 53);
        hub.forget_budgets(|_| false);
        assert!(hub.budget(7).is_some());
        hub.close(key);
        hub.forget_budgets(|account| account == 7);
        assert!(hub.budget(7).is_some());
        hub.forget_budgets(|_| false);
        assert!(hub.budget(7).is_none());
    }
}
