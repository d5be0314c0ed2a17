//! Requests to servers to tell of events of files.
//!
//! The server of pipes and sockets puts the number of a file on the process's *board*, which any
//! thread reads in one message. Other servers notify bits, of which the agent hears.

use crate::state::files::watch::{BITS, FIRST_BIT, SHELVES, Watch};
use core::cell::Cell;

/// Number of shelves of which the log says that they were told of last.
const LOG: usize = 128;

/// The process's board at the service of pipes and sockets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Board {
    /// State before the process has asked for a board.
    Unknown,
    /// The service makes none.
    Refused,
    /// The board with this number.
    Is(u64),
}

/// Number of notifications by bit, and the bit of the next file.
pub struct Watches {
    notified: [u32; BITS],
    next: u8,
    /// A thread has asked the agent to say when it has counted all that was told before.
    is_asked: bool,
    /// The process's board.
    pub board: Board,
    /// Number of the last file that can be put on the board.
    last_id: u64,
    /// Number of times that something was told of a file, by shelf.
    told: [u32; SHELVES],
    /// Shelves that were told of last, by the number of the telling.
    log: [u16; LOG],
    /// Number of tellings.
    tellings: u64,
}

impl Watches {
    /// Creates an empty record.
    pub const fn new() -> Watches {
        Watches { notified: [0; BITS], next: 0, is_asked: false, board: Board::Unknown, last_id: 0, told: [0; SHELVES], log: [0; LOG], tellings: 0 }
    }

    /// Bits have come: what stood at them is to be asked for again.
    pub fn notified(&mut self, bits: u64) {
        for (index, count) in self.notified.iter_mut().enumerate() {
            *count = count.wrapping_add((bits >> (FIRST_BIT as usize + index) & 1) as u32);
        }
    }

    /// The watch of a file; a bit is chosen if it has none.
    pub fn of(&mut self, place: &Cell<Watch>) -> Watch {
        let mut watch = place.get();
        if watch.bit == 0 {
            self.next = (self.next + 1) % BITS as u8;
            watch = Watch { bit: self.next + 1, ..watch };
            place.set(watch);
        }
        watch
    }

    /// The watch of a file; a number for the board is chosen if it has none.
    pub fn numbered(&mut self, place: &Cell<Watch>) -> Watch {
        let mut watch = place.get();
        if watch.id == 0 {
            self.last_id += 1;
            watch.id = self.last_id;
            place.set(watch);
        }
        watch
    }

    /// Number of times that something was told of the file.
    pub fn count(&self, watch: Watch) -> u32 {
        if watch.is_on_board {
            return self.told[watch.shelf()];
        }
        self.notified.get(usize::from(watch.bit).wrapping_sub(1)).copied().unwrap_or_default()
    }

    /// Returns true if a watch stands at the file's server, which has told of none.
    pub fn is_live(&self, watch: Watch) -> bool {
        watch.events != 0 && self.count(watch) == watch.notified
    }

    /// Returns true if a watch of these events, taken from these counts of changes, stands at the
    /// file's server, which has told of none.
    pub fn holds(&self, watch: Watch, events: u64, changes: Option<[u64; 2]>) -> bool {
        watch.changes == changes && events & !watch.events == 0 && self.is_live(watch)
    }

    /// The board tells of a file, or what it would have told of is asked for in another way.
    pub fn tell(&mut self, id: u64) {
        let shelf = Watch { id, ..Watch::default() }.shelf();
        self.told[shelf] = self.told[shelf].wrapping_add(1);
        self.log[(self.tellings % LOG as u64) as usize] = shelf as u16;
        self.tellings += 1;
    }

    /// Any file may have changed.
    pub fn tell_all(&mut self) {
        self.told.iter_mut().for_each(|count| *count = count.wrapping_add(1));
        // More than the log holds.
        self.tellings += 2 * LOG as u64;
    }

    /// Number of tellings so far.
    pub fn tellings(&self) -> u64 {
        self.tellings
    }

    /// Returns the shelves that were told of since there were so many tellings; `None`: it may have
    /// been any.
    pub fn told_since(&self, tellings: u64) -> Option<impl Iterator<Item = usize>> {
        let is_known = self.tellings - tellings <= LOG as u64;
        is_known.then(|| (tellings..self.tellings).map(|number| usize::from(self.log[(number % LOG as u64) as usize])))
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

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn what_was_told_is_known_as_long_as_the_log_holds_it() {
        let mut watches = Watches::new();
        let watch = Watch { id: 5, events: 1, is_on_board: true, ..Watch::default() };
        assert!(watches.holds(watch, 1, None) && !watches.holds(watch, 3, None) && !watches.holds(watch, 1, Some([0; 2])));
        watches.tell(5 + SHELVES as u64);
        assert!(!watches.holds(watch, 1, None), "it is on the same shelf");
        watches.tell(7);
        assert_eq!(watches.told_since(0).unwrap().collect::<Vec<_>>(), [5, 7]);
        assert_eq!(watches.told_since(2).unwrap().count(), 0);
        (0..LOG as u64).for_each(|id| watches.tell(id));
        assert!(watches.told_since(1).is_none() && watches.told_since(2).is_some());
        let before = watches.tellings();
        watches.tell_all();
        assert!(watches.told_since(before).is_none());
    }
}
