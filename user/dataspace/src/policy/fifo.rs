//! First in, first out.

use super::{Choice, Policy, Standing, first_from};

/// Frames leave in the order of their numbers, which is the order in which they are filled when all
/// are.
#[derive(Debug, Default)]
pub struct Fifo {
    hand: usize,
}

impl Policy for Fifo {
    fn next(&mut self, count: usize, standing: &dyn Fn(usize) -> Standing) -> Option<Choice> {
        let frame = first_from(self.hand, count, standing)?;
        self.hand = frame + 1;
        Some(Choice::Leave(frame))
    }
}
