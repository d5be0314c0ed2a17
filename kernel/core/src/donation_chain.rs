//! The chain of donations that a CPU follows, as far as a CPU remembers it.

use crate::machine::Physical;
use crate::object::Thread;
use core::cell::Cell;

/// Maximum number of donors in a chain.
const MAX_DONORS: usize = 16;

/// Chain of donations of one CPU.
pub(crate) struct Chain {
    /// The thread by whose right the CPU runs another; null while threads run by their own right.
    pub base: Cell<Physical>,
    /// Number of the chain; 0 while the CPU follows none.
    pub number: Cell<u64>,
    /// Time at which the CPU began to follow it.
    pub since: Cell<u64>,
    /// Time at which the first donation in it ends, at the latest.
    pub end: Cell<u64>,
    /// Threads in it that donate, outermost first.
    pub donors: [Cell<Physical>; MAX_DONORS],
    /// Number of donors.
    pub count: Cell<usize>,
    /// Set if the CPU must follow the chain anew.
    pub look: Cell<bool>,
}

impl Chain {
    pub(crate) const fn new() -> Chain {
        Chain {
            base: Cell::new(Physical(0)),
            number: Cell::new(0),
            since: Cell::new(0),
            end: Cell::new(u64::MAX),
            donors: [const { Cell::new(Physical(0)) }; MAX_DONORS],
            count: Cell::new(0),
            look: Cell::new(false),
        }
    }

    /// Returns the time at which the CPU must look at the chain again, at the latest.
    pub(crate) fn end(&self) -> u64 {
        self.end.get()
    }

    /// Adds an innermost donor; returns false if there is no room.
    pub(crate) fn push(&self, donor: Thread<'_>) -> bool {
        let count = self.count.get();
        if count == MAX_DONORS {
            return false;
        }
        self.donors[count].set(donor.at);
        self.count.set(count + 1);
        self.end.set(self.end.get().min(donor.donates_until()));
        true
    }

    /// Removes the innermost donor.
    pub(crate) fn pop(&self) -> Option<Physical> {
        let last = self.count.get().checked_sub(1)?;
        self.count.set(last);
        Some(self.donors[last].get())
    }
}
