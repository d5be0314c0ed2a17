//! The devices that root drives itself: serial lines, the battery-backed clock, the port that ends
//! QEMU.

use crate::calendar::ClockFields;
use crate::serial::Ports;
use nacre_abi::environment::{CLOCK, IO_PORTS};
use nacre_sys::{Reference, clock, io};

const ALL_PORTS: Reference = Reference(IO_PORTS);
/// The battery-backed clock: which register, and its value.
const CLOCK_INDEX: u16 = 0x70;
const CLOCK_DATA: u16 = 0x71;
/// Port of QEMU's `isa-debug-exit`, and the value that stands for success.
const END_PORT: u16 = 0xf4;
const END_VALUE: u32 = 0x10;

/// All I/O ports. A port that cannot be reached reads as one where no device is.
pub struct IoPorts;

impl Ports for IoPorts {
    fn read(&mut self, port: u16) -> u8 {
        io::read(ALL_PORTS, port, 1).map_or(0xff, |value| value as u8)
    }

    fn write(&mut self, port: u16, value: u8) {
        let _ = io::write(ALL_PORTS, port, 1, u32::from(value));
    }

    fn write_bytes(&mut self, port: u16, bytes: &[u8]) {
        let _ = io::write_bytes(ALL_PORTS, port, bytes);
    }
}

fn clock_register(index: u8) -> u8 {
    IoPorts.write(CLOCK_INDEX, index);
    IoPorts.read(CLOCK_DATA)
}

fn clock_fields() -> ClockFields {
    ClockFields {
        second: clock_register(0),
        minute: clock_register(2),
        hour: clock_register(4),
        day: clock_register(7),
        month: clock_register(8),
        year: clock_register(9),
        mode: clock_register(11),
    }
}

/// Seconds since 1970 by the battery-backed clock. Two equal readings are one that was not made
/// half way through a change.
pub fn battery_clock() -> i64 {
    let mut fields = clock_fields();
    for _ in 0..10 {
        let again = clock_fields();
        if again == fields {
            break;
        }
        fields = again;
    }
    fields.to_seconds()
}

/// Nanoseconds since the machine started.
pub fn monotonic() -> u64 {
    clock::read(Reference(CLOCK)).unwrap_or(0)
}

/// Ends QEMU. On a machine without that port nothing happens.
pub fn end_machine() {
    let _ = io::write(ALL_PORTS, END_PORT, 4, END_VALUE);
}

/// The second serial line, and how often it is asked whether it takes a byte.
const MESSAGES: u16 = 0x2f8;
const MAX_ASKED: u32 = 100_000;

/// Says a line at once, past everything that is queued: the server itself is in trouble.
pub fn say(text: &str) {
    for byte in text.bytes().chain([b'\n']) {
        let mut asked = 0;
        while IoPorts.read(MESSAGES + 5) & 0x20 == 0 && asked < MAX_ASKED {
            asked += 1;
        }
        IoPorts.write(MESSAGES, byte);
    }
}

/// Ends the machine in trouble: no record says a status, and so the host knows.
pub fn give_up(_status: u64) {
    end_machine();
}
