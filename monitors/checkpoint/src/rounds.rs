//! Rounds of a move: images that have only the pages which have changed since the one before, while
//! the environment goes on. Data that was written is known by its open pages; other pages are
//! compared with hashes of what was sent.

use nacre_snapshot::image::Hash;
use nacre_snapshot::rounds::Sent;

/// State between two rounds.
pub struct Rounds {
    /// Number of the environment.
    pub environment: u64,
    /// Number of the next round.
    pub next: u64,
    /// Hash at the end of the round before.
    pub before: Hash,
    /// Pages that were sent.
    pub sent: Sent,
}

impl Rounds {
    /// Makes the state before the first round of an environment.
    pub fn new(environment: u64) -> Rounds {
        Rounds { environment, next: 0, before: Hash::default(), sent: Sent::default() }
    }

    /// Returns true if this is the next round of this environment.
    pub fn is_next(&self, environment: u64, round: u64) -> bool {
        (self.environment, self.next) == (environment, round)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_follow_each_other() {
        let mut rounds = Rounds::new(3);
        assert!(rounds.is_next(3, 0) && !rounds.is_next(3, 1) && !rounds.is_next(2, 0));
        rounds.next += 1;
        assert!(rounds.is_next(3, 1) && !rounds.is_next(3, 0));
    }
}
