//! Requests to servers to tell of events of files.

use crate::state::files::open_file::OpenFile;
use crate::state::files::watch::{BITS, FIRST_BIT, Watch};

/// Number of notifications by bit, and the bit of the next file.
pub struct Watches {
    notified: [u32; BITS],
    next: u8,
    /// A thread has asked the agent to say when it has counted all that was told before.
    is_asked: bool,
}

impl Watches {
    /// Creates an empty record.
    pub const fn new() -> Watches {
        Watches { notified: [0; BITS], next: 0, is_asked: false }
    }

    /// Bits have come: what stood at them is to be asked for again.
    pub fn notified(&mut self, bits: u64) {
        for (index, count) in self.notified.iter_mut().enumerate() {
            *count = count.wrapping_add((bits >> (FIRST_BIT as usize + index) & 1) as u32);
        }
    }

    /// The watch of a file; a bit is chosen if it has none.
    pub fn of(&mut self, file: &OpenFile) -> Watch {
        let mut watch = file.watch.get();
        if watch.bit == 0 {
            self.next = (self.next + 1) % BITS as u8;
            watch = Watch { bit: self.next + 1, ..Watch::default() };
            file.watch.set(watch);
        }
        watch
    }

    pub fn count(&self, watch: Watch) -> u32 {
        self.notified.get(usize::from(watch.bit) - 1).copied().unwrap_or_default()
    }

    /// Returns true if a watch of these events, taken from these counts of changes, stands at the
    /// file's server, which has told of none.
    pub fn holds(&self, watch: Watch, events: u64, changes: Option<[u64; 2]>) -> bool {
        watch.bit != 0 && watch.changes == changes && watch.events != 0 && events & !watch.events == 0 && self.count(watch) == watch.notified
    }

    /// Notes that the agent is asked whether all is counted; false if it is being asked already.
    pub fn ask(&mut self) -> bool {
        !core::mem::replace(&mut self.is_asked, true)
    }

    /// Notes that the agent has counted all that was told before it was asked.
    pub fn answer(&mut self) {
        self.is_asked = false;
    }

    pub fn is_asked(&self) -> bool {
        self.is_asked
    }
}
