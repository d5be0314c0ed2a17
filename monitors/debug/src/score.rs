//! What workers of the relay and the conductor tell each other: which message of the thread that
//! runs has no answer yet, and which answers wait until their turn comes.

use crate::turn::Turn;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use nacre_proto::process;
use nacre_recording::Switch;
use nacre_sys::lock::{Condition, Guard, Lock};

/// Something that comes to the program from outside.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Arrival {
    /// The answer to the message with this number.
    Answer(usize),
    /// A notification of the program's port with this number, with these bits.
    Notice(u64, u64),
}

/// State of what is on its way to the program.
#[derive(Default)]
pub struct Score {
    /// Message of the thread that runs, whose answer is not here yet.
    open: Option<Turn>,
    /// Messages whose threads were left, or are to be: their answers wait.
    left: BTreeSet<usize>,
    /// Arrivals that wait.
    arrived: Vec<Arrival>,
    /// Arrivals that may go on.
    released: BTreeSet<Arrival>,
    /// Arrivals that have reached the program.
    done: BTreeSet<Arrival>,
    /// The thread that runs has come to the place where it is to be left.
    pub has_reached: bool,
    /// True if it is where it was before, and changes nothing until others do.
    pub is_loop: bool,
    /// An exception of the thread that runs was given to another one of the program.
    pub is_handed_on: bool,
    /// The thread that runs is to be left at its next message.
    is_due: bool,
    /// Words of environments that have begun beside others, and of those that are no more.
    adopted: Vec<u64>,
    departed: Vec<u64>,
    /// Number of the program that runs: others came before it.
    generation: u64,
}

static SCORE: Lock<Option<Score>> = Lock::new(None);
/// Signalled when something may go on, and when a program begins anew.
static RELEASED: Condition = Condition::new();

/// Calls a function with the score.
pub fn with<T>(what: impl FnOnce(&mut Score) -> T) -> T {
    what(SCORE.lock().get_or_insert_default())
}

/// A program begins, perhaps anew: what waits is of the one before. `left` are the messages whose
/// threads are to be left.
pub fn begin(left: BTreeSet<usize>) {
    with(|score| *score = Score { left, generation: score.generation + 1, ..Score::default() });
    RELEASED.broadcast();
}

/// Lets what has arrived go on.
pub fn release(arrival: Arrival) {
    with(|score| score.released.insert(arrival));
    RELEASED.broadcast();
}

/// The answer to a message is here. Returns when it may go on. `tell` tells the conductor that one
/// waits.
pub fn arrives(turn: &Turn, tell: impl FnOnce()) {
    let mut score = SCORE.lock();
    if score.as_mut().is_some_and(|score| score.arrives(turn)) {
        tell();
        wait(score, Arrival::Answer(turn.number));
    }
}

/// A port of the program was notified. Returns when that may go on.
pub fn notified(port: u64, bits: u64, tell: impl FnOnce()) {
    let mut score = SCORE.lock();
    let arrival = Arrival::Notice(port, bits);
    score.get_or_insert_default().arrived.push(arrival);
    tell();
    wait(score, arrival);
}

fn wait(mut score: Guard<'_, Option<Score>>, arrival: Arrival) {
    let generation = score.as_ref().map(|score| score.generation);
    while score.as_ref().map(|score| score.generation) == generation && score.as_mut().is_some_and(|score| !score.released.remove(&arrival)) {
        score = RELEASED.wait(score);
    }
}

impl Score {
    /// The thread that runs sends a message.
    pub fn sends(&mut self, turn: &Turn) {
        self.open = Some(turn.clone());
    }

    /// Number of the program that runs.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The thread that runs is to be left at its next message.
    pub fn is_due(&mut self) {
        self.is_due = true;
    }

    /// The answer to a message is here. Returns true if it has to wait.
    fn arrives(&mut self, turn: &Turn) -> bool {
        let is_open = self.open.as_ref().is_some_and(|open| open.number == turn.number);
        if is_open && core::mem::take(&mut self.is_due) {
            self.left.insert(turn.number);
        }
        if self.left.contains(&turn.number) {
            self.arrived.push(Arrival::Answer(turn.number));
            return true;
        }
        if is_open {
            self.open = None;
        }
        false
    }

