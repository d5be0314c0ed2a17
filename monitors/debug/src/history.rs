//! What gdb has done with a replay since its start, and where that has led.

use crate::journey::{Journey, Leg, Points, Seen};
use alloc::vec::Vec;

/// Maximum number of legs.
const MAX_LEGS: usize = 10_000;

/// The history of a replay.
#[derive(Default)]
pub struct History {
    way: Vec<Leg>,
    /// The way leads to where the program stands.
    is_exact: bool,
    /// Messages that had been answered when the last leg began.
    started: u64,
    /// The place where the program stands.
    seen: Seen,
    /// Leg that the program is on.
    under_way: Option<Leg>,
}

impl History {
    /// The program stands before its first instruction.
    pub fn begins(&mut self) {
        *self = History { is_exact: true, ..History::default() };
    }

    /// The program stands where no way leads.
    pub fn is_lost(&mut self) {
        self.is_exact = false;
    }

    /// The program goes on: by a step, or to one of these points.
    pub fn goes_on(&mut self, is_step: bool, points: Points) {
        self.under_way = Some(if is_step { Leg::Steps(1) } else { Leg::Run { points, stops: 1 } });
    }

    /// The program has stopped.
    pub fn stops(&mut self, seen: Seen) {
        let started = core::mem::replace(&mut self.seen, seen).messages;
        let is_full = self.way.len() >= MAX_LEGS;
        match (self.under_way.take(), self.way.last_mut()) {
            (Some(Leg::Steps(more)), Some(Leg::Steps(steps))) => *steps += more,
            (Some(_), _) if is_full => {
                // The place is found by what is seen.
                self.way = Vec::new();
                self.is_exact = false;
            }
            (Some(leg), _) => {
                self.way.push(leg);
                self.started = started;
            }
            (None, _) => {}
        }
    }

    /// The program has come to the end of a journey.
    pub fn arrives(&mut self, journey: &Journey, seen: Seen) {
        *self = History { way: journey.way().to_vec(), is_exact: true, started: journey.started(), seen, under_way: None };
    }

    /// The journey to one step before. `None`: this is the start.
    pub fn before(&self) -> Option<Journey> {
        let is_start = self.is_exact && self.way.is_empty();
        (!is_start).then(|| Journey::before(&self.way, self.seen.clone(), self.started, self.is_exact))
    }

    /// The journey to the last of these points before.
    pub fn last(&self, counted: Points) -> Option<Journey> {
        match (self.is_exact, self.way.is_empty()) {
            (true, true) => None,
            (true, false) => Some(Journey::to_last(self.way.clone(), counted)),
            (false, _) => Some(Journey::to_last_before(self.seen.clone(), counted)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_one_leg() {
        let mut history = History::default();
        history.begins();
        assert!(history.before().is_none() && history.last(Points::default()).is_none());
        let seen = |messages| Seen { messages, ..Seen::default() };
        for messages in [2, 3] {
            history.goes_on(true, Points::default());
            history.stops(seen(messages));
        }
        assert_eq!((&history.way[..], history.started), (&[Leg::Steps(2)][..], 0));
        history.goes_on(false, Points::default());
        history.stops(seen(9));
        assert_eq!((history.way.len(), history.started), (2, 3));
        assert_eq!(history.before().map(|journey| journey.way().to_vec()), Some([Leg::Message(9)].to_vec()));
        // A stop that nobody waits for is no leg.
        history.stops(seen(9));
        assert_eq!(history.way.len(), 2);
    }
}
