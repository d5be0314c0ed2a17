//! Rounds of a move: images that have only the pages which have changed since the one before, while
//! the environment goes on. Data that was written is known by its open pages; other pages are
//! compared with hashes of what was sent.

use crate::world::World;
use nacre_snapshot::image::Hash;
use nacre_snapshot::rounds::Sent;

/// State between two rounds.
pub struct Rounds {
    /// Number of the environment.
    environment: u64,
    /// Number of the next round.
    pub next: u64,
    /// Hash at the end of the round before.
    pub before: Hash,
    /// Pages that were sent.
    pub sent: Sent,
}

/// Begins the round with this number of an environment, which goes on where the round before ended.
/// `None`: it is not the next one. Rounds that were not ended are over.
pub fn begin(world: &mut World, environment: u64, round: u64) -> Option<Rounds> {
    if round == 0 {
        end(world);
        return Some(Rounds { environment, next: 0, before: Hash::default(), sent: Sent::default() });
    }
    let known = world.rounds.take_if(|rounds| (rounds.environment, rounds.next) == (environment, round));
    if known.is_none() {
        end(world);
    }
    known
}

/// Forgets the rounds that were sent, if any: nothing is noted of writes any more.
pub fn end(world: &mut World) {
    if let Some(rounds) = world.rounds.take() {
        untrack(world, rounds.environment);
    }
}

/// Lets the data of an environment be written without being noted.
pub fn untrack(world: &mut World, environment: u64) {
    if let Some(life) = world.lives.get_mut(&environment) {
        life.outside.arena.data.end_tracking();
    }
}
