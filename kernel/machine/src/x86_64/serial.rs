//! The kernel's messages: lines on the second serial port. The first belongs to users.

use super::io;
use core::fmt::{self, Write};

const PORT: u16 = 0x2f8;
const INTERRUPTS: u16 = PORT + 1;
const FIFO: u16 = PORT + 2;
const LINE: u16 = PORT + 3;
const MODEM: u16 = PORT + 4;
const STATUS: u16 = PORT + 5;
const SPACE_IN_BUFFER: u8 = 0x20;
/// Number of times that the status is read before a byte is given up: the port may not exist.
const PATIENCE: u32 = 100_000;

/// Sets the port to 115200 baud, 8 bits, without interrupts.
pub fn initialize() {
    for (register, value) in [(INTERRUPTS, 0), (LINE, 0x80), (PORT, 1), (INTERRUPTS, 0), (LINE, 3), (FIFO, 7), (MODEM, 3)] {
        io::write_u8(register, value);
    }
}

fn put(byte: u8) {
    let ready = (0..PATIENCE).any(|_| io::read_u8(STATUS) & SPACE_IN_BUFFER != 0);
    if ready {
        io::write_u8(PORT, byte);
    }
}

struct Serial;

impl Write for Serial {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            if byte == b'\n' {
                put(b'\r');
            }
            put(byte);
        }
        Ok(())
    }
}

/// Writes one line.
pub fn line(text: fmt::Arguments) {
    // Nothing can be done about a failure to say something.
    let _ = writeln!(Serial, "nacre: {text}");
}
