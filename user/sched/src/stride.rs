//! Stride scheduling (Waldspurger 1995): each client has a clock that goes the slower the more it
//! weighs; whose clock is behind goes first. Shares are exact to within one piece of time.

use crate::policy::{Claim, Policy};
use alloc::vec::Vec;

/// Amount by which a nanosecond moves the clock of a client of weight 1.
const SCALE: u128 = 1 << 20;
/// Maximum by which a clock may be behind. A client that cannot use its share, because it has fewer
/// threads than processors would be its due, does not get all of it at once when it has more.
const MAX_BEHIND: u128 = 100_000_000 * SCALE;

struct Client {
    weight: u64,
    clock: u128,
    wants: bool,
}

impl Client {
    fn moved_by(&self, time: u64) -> u128 {
        u128::from(time) * SCALE / u128::from(self.weight)
    }
}

/// The policy.
pub struct Stride {
    clients: Vec<Client>,
    /// The clock of whoever was picked last: who has wanted nothing for a while does not come with
    /// what it has saved.
    now: u128,
}

impl Stride {
    /// Makes a policy for clients with these claims.
    pub fn new(claims: &[Claim]) -> Stride {
        Stride { clients: claims.iter().map(|claim| Client { weight: claim.weight.max(1), clock: 0, wants: false }).collect(), now: 0 }
    }
}

impl Policy for Stride {
    fn add(&mut self, client: usize) {
        let now = self.now;
        if let Some(client) = self.clients.get_mut(client)
            && !client.wants
        {
            client.wants = true;
            client.clock = client.clock.max(now);
        }
    }

    fn remove(&mut self, client: usize) {
        if let Some(client) = self.clients.get_mut(client) {
            client.wants = false;
        }
    }

    fn pick(&mut self, free: &dyn Fn(usize) -> bool) -> Option<usize> {
        let wanting = self.clients.iter_mut().enumerate().filter(|(number, client)| client.wants && free(*number));
        let (number, first) = wanting.min_by_key(|(_, client)| client.clock)?;
        self.now = self.now.max(first.clock);
        first.clock = first.clock.max(self.now.saturating_sub(MAX_BEHIND));
        Some(number)
    }

    fn charge(&mut self, client: usize, given: u64) {
        if let Some(client) = self.clients.get_mut(client) {
            client.clock = client.clock.saturating_add(client.moved_by(given));
        }
    }

    fn overhead(&mut self, client: usize, time: u64) {
        self.charge(client, time);
    }

    fn refund(&mut self, client: usize, unused: u64) {
        if let Some(client) = self.clients.get_mut(client) {
            client.clock = client.clock.saturating_sub(client.moved_by(unused));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weights(weights: &[u64]) -> Stride {
        Stride::new(&weights.iter().map(|weight| Claim { weight: *weight, ..Claim::default() }).collect::<Vec<_>>())
    }

    #[test]
    fn shares_are_as_weights() {
        let got = crate::policy::simulate(&mut weights(&[3, 1, 6]), 3, 10_000, |_| 10);
        assert_eq!(got, [30_000, 10_000, 60_000]);
        // Whatever pieces they take.
        let got = crate::policy::simulate(&mut weights(&[1, 1]), 2, 10_000, |client| if client == 0 { 3 } else { 1000 });
        assert!(got[0].abs_diff(got[1]) <= 1000);
    }

    #[test]
    fn whoever_makes_work_for_the_scheduler_gets_less() {
        let mut policy = weights(&[1, 1]);
        (0..2).for_each(|client| policy.add(client));
        let mut got = [0_u64; 2];
        for _ in 0..3000 {
            let client = policy.pick(&|_| true).expect("a client");
            got[client] += 10;
            policy.charge(client, 10);
            if client == 0 {
                policy.overhead(client, 10);
            }
        }
        assert!(got[1].abs_diff(2 * got[0]) <= 20, "{got:?}");
    }

    #[test]
    fn nobody_saves_up() {
        let mut policy = weights(&[1, 1]);
        policy.add(0);
        for _ in 0..1000 {
            assert_eq!(policy.pick(&|_| true), Some(0));
            policy.charge(0, 10);
        }
        let got = crate::policy::simulate(&mut policy, 2, 100, |_| 10);
        assert!(got[0] >= 490, "{got:?}");
    }
}
