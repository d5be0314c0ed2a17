//! Messages between a console and its driver about ports.

use alloc::vec::Vec;

/// Bytes of a message without a name.
pub const SIZE: usize = 8;
/// Largest length of a port's name.
const MAX_NAME: usize = 64;

/// Kinds of messages.
mod kind {
    pub const DEVICE_READY: u16 = 0;
    pub const DEVICE_ADD: u16 = 1;
    pub const DEVICE_REMOVE: u16 = 2;
    pub const PORT_READY: u16 = 3;
    pub const PORT_OPEN: u16 = 6;
    pub const PORT_NAME: u16 = 7;
}

/// A message of the device about a port. Others are of no use here and are passed over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// There is such a port.
    Added,
    /// The port is no more.
    Removed,
    /// The host has opened the port, or closed it.
    Open(bool),
    /// Name of the port.
    Name(Vec<u8>),
}

/// Reads a message: the port's number, and what is told of it.
pub fn decode(bytes: &[u8]) -> Option<(u32, Told)> {
    let (head, rest) = bytes.split_first_chunk::<SIZE>()?;
    let [a, b, c, d, kind @ .., v, w] = *head;
    let (port, kind, value) = (u32::from_le_bytes([a, b, c, d]), u16::from_le_bytes(kind), u16::from_le_bytes([v, w]));
    let told = match kind {
        kind::DEVICE_ADD => Told::Added,
        kind::DEVICE_REMOVE => Told::Removed,
        kind::PORT_OPEN => Told::Open(value != 0),
        kind::PORT_NAME => Told::Name(name(rest)?),
        _ => return None,
    };
    Some((port, told))
}

/// A name that can be a file's, without the zero at its end.
fn name(bytes: &[u8]) -> Option<Vec<u8>> {
    let name = bytes.split(|byte| *byte == 0).next()?;
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    let is_name = (1..=MAX_NAME).contains(&name.len()) && name[0] != b'.' && name.iter().all(is_plain);
    is_name.then(|| name.to_vec())
}

fn encode(port: u32, kind: u16, value: u16) -> [u8; SIZE] {
    let ([a, b, c, d], [e, f], [g, h]) = (port.to_le_bytes(), kind.to_le_bytes(), value.to_le_bytes());
    [a, b, c, d, e, f, g, h]
}

/// The driver is there.
pub fn device_ready() -> [u8; SIZE] {
    encode(0, kind::DEVICE_READY, 1)
}

/// The driver takes a port, or has no room for it.
pub fn port_ready(port: u32, is_ready: bool) -> [u8; SIZE] {
    encode(port, kind::PORT_READY, is_ready.into())
}

/// The driver takes the host's bytes at a port.
pub fn port_open(port: u32) -> [u8; SIZE] {
    encode(port, kind::PORT_OPEN, 1)
}
