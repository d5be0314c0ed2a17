//! Values of extended attributes, which are longer than a message can be: read and sent in parts.

use crate::{Errno, file};
use alloc::vec;
use alloc::vec::Vec;
use nacre_abi::message::MAX_BYTES;
use nacre_sys::Reference;

/// Bytes of a value, at most, and of all names of a file.
pub const MAX_VALUE: usize = 1 << 16;
/// Bytes of a value that one message carries, beside a name.
const PART: usize = MAX_BYTES as usize - 256;
/// Times that a value is sent, if values of others come in between.
const ATTEMPTS: usize = 16;

/// Returns the size of an attribute's value and its first bytes, at most `limit`; of an empty name,
/// of the names of all attributes, a zero behind each.
pub fn read(target: Reference, name: &[u8], limit: usize) -> Result<(u64, Vec<u8>), Errno> {
    let (mut whole, mut buffer) = (Vec::new(), vec![0; limit.min(MAX_BYTES as usize)]);
    loop {
        let (at, room) = (whole.len() as u64, buffer.len() as u64);
        let (size, count) = match name {
            [] => file::attributes(target, at, room, &mut buffer[..]).map(|reply| (reply.size, reply.names))?,
            name => file::attribute(target, at, room, name, &mut buffer[..]).map(|reply| (reply.size, reply.value))?,
        };
        whole.extend_from_slice(buffer.get(..count).ok_or(Errno::EPROTO)?);
        whole.truncate(limit);
        if count == 0 || whole.len() >= limit || whole.len() as u64 >= size {
            return Ok((size, whole));
        }
    }
}

/// Sets an attribute with flags of `file.set_attribute`.
pub fn set(target: Reference, name: &[u8], value: &[u8], flags: u64) -> Result<(), Errno> {
    for _ in 1..ATTEMPTS {
        match send(target, name, value, flags) {
            Err(Errno::EAGAIN) => {}
            sent => return sent,
        }
    }
    send(target, name, value, flags)
}

fn send(target: Reference, name: &[u8], value: &[u8], flags: u64) -> Result<(), Errno> {
    let mut at = 0;
    loop {
        let part = value.get(at..value.len().min(at + PART)).unwrap_or_default();
        let named = [name, part].concat();
        file::set_attribute(target, flags, name.len() as u64, at as u64, value.len() as u64, &named[..])?;
        at += part.len();
        if at >= value.len() {
            return Ok(());
        }
    }
}
