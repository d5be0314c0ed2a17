//! Words of the ports of processes that a person has started.

/// Bit of a port's word: the port is a stream of such a process, or is told of its terminal.
pub const STREAM: u64 = 1 << 61;
/// Position in such a word of the number of the process among all of them.
const NUMBER_SHIFT: u32 = 2;
/// Bits of such a word that name the stream.
const PLACE: u64 = (1 << NUMBER_SHIFT) - 1;
/// Place of the input among the streams.
pub const INPUT: usize = 0;
/// Place of the output among the streams. Behind it is that of errors.
pub const OUTPUT: usize = 1;
/// Place of the port that is told of the terminal.
pub const TOLD: usize = 3;

/// The word of a port.
pub fn word(number: u64, place: usize) -> u64 {
    STREAM | number << NUMBER_SHIFT | place as u64
}

/// The number of the process that a word belongs to.
pub fn number(word: u64) -> u64 {
    (word & !STREAM) >> NUMBER_SHIFT
}

/// The place that a word names.
pub fn place(word: u64) -> usize {
    (word & PLACE) as usize
}
