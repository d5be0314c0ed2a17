//! What a policy is.

/// What a client may claim of the time that there is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Its share, beside those of the others: at least 1.
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
    /// From now on the client wants time.
    fn add(&mut self, client: usize);
    /// It wants none any more.
    fn remove(&mut self, client: usize);
    /// Who goes next; `None` if nobody wants time.
    fn pick(&mut self) -> Option<usize>;
    /// The client that was picked has used this many nanoseconds.
    fn charge(&mut self, client: usize, used: u64);
}

/// Lets clients that always want time have it in pieces of at most `quantum`, for `turns` turns: what each got.
#[cfg(test)]
pub fn simulate(policy: &mut impl Policy, clients: usize, turns: usize, mut piece: impl FnMut(usize) -> u64) -> std::vec::Vec<u64> {
    let mut got = std::vec![0; clients];
    (0..clients).for_each(|client| policy.add(client));
    for _ in 0..turns {
        let client = policy.pick().expect("a client");
        let used = piece(client);
        got[client] += used;
        policy.charge(client, used);
    }
    got
}
