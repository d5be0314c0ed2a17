//! The time that a thread of a scheduler needs for itself.

/// Number of turns over which the cost of one is averaged. To ask for the time at each turn would
/// cost a call of the kernel, and one turn in which the machine stood still would be charged whole
/// to whoever had it.
const TURNS: u64 = 64;

/// Average cost of the last turns that a thread of a scheduler gave.
pub struct OwnCost {
    /// Nanoseconds that the thread had had when the average was made.
    had: u64,
    /// Number of turns since then.
    turns: u64,
    /// Nanoseconds of the thread's own time for each turn.
    each: u64,
}

impl OwnCost {
    /// Starts with a thread that has had `had` nanoseconds. Turns cost nothing until there is an
    /// average.
    pub fn new(had: u64) -> OwnCost {
        OwnCost { had, turns: 0, each: 0 }
    }

    /// Counts a turn, and returns its cost. `time` tells what the thread has had by now.
    pub fn of_turn(&mut self, time: impl FnOnce() -> u64) -> u64 {
        self.turns += 1;
        if self.turns == TURNS {
            let had = time();
            *self = OwnCost { had, turns: 0, each: had.saturating_sub(self.had) / TURNS };
        }
        self.each
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Costs of `turns` turns, of which each takes what `takes` says.
    fn costs(turns: u64, takes: impl Fn(u64) -> u64) -> std::vec::Vec<u64> {
        let (mut cost, mut had) = (OwnCost::new(1_000_000), 1_000_000);
        (0..turns)
            .map(|turn| {
                had += takes(turn);
                cost.of_turn(|| had)
            })
            .collect()
    }

    #[test]
    fn turns_cost_what_those_before_have_cost() {
        let costs = costs(4 * TURNS, |_| 700);
        assert!(costs[..TURNS as usize - 1].iter().all(|cost| *cost == 0));
        assert!(costs[TURNS as usize - 1..].iter().all(|cost| *cost == 700));
    }

    #[test]
    fn a_turn_in_which_the_machine_stood_still_is_paid_for_by_many() {
        let costs = costs(3 * TURNS, |turn| if turn == TURNS + 3 { 6_400_000 } else { 0 });
        assert_eq!(costs.iter().sum::<u64>(), 6_400_000);
        assert_eq!(costs.iter().max(), Some(&100_000));
    }

    #[test]
    fn time_that_is_hidden_costs_nothing() {
        let mut cost = OwnCost::new(0);
        assert!((0..3 * TURNS).all(|_| cost.of_turn(|| 0) == 0));
    }
}
