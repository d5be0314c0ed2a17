//! Fixed priorities: the highest that wants time has all of it; equals take turns.

use crate::policy::{Claim, Policy};
use crate::round_robin::RoundRobin;
use alloc::vec::Vec;

/// The policy.
pub struct Priority {
    claims: Vec<Claim>,
    /// One ring for each priority that there is, the highest first.
    levels: Vec<(u64, RoundRobin)>,
}

impl Priority {
    /// Makes a policy for clients with these claims.
    pub fn new(claims: &[Claim]) -> Priority {
        let mut numbers: Vec<u64> = claims.iter().map(|claim| claim.priority).collect();
        numbers.sort_unstable();
        numbers.dedup();
        Priority { claims: claims.to_vec(), levels: numbers.into_iter().rev().map(|number| (number, RoundRobin::default())).collect() }
    }

    fn level(&mut self, client: usize) -> Option<&mut RoundRobin> {
        let priority = self.claims.get(client)?.priority;
        self.levels.iter_mut().find(|(number, _)| *number == priority).map(|(_, ring)| ring)
    }
}

impl Policy for Priority {
    fn add(&mut self, client: usize) {
        if let Some(ring) = self.level(client) {
            ring.add(client);
        }
    }

    fn remove(&mut self, client: usize) {
        if let Some(ring) = self.level(client) {
            ring.remove(client);
        }
    }

    fn pick(&mut self, free: &dyn Fn(usize) -> bool) -> Option<usize> {
        self.levels.iter_mut().find_map(|(_, ring)| ring.pick(free))
    }

    fn charge(&mut self, client: usize, given: u64) {
        if let Some(ring) = self.level(client) {
            ring.charge(client, given);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_has_all() {
        let claims = [1, 5, 5, 3].map(|priority| Claim { priority, ..Claim::default() });
        let mut policy = Priority::new(&claims);
        assert_eq!(crate::policy::simulate(&mut policy, 4, 100, |_| 10), [0, 500, 500, 0]);
        assert_eq!(policy.pick(&|client| client != 1 && client != 2), Some(3));
        policy.remove(1);
        policy.remove(2);
        assert_eq!(policy.pick(&|_| true), Some(3));
        policy.remove(3);
        policy.remove(0);
        assert_eq!(policy.pick(&|_| true), None);
    }
}
