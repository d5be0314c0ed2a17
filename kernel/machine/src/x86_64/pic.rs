//! The two old interrupt controllers: moved out of the way and silenced.

use super::io;

const COMMANDS: [u16; 2] = [0x20, 0xa0];
const DATA: [u16; 2] = [0x21, 0xa1];

/// Masks all lines. The vectors they would have are given first, so that a spurious interrupt is
/// not taken for an exception.
pub fn silence() {
    for (number, wiring) in [4, 2].into_iter().enumerate() {
        io::write_u8(COMMANDS[number], 0x11);
        io::write_u8(DATA[number], 0x20 + 8 * number as u8);
        io::write_u8(DATA[number], wiring);
        io::write_u8(DATA[number], 1);
        io::write_u8(DATA[number], 0xff);
    }
}
