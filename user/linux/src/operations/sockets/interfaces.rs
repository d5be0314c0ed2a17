//! The machine's network interfaces, of which there is one: the loopback. What `ioctl` tells of it
//! is made here (Linux: netdevice(7)).

use crate::abi::errno::{Answer, ENODEV, ENOTTY, EPERM, Errno};
use crate::process::Process;
use crate::state::files::socket_family::{AF_INET, LOOPBACK};
use alloc::vec::Vec;

/// Name of the interface, with its zero, and its number.
pub const NAME: &[u8] = b"lo\0";
pub const INDEX: u32 = 1;
/// Linux's kind of hardware that the loopback has.
pub const HARDWARE: u16 = 772;
/// `IFF_UP`, `IFF_LOOPBACK`, `IFF_RUNNING`.
pub const FLAGS: u16 = 0x49;
/// Largest packet in bytes, and how many can wait.
pub const LARGEST: u32 = 65_536;
pub const QUEUE: u32 = 1000;
/// Length in bits of what all addresses of the interface begin with.
pub const PREFIX: u8 = 8;
/// Length in bits of the whole address of version 6.
pub const PREFIX6: u8 = 128;
const NET_MASK: [u8; 4] = [255, 0, 0, 0];

const GET_NAME: u32 = 0x8910;
const GET_ALL: u32 = 0x8912;
const GET_FLAGS: u32 = 0x8913;
const GET_ADDRESS: u32 = 0x8915;
const GET_PEER: u32 = 0x8917;
const GET_BROADCAST: u32 = 0x8919;
const GET_MASK: u32 = 0x891b;
const GET_METRIC: u32 = 0x891d;
const GET_LARGEST: u32 = 0x8921;
const GET_HARDWARE: u32 = 0x8927;
const GET_INDEX: u32 = 0x8933;
const GET_QUEUE: u32 = 0x8942;
const SET_FLAGS: u32 = 0x8914;
const UP: u8 = 1;
/// Requests that change an interface.
const CHANGES: [u32; 10] = [0x8914, 0x8916, 0x8918, 0x891a, 0x891c, 0x891e, 0x8922, 0x8923, 0x8924, 0x8943];
/// Bytes of a name in a `struct ifreq`, and of all of it.
const NAME_SIZE: usize = 16;
const SIZE: usize = 40;

fn address(family: u16, address: [u8; 4]) -> Vec<u8> {
    let mut bytes = family.to_le_bytes().to_vec();
    bytes.extend([0; 2]);
    bytes.extend(address);
    bytes.resize(16, 0);
    bytes
}

/// Returns what a request asks of the interface, as it stands behind the name.
fn fact(request: u32) -> Option<Vec<u8>> {
    Some(match request {
        GET_FLAGS => FLAGS.to_le_bytes().to_vec(),
        GET_ADDRESS | GET_PEER => address(AF_INET, LOOPBACK),
        GET_BROADCAST => address(AF_INET, [0; 4]),
        GET_MASK => address(AF_INET, NET_MASK),
        GET_HARDWARE => address(HARDWARE, [0; 4]),
        GET_METRIC => 0u32.to_le_bytes().to_vec(),
        GET_LARGEST => LARGEST.to_le_bytes().to_vec(),
        GET_INDEX => INDEX.to_le_bytes().to_vec(),
        GET_QUEUE => QUEUE.to_le_bytes().to_vec(),
        _ => return None,
    })
}

fn is_named(name: &[u8]) -> bool {
    name.starts_with(NAME)
}

/// Carries out a request on an interface by a socket. `ENODEV`: there is none of this name or
/// number. `EPERM`: it stays as it is.
pub fn request(process: &mut Process, request: u32, argument: u64) -> Answer {
    if request == GET_ALL {
        return list(process, argument);
    }
    let found = fact(request);
    if found.is_none() && request != GET_NAME && !CHANGES.contains(&request) {
        return Err(ENOTTY);
    }
    let bytes = process.memory.readable(argument, SIZE as u64)?;
    let is_known = match request {
        GET_NAME => bytes[NAME_SIZE..].starts_with(&INDEX.to_le_bytes()),
        _ => is_named(&bytes[..NAME_SIZE]),
    };
    match found {
        _ if !is_known => Err(ENODEV),
        Some(fact) => process.memory.write_bytes(argument + NAME_SIZE as u64, &fact).map(|()| 0),
        // It is up, and stays so.
        None if request == SET_FLAGS && bytes[NAME_SIZE] & UP != 0 => Ok(0),
        None if request == GET_NAME => process.memory.write_bytes(argument, NAME).map(|()| 0),
        None => Err(EPERM),
    }
}

/// `SIOCGIFCONF`: lists the interfaces that have addresses, as far as there is room; without a
/// buffer, tells how much room they need.
fn list(process: &mut Process, argument: u64) -> Answer {
    let room = process.memory.read_half(argument)? as i32;
    let [_, buffer] = process.memory.read_words(argument)?;
    let fits = buffer == 0 || room >= SIZE as i32;
    if buffer != 0 && fits {
        let mut entry = NAME.to_vec();
        entry.resize(NAME_SIZE, 0);
        entry.extend(address(AF_INET, LOOPBACK));
        entry.resize(SIZE, 0);
        process.memory.write_bytes(buffer, &entry)?;
    }
    process.memory.write_half(argument, if fits { SIZE as u32 } else { 0 })?;
    Ok(0)
}

/// Checks the name of an interface.
pub fn check_name(name: &[u8]) -> Result<(), Errno> {
    if name == NAME || name == &NAME[..NAME.len() - 1] { Ok(()) } else { Err(ENODEV) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_with_their_end() {
        assert!(is_named(b"lo\0garbage"));
        assert!(!is_named(b"lo1\0") && !is_named(b"l\0") && !is_named(b""));
        assert_eq!((check_name(b"lo"), check_name(b"lo\0"), check_name(b"eth0\0")), (Ok(()), Ok(()), Err(ENODEV)));
    }

    #[test]
    fn facts_fit_behind_the_name() {
        for request in 0x8900..0x8a00 {
            assert!(fact(request).is_none_or(|fact| NAME_SIZE + fact.len() <= SIZE && !CHANGES.contains(&request)));
        }
    }
}
