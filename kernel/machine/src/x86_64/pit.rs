//! The old interval timer: a clock of known frequency to measure others against. Channel 2 counts
//! without interrupting.

use super::io;

/// Ticks a second.
pub const FREQUENCY: u64 = 1_193_182;

const CONTROL: u16 = 0x61;
const COUNTER: u16 = 0x42;
const MODE: u16 = 0x43;
const CHANNEL_2_COUNT_ONCE: u8 = 0xb0;
const CHANNEL_2_LATCH: u8 = 0x80;

/// Lets channel 2 run down from its highest count.
pub fn start() {
    io::write_u8(CONTROL, io::read_u8(CONTROL) & !3 | 1);
    io::write_u8(MODE, CHANNEL_2_COUNT_ONCE);
    io::write_u8(COUNTER, 0xff);
    io::write_u8(COUNTER, 0xff);
}

/// Returns the remaining count of channel 2.
pub fn left() -> u16 {
    io::write_u8(MODE, CHANNEL_2_LATCH);
    u16::from_le_bytes([io::read_u8(COUNTER), io::read_u8(COUNTER)])
}

/// Stops channel 2.
pub fn stop() {
    io::write_u8(CONTROL, io::read_u8(CONTROL) & !3);
}
