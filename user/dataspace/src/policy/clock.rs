//! A second chance: what has been used since the first hand came by stays.
//!
//! No machine tells whether a page was used. So the first hand hides it; whoever uses it asks for
//! it,
//! and it is shown again. The second hand follows, and what it finds hidden leaves. The greater the
//! distance, the more pages that are in use are hidden, which costs a fault each.

use super::{Choice, Policy, Standing};

/// Part of all frames that lies between the hands: one in so many.
const PART: usize = 4;

/// Two hands that go round.
#[derive(Debug, Default)]
pub struct Clock {
    /// Frame of the second hand.
    hand: usize,
    /// Frames that the first hand is ahead.
    ahead: usize,
}

impl Policy for Clock {
    fn next(&mut self, count: usize, standing: &dyn Fn(usize) -> Standing) -> Option<Choice> {
        let distance = (count / PART).max(1);
        // Each hand comes by all frames in as many steps.
        for _ in 0..2 * (count + distance) {
            if self.ahead < distance {
                let frame = (self.hand + self.ahead) % count;
                self.ahead += 1;
                if standing(frame) == Standing::Shown {
                    return Some(Choice::Hide(frame));
                }
                continue;
            }
            let frame = self.hand;
            (self.hand, self.ahead) = ((self.hand + 1) % count, self.ahead - 1);
            if standing(frame) == Standing::Idle {
                return Some(Choice::Leave(frame));
            }
        }
        None
    }
}
