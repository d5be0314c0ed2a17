//! Requests to servers to tell of events of files.

use nacre_abi::message::KERNEL_BITS;

/// Bits of the notifications that tell of files: each file has one of them, which it may share.
pub const FILES: u64 = !0 << FIRST_BIT & !KERNEL_BITS;
pub const FIRST_BIT: u32 = 8;
pub const BITS: usize = FILES.count_ones() as usize;
/// Shelves on which files of the board stand. Each file has one of them, which it may share.
pub const SHELVES: usize = 512;

/// A watch that a file's server has taken, and has not told of yet as long as its bit was notified
/// so often.
#[derive(Clone, Copy, Debug, Default)]
pub struct Watch {
    pub events: u64,
    /// Number of the bit, counted from 1; 0 if the file has none yet.
    pub bit: u8,
    pub notified: u32,
    /// Counts of arrivals and departures from which on any change is told. `None`: the watch was
    /// taken when the file had none of the events.
    pub changes: Option<[u64; 2]>,
    /// Number of the file on the board; 0 if it has none yet.
    pub id: u64,
    /// The board tells of the watch, and no bit does.
    pub is_on_board: bool,
    /// The file's server does not know the board, or may be anybody and is not trusted with it.
    pub is_foreign: bool,
}

impl Watch {
    /// Returns the bits that are notified.
    pub fn bits(self) -> u64 {
        1 << (FIRST_BIT + u32::from(self.bit) - 1)
    }

    /// Returns the shelf of the file.
    pub fn shelf(self) -> usize {
        (self.id % SHELVES as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::abi::poll_events::POLLIN;

    #[test]
    fn no_file_gets_a_bit_of_the_kernels() {
        for bit in 1..=BITS as u8 {
            let bits = Watch { events: POLLIN, bit, ..Watch::default() }.bits();
            assert!(bits & FILES != 0 && bits & KERNEL_BITS == 0 && bits >= 1 << FIRST_BIT, "{bit}");
        }
    }
}
