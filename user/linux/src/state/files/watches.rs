//! Requests to servers to tell of events of files.

use crate::state::files::open_file::OpenFile;
use crate::state::files::watch::{BITS, FIRST_BIT, Watch};

/// Number of notifications by bit, and the bit of the next file.
pub struct Watches {
    notified: [u32; BITS],
    next: u8,
}

impl Watches {
    /// Creates an empty record.
    pub const fn new() -> Watches {
        Watches { notified: [0; BITS], next: 0 }
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
            watch = Watch { events: 0, bit: self.next + 1, notified: 0 };
            file.watch.set(watch);
        }
        watch
    }

    pub fn count(&self, watch: Watch) -> u32 {
        self.notified.get(usize::from(watch.bit) - 1).copied().unwrap_or_default()
    }
}
