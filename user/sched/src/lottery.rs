//! Lottery scheduling (Waldspurger and Weihl 1994): as many tickets as a client weighs, one is
//! drawn. Shares are right in the long run; nobody can be starved by arithmetic.

use crate::policy::{Claim, Policy};
use alloc::vec::Vec;

/// The policy.
pub struct Lottery {
    /// Tickets of each client, and whether it takes part.
    clients: Vec<(u64, bool)>,
    state: u64,
}

impl Lottery {
    /// Makes a lottery of clients with these claims; `seed` decides which tickets win.
    pub fn new(claims: &[Claim], seed: u64) -> Lottery {
        Lottery { clients: claims.iter().map(|claim| (claim.weight.max(1), false)).collect(), state: seed | 1 }
    }

    /// A number of the xorshift sequence.
    fn draw(&mut self) -> u64 {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        self.state
    }
}

impl Policy for Lottery {
    fn add(&mut self, client: usize) {
        if let Some((_, takes_part)) = self.clients.get_mut(client) {
            *takes_part = true;
        }
    }

    fn remove(&mut self, client: usize) {
        if let Some((_, takes_part)) = self.clients.get_mut(client) {
            *takes_part = false;
        }
    }

    fn pick(&mut self, free: &dyn Fn(usize) -> bool) -> Option<usize> {
        let taking_part = self.clients.iter().enumerate().filter(|(number, (_, takes_part))| *takes_part && free(*number));
        let total: u128 = taking_part.map(|(_, (tickets, _))| u128::from(*tickets)).sum();
        if total == 0 {
            return None;
        }
        let mut ticket = u128::from(self.draw()) % total;
        for (number, (tickets, takes_part)) in self.clients.iter().enumerate() {
            if *takes_part && free(number) {
                match ticket.checked_sub(u128::from(*tickets)) {
                    Some(left) => ticket = left,
                    None => return Some(number),
                }
            }
        }
        None
    }

    fn charge(&mut self, _: usize, _: u64) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_as_tickets_in_the_long_run() {
        let claims = [3, 1].map(|weight| Claim { weight, ..Claim::default() });
        let got = crate::policy::simulate(&mut Lottery::new(&claims, 7), 2, 100_000, |_| 1);
        assert!((74_000..76_000).contains(&got[0]), "{got:?}");
        let mut one = Lottery::new(&claims, 7);
        assert_eq!(one.pick(&|_| true), None);
        one.add(1);
        assert!((0..100).all(|_| one.pick(&|_| true) == Some(1)));
    }
}
