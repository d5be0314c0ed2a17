//! What a policy is.

use alloc::boxed::Box;

/// Share of the time that a client may claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Weight of its share beside those of the others; at least 1.
    pub weight: u64,
    /// The higher comes first.
    pub priority: u64,
}

impl Default for Claim {
    fn default() -> Claim {
        Claim { weight: 1, priority: 0 }
    }
}

/// Decides which of several clients gets time next. Clients are numbered from 0.
pub trait Policy {
    /// Adds a client that wants time from now on.
    fn add(&mut self, client: usize);
    /// Removes a client that wants no more time.
    fn remove(&mut self, client: usize);
    /// Returns the client that goes next, or `None` if no client that is `free` wants time. The
    /// others have all that they can use on other processors.
    fn pick(&mut self, free: &dyn Fn(usize) -> bool) -> Option<usize>;
    /// The client that was picked gets so many nanoseconds: somebody else may be picked while it
    /// uses them.
    fn charge(&mut self, client: usize, given: u64);
    /// Gives back time that the client was charged and has not used.
    fn refund(&mut self, _client: usize, _unused: u64) {}
    /// The scheduler has worked for a client for so many nanoseconds, in which nobody was given
    /// time.
    fn overhead(&mut self, _client: usize, _time: u64) {}
}

impl<P: Policy + ?Sized> Policy for Box<P> {
    fn add(&mut self, client: usize) {
        (**self).add(client);
    }

    fn remove(&mut self, client: usize) {
        (**self).remove(client);
    }

    fn pick(&mut self, free: &dyn Fn(usize) -> bool) -> Option<usize> {
        (**self).pick(free)
    }

    fn charge(&mut self, client: usize, given: u64) {
        (**self).charge(client, given);
    }

    fn refund(&mut self, client: usize, unused: u64) {
        (**self).refund(client, unused);
    }

    fn overhead(&mut self, client: usize, time: u64) {
        (**self).overhead(client, time);
    }
}

/// Lets clients that always want time have it in pieces of at most `quantum`, for `turns` turns:
/// what each got.
#[cfg(test)]
pub fn simulate(policy: &mut impl Policy, clients: usize, turns: usize, mut piece: impl FnMut(usize) -> u64) -> std::vec::Vec<u64> {
    let mut got = std::vec![0; clients];
    (0..clients).for_each(|client| policy.add(client));
    for _ in 0..turns {
        let client = policy.pick(&|_| true).expect("a client");
        let used = piece(client);
        got[client] += used;
        policy.charge(client, 2 * used);
        policy.refund(client, used);
    }
    got
}
