//! Answers to those who ask what has changed in directories whose changes are kept: a directory
//! between two events, as the host takes what there is for it.

use crate::messages::MAX_ITEMS;
use crate::root::Root;
use crate::tree::Difference;
use alloc::vec::Vec;
use nacre_proto::Errno;

/// Maximum number of those who ask at a time.
const MAX_ASKED: usize = 16;

/// Walks whose answers are on their way, by the numbers of the commands.
pub type Differences = Vec<(u64, Difference)>;

impl Root {
    /// Starts an answer. It ends at once with an error: `EAGAIN`: too many ask.
    pub fn start_difference(&mut self, number: u64) -> Option<Errno> {
        if self.differences.len() >= MAX_ASKED {
            return Some(Errno::EAGAIN);
        }
        match Difference::start(&mut self.files.tree) {
            Ok(difference) => self.differences.push((number, difference)),
            Err(errno) => return Some(errno),
        }
        None
    }

    /// Ends an answer for which nobody waits any more.
    pub fn cancel_difference(&mut self, number: u64) {
        self.differences.retain(|(asked, _)| *asked != number);
    }

    /// Returns true if an answer can go on.
    pub fn has_differences(&mut self) -> bool {
        !self.differences.is_empty() && self.outgoing().items.len() < MAX_ITEMS
    }

    /// Goes on with one of the answers.
    pub fn tell_differences(&mut self) {
        if !self.has_differences() {
            return;
        }
        let (number, mut difference) = self.differences.remove(0);
        match difference.step(&mut self.files.tree) {
            Some(told) => {
                if !told.is_empty() {
                    self.outgoing().answer(number, &told);
                }
                self.differences.push((number, difference));
            }
            None => self.outgoing().done(number, Errno(0)),
        }
    }
}
