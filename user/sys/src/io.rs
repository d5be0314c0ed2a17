//! I/O ports and interrupt lines, for those who hold references to them.

use nacre_abi::{Call, Status};

use crate::{Port, Reference, raw};

/// Reads `width` (1, 2 or 4) bytes from `port`, counted from the first that `ports` has.
pub fn read(ports: Reference, port: u16, width: u64) -> Result<u32, Status> {
    raw::call(Call::IoRead, [ports.0, u64::from(port), width, 0]).map(|(value, _)| value as u32)
}

/// Writes `width` (1, 2 or 4) bytes to `port`.
pub fn write(ports: Reference, port: u16, width: u64, value: u32) -> Result<(), Status> {
    raw::call(Call::IoWrite, [ports.0, u64::from(port), width, u64::from(value)]).map(drop)
}

/// Writes bytes (at most 4096), one after the other, to one port.
pub fn write_bytes(ports: Reference, port: u16, bytes: &[u8]) -> Result<(), Status> {
    raw::call(Call::IoWriteBytes, [ports.0, u64::from(port), bytes.as_ptr() as u64, bytes.len() as u64]).map(drop)
}

/// Makes the existing `reference` lead to `count` ports of `ports` from `first` on.
pub fn ports_reference(ports: Reference, reference: Reference, first: u64, count: u64) -> Result<(), Status> {
    raw::call(Call::IoPortsReference, [ports.0, reference.0, first, count]).map(drop)
}

/// Makes `line` notify `port` with `bits`. Each interrupt masks the line until it is acknowledged.
pub fn interrupt_bind(interrupts: Reference, line: u64, port: Port, bits: u64) -> Result<(), Status> {
    raw::call(Call::InterruptBind, [interrupts.0, line, port.0, bits]).map(drop)
}

/// The line notifies nobody any more.
pub fn interrupt_unbind(interrupts: Reference, line: u64) -> Result<(), Status> {
    raw::call(Call::InterruptBind, [interrupts.0, line, 0, 0]).map(drop)
}

/// Lets `line` interrupt again.
pub fn interrupt_acknowledge(interrupts: Reference, line: u64) -> Result<(), Status> {
    raw::call(Call::InterruptAcknowledge, [interrupts.0, line, 0, 0]).map(drop)
}

/// Makes the existing `reference` lead to `count` lines of `interrupts` from `first` on.
pub fn interrupt_reference(interrupts: Reference, reference: Reference, first: u64, count: u64) -> Result<(), Status> {
    raw::call(Call::InterruptReference, [interrupts.0, reference.0, first, count]).map(drop)
}
