//! A second chance: what has been used since the hand came by stays.
//!
//! No machine tells whether a page was used. So the hand hides it; whoever uses it asks for it, and it is shown again at little cost.

use super::{Choice, Policy, Standing, first_from};

/// A hand that goes round.
#[derive(Debug, Default)]
pub struct Clock {
    hand: usize,
}

impl Policy for Clock {
    fn next(&mut self, count: usize, standing: &dyn Fn(usize) -> Standing) -> Option<Choice> {
        let frame = first_from(self.hand, count, standing)?;
        self.hand = frame + 1;
        Some(if standing(frame) == Standing::Idle { Choice::Leave(frame) } else { Choice::Hide(frame) })
    }
}
