//! Who leaves when a frame is wanted.

mod clock;
mod fifo;
mod random;

pub use clock::Clock;
pub use fifo::Fifo;
pub use random::Random;

/// State of a frame, as far as a policy is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The frame holds no page, or one that must not leave now.
    Fixed,
    /// The page of the frame is shown.
    Shown,
    /// The page of the frame is hidden, and nobody has asked for it since.
    Idle,
}

/// Action on a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The page of the frame leaves.
    Leave(usize),
    /// The page of the frame is hidden. A program that needs it will ask for it.
    Hide(usize),
}

/// Chooses a frame among `count`. It is asked again and again until the page of one has left; what
/// it chooses is never a fixed one.
pub trait Policy {
    /// The next step; `None`: all frames are fixed.
    fn next(&mut self, count: usize, standing: &dyn Fn(usize) -> Standing) -> Option<Choice>;
}

impl<P: Policy + ?Sized> Policy for alloc::boxed::Box<P> {
    fn next(&mut self, count: usize, standing: &dyn Fn(usize) -> Standing) -> Option<Choice> {
        (**self).next(count, standing)
    }
}

/// The first frame from `hand` on, in a circle, that is not fixed.
fn first_from(hand: usize, count: usize, standing: &dyn Fn(usize) -> Standing) -> Option<usize> {
    (0..count).map(|step| (hand + step) % count).find(|frame| standing(*frame) != Standing::Fixed)
}
