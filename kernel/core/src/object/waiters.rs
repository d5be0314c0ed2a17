//! Mutexes and conditions: for the kernel, only a ring of threads that wait. The lock word is the
//! user's own.

use crate::machine::Machine;
use crate::list;
use crate::view::view;

view! {
    /// A mutex or a condition variable.
    Waiters, 8 words {
        header, set_header: u64 = 0;
    } places {
        /// Anchor of the threads that wait.
        threads = 1;
        links = 3;
    }
}

impl Waiters<'_> {
    /// Makes the words of a new one.
    pub fn init<M: Machine>(self, machine: &M) {
        list::init(machine, self.threads());
        list::init(machine, self.links());
    }
}