    /// Message at which the thread that runs is left, if it is. With `now`, it is from now on.
    pub fn leave(&mut self, now: bool) -> Option<Turn> {
        let open = self.open.take()?;
        // What a signal ends has ended before others run.
        if now && open.label != process::kill::LABEL {
            self.left.insert(open.number);
        }
        if self.left.contains(&open.number) {
            self.is_due = false;
            return Some(open);
        }
        self.open = Some(open);
        None
    }

    /// An environment with this word has begun.
    pub fn adopts(&mut self, word: u64) {
        self.adopted.push(word);
    }

    /// Takes the words of environments that have begun.
    pub fn take_adopted(&mut self) -> Vec<u64> {
        core::mem::take(&mut self.adopted)
    }

    /// The environment with this word is no more.
    pub fn departs(&mut self, word: u64) {
        self.departed.push(word);
    }

    /// Takes the words of environments that are no more.
    pub fn take_departed(&mut self) -> Vec<u64> {
        core::mem::take(&mut self.departed)
    }

    /// The answer to a message that is still to come will wait.
    pub fn pauses(&mut self, message: usize) {
        self.left.insert(message);
    }

    /// Returns true if the thread of a message is to be left at it.
    pub fn is_to_be_left(&self, message: usize) -> bool {
        self.left.contains(&message)
    }

    /// Returns true if something waits.
    pub fn has_arrived(&self) -> bool {
        !self.arrived.is_empty()
    }

    /// Takes what waits, the first that came or this one.
    pub fn take(&mut self, wanted: Option<Arrival>) -> Option<Arrival> {
        let at = self.arrived.iter().position(|arrived| wanted.is_none_or(|wanted| wanted == *arrived))?;
        Some(self.arrived.remove(at))
    }

    /// Notes that what had to wait has reached the program.
    pub fn is_done(&mut self, arrival: Arrival) {
        self.done.insert(arrival);
    }

    /// Returns true if what was released has reached the program.
    pub fn take_done(&mut self, arrival: Arrival) -> bool {
        self.done.remove(&arrival)
    }

    /// The answer to a message is on its way. Returns true if its thread was left.
    pub fn passes(&mut self, message: usize) -> bool {
        self.left.remove(&message)
    }
}

/// Returns the messages at which threads are left.
pub fn messages(switches: &[Switch]) -> BTreeSet<usize> {
    let left = |switch: &Switch| if let Switch::Calls(message) = switch { Some(*message) } else { None };
    switches.iter().filter_map(left).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn turn(number: usize) -> Turn {
        Turn { number, port: 1, label: 2, digest: 3, word: 4 }
    }

    #[test]
    fn an_answer_waits_if_its_thread_was_left() {
        let mut score = Score::default();
        score.sends(&turn(0));
        assert!(!score.arrives(&turn(0)));
        assert!(score.leave(true).is_none(), "the answer is on its way to the thread");
        score.sends(&turn(1));
        assert!(score.leave(false).is_none());
        assert_eq!(score.leave(true).map(|turn| turn.number), Some(1));
        score.sends(&turn(2));
        assert!(score.arrives(&turn(1)) && score.has_arrived());
        assert!(!score.arrives(&turn(2)));
        let answer = Arrival::Answer;
        assert_eq!((score.take(Some(answer(2))), score.take(None), score.take(None)), (None, Some(answer(1)), None));
        assert!(!score.take_done(answer(1)));
        score.is_done(answer(1));
        assert!(score.take_done(answer(1)) && !score.take_done(answer(1)));
    }

    #[test]
    fn a_thread_that_ran_for_long_is_left_at_its_next_message() {
        let mut score = Score::default();
        score.is_due();
        score.sends(&turn(7));
        assert!(score.arrives(&turn(7)));
        assert_eq!(score.leave(false).map(|turn| turn.number), Some(7));
        score.sends(&turn(8));
        assert!(!score.arrives(&turn(8)));
    }

    #[test]
    fn a_replay_leaves_threads_where_the_recording_says() {
        let left = messages(&[Switch::Waits, Switch::Calls(3), Switch::Runs(1)]);
        let mut score = Score { left, ..Score::default() };
        score.sends(&turn(3));
        assert_eq!(score.leave(false).map(|turn| turn.number), Some(3));
        assert!(score.arrives(&turn(3)));
    }
}
