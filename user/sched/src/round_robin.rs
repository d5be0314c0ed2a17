//! Everybody in turn, whatever they claim.

use crate::policy::Policy;
use alloc::collections::VecDeque;

/// The policy.
#[derive(Default)]
pub struct RoundRobin {
    ring: VecDeque<usize>,
}

impl Policy for RoundRobin {
    fn add(&mut self, client: usize) {
        if !self.ring.contains(&client) {
            self.ring.push_back(client);
        }
    }

    fn remove(&mut self, client: usize) {
        self.ring.retain(|other| *other != client);
    }

    fn pick(&mut self, free: &dyn Fn(usize) -> bool) -> Option<usize> {
        self.ring.iter().copied().find(|client| free(*client))
    }

    fn charge(&mut self, client: usize, _: u64) {
        if let Some(at) = self.ring.iter().position(|other| *other == client) {
            self.ring.remove(at);
            self.ring.push_back(client);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_equal() {
        let mut policy = RoundRobin::default();
        assert_eq!(crate::policy::simulate(&mut policy, 3, 30, |_| 7), [70, 70, 70]);
        policy.add(1);
        policy.remove(1);
        assert!((0..10).all(|_| policy.pick(&|_| true).inspect(|client| policy.charge(*client, 1)) != Some(1)));
    }
}
