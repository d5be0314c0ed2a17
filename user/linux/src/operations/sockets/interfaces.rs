//! The machine's network interfaces: the loopback and, if there is one, the network card. What
//! `ioctl` tells of them is made here (Linux: netdevice(7)).

use crate::abi::errno::{Answer, ENODEV, ENOTTY, EPERM, Errno};
use crate::abi::socket_flags::SO_BROADCAST;
use crate::process::Process;
use crate::state::files::open_file::OpenFile;
use crate::state::files::socket_family::{AF_INET, LOOPBACK, LOOPBACK6};
use alloc::vec::Vec;
use nacre_proto::channel::{self, InternetName};
use nacre_proto::flags::SOCK_DGRAM;

/// An interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Name, with its zero.
    pub name: &'static [u8],
    /// Number.
    pub index: u32,
    /// Linux's kind of hardware, the address of that, and that of all on the wire.
    pub hardware: u16,
    /// Address of the hardware.
    pub card: [u8; 6],
    /// Flags.
    pub flags: u16,
    /// Largest packet in bytes.
    pub largest: u32,
    /// Address.
    pub address: [u8; 4],
    /// Length in bits of what all addresses of the interface begin with.
    pub prefix: u8,
    /// Address of whoever reaches all others.
    pub gateway: Option<[u8; 4]>,
    /// Address of version 6, if there is one.
    pub six: Option<Six>,
}

/// Address of version 6 of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Six {
    /// Address.
    pub address: [u8; 16],
    /// Length in bits of what all addresses of the interface begin with.
    pub prefix: u8,
    /// Address of whoever reaches all others.
    pub gateway: Option<[u8; 16]>,
}

impl Six {
    /// Returns true for an address of one site alone (`fec0::/10`).
    pub fn is_of_site(self) -> bool {
        self.address[0] == 0xfe && self.address[1] & 0xc0 == 0xc0
    }
}

/// Names that interfaces can have.
pub const NAMES: [&str; 2] = ["lo", "eth0"];
/// Number of packets that can wait at an interface.
pub const QUEUE: u32 = 1000;
/// Length in bits of the whole address of version 6.
const PREFIX6: u8 = 128;
/// `IFF_UP`, `IFF_RUNNING`; `IFF_LOOPBACK`; `IFF_BROADCAST`, `IFF_MULTICAST`.
const RUNNING: u16 = 0x41;
const LOOPS: u16 = 0x8;
const REACHES: u16 = 0x1002;

impl Interface {
    /// The machine itself.
    pub const LOOPBACK: Interface =
        Interface { name: b"lo\0", index: 1, hardware: 772, card: [0; 6], flags: RUNNING | LOOPS, largest: 65_536, address: LOOPBACK, prefix: 8, gateway: None, six: Some(Six { address: LOOPBACK6, prefix: PREFIX6, gateway: None }) };

    /// Returns true for the machine itself.
    pub fn is_loopback(&self) -> bool {
        self.flags & LOOPS != 0
    }

    /// Mask of what all addresses begin with.
    pub fn mask(&self) -> [u8; 4] {
        u32::MAX.checked_shl(32 - u32::from(self.prefix)).unwrap_or(0).to_be_bytes()
    }

    /// Address of all on the wire.
    pub fn broadcast(&self) -> [u8; 4] {
        if self.is_loopback() {
            return [0; 4];
        }
        (u32::from_be_bytes(self.address) | !u32::from_be_bytes(self.mask())).to_be_bytes()
    }

    /// Address that all on the wire begin with.
    pub fn wire(&self) -> [u8; 4] {
        (u32::from_be_bytes(self.address) & u32::from_be_bytes(self.mask())).to_be_bytes()
    }

    /// Name as people read it.
    pub fn shown_name(&self) -> &'static str {
        core::str::from_utf8(self.name).unwrap_or_default().trim_end_matches('\0')
    }

    /// Returns true if `name`, with or without its zero, is the interface's.
    pub fn is_named(&self, name: &[u8]) -> bool {
        name == self.name || name == &self.name[..self.name.len() - 1]
    }
}

/// The interfaces: the machine itself and, if there is one, the network card.
pub fn all(process: &mut Process) -> Vec<Interface> {
    let mut all = [Interface::LOOPBACK].to_vec();
    let service = process.services.internet();
    let found = service.and_then(|service| channel::interface(service).ok());
    let six = service.filter(|_| found.is_some()).and_then(|service| channel::interface_6(service).ok());
    all.extend(found.map(|found| {
        let four = |word: u64| (word as u32).to_le_bytes();
        let [a, b, c, d, e, f, ..] = found.card.to_le_bytes();
        let gateway = Some(four(found.gateway)).filter(|gateway| *gateway != [0; 4]);
        let (prefix, largest) = (found.prefix.min(32) as u8, found.packet as u32);
        Interface { name: b"eth0\0", index: 2, hardware: 1, card: [a, b, c, d, e, f], flags: RUNNING | REACHES, largest, address: four(found.address), prefix, gateway, six: six.map(six_of) }
    }));
    all
}

/// The interface with this name.
pub fn named(process: &mut Process, name: &str) -> Option<Interface> {
    all(process).into_iter().find(|interface| interface.shown_name() == name)
}

fn six_of(found: channel::interface_6::Reply) -> Six {
    let address = |high: u64, low: u64| (u128::from(high) << 64 | u128::from(low)).to_be_bytes();
    let gateway = Some(address(found.gateway_high, found.gateway_low)).filter(|gateway| *gateway != [0; 16]);
    Six { address: address(found.high, found.low), prefix: found.prefix.min(128) as u8, gateway }
}

/// Returns the error of a call that connects or sends datagrams to a name. Linux says `EACCES` of a
/// broadcast address, which no network here takes, if the program has not set `SO_BROADCAST`.
pub fn error_of(process: &mut Process, file: &OpenFile, name: &[u8], error: Errno) -> Errno {
    let receiver = InternetName::read(name).filter(|name| u64::from(name.kind) == SOCK_DGRAM);
    let (Some(receiver), Errno::ENETUNREACH) = (receiver, error) else { return error };
    if file.options.get().switch(SO_BROADCAST) == Some(1) {
        return error;
    }
    let is_broadcast = |card: &Interface| !card.is_loopback() && ([[255; 4], card.broadcast()].map(Into::into).contains(&receiver.address));
    if all(process).iter().any(is_broadcast) { Errno::EACCES } else { error }
}

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

/// Returns what a request asks of an interface, as it stands behind the name.
fn fact(interface: &Interface, request: u32) -> Option<Vec<u8>> {
    Some(match request {
        GET_FLAGS => interface.flags.to_le_bytes().to_vec(),
        GET_ADDRESS | GET_PEER => address(AF_INET, interface.address),
        GET_BROADCAST => address(AF_INET, interface.broadcast()),
        GET_MASK => address(AF_INET, interface.mask()),
        GET_HARDWARE => [&interface.hardware.to_le_bytes()[..], &interface.card, &[0; 8]].concat(),
        GET_METRIC => 0u32.to_le_bytes().to_vec(),
        GET_LARGEST => interface.largest.to_le_bytes().to_vec(),
        GET_INDEX => interface.index.to_le_bytes().to_vec(),
        GET_QUEUE => QUEUE.to_le_bytes().to_vec(),
        _ => return None,
    })
}

/// Carries out a request on an interface by a socket. `ENODEV`: there is none of this name or
/// number. `EPERM`: it stays as it is.
pub fn request(process: &mut Process, request: u32, argument: u64) -> Answer {
    if request == GET_ALL {
        return list(process, argument);
    }
    let is_question = fact(&Interface::LOOPBACK, request).is_some();
    if !is_question && request != GET_NAME && !CHANGES.contains(&request) {
        return Err(ENOTTY);
    }
    let bytes = process.memory.readable(argument, SIZE as u64)?.to_vec();
    let is_meant = |interface: &Interface| match request {
        GET_NAME => bytes[NAME_SIZE..].starts_with(&interface.index.to_le_bytes()),
        _ => bytes[..NAME_SIZE].starts_with(interface.name),
    };
    let found = all(process).into_iter().find(is_meant).ok_or(ENODEV)?;
    match fact(&found, request) {
        Some(fact) => process.memory.write_bytes(argument + NAME_SIZE as u64, &fact).map(|()| 0),
        // It is up, and stays so.
        None if request == SET_FLAGS && bytes[NAME_SIZE] & UP != 0 => Ok(0),
        None if request == GET_NAME => process.memory.write_bytes(argument, found.name).map(|()| 0),
        None => Err(EPERM),
    }
}

/// `SIOCGIFCONF`: lists the interfaces that have addresses, as far as there is room; without a
/// buffer, tells how much room they need.
fn list(process: &mut Process, argument: u64) -> Answer {
    let room = process.memory.read_half(argument)? as i32;
    let [_, buffer] = process.memory.read_words(argument)?;
    let mut entries = Vec::new();
    for interface in all(process) {
        let mut entry = interface.name.to_vec();
        entry.resize(NAME_SIZE, 0);
        entry.extend(address(AF_INET, interface.address));
        entry.resize(SIZE, 0);
        entries.extend(entry);
    }
    if buffer != 0 {
        entries.truncate(usize::try_from(room).unwrap_or(0) / SIZE * SIZE);
        process.memory.write_bytes(buffer, &entries)?;
    }
    process.memory.write_half(argument, entries.len() as u32)?;
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card() -> Interface {
        Interface { name: b"eth0\0", index: 2, hardware: 1, card: [2, 0, 0, 0, 0, 1], flags: RUNNING | REACHES, largest: 1500, address: [10, 0, 2, 15], prefix: 24, gateway: None, six: None }
    }

    #[test]
    fn names_are_compared_with_their_end() {
        let lo = Interface::LOOPBACK;
        assert!(lo.is_named(b"lo") && lo.is_named(b"lo\0") && !lo.is_named(b"lo1\0") && !lo.is_named(b"l\0") && !lo.is_named(b""));
    }

    #[test]
    fn masks_follow_from_prefixes() {
        assert_eq!((card().mask(), card().broadcast()), ([255, 255, 255, 0], [10, 0, 2, 255]));
        assert_eq!((Interface::LOOPBACK.mask(), Interface::LOOPBACK.broadcast()), ([255, 0, 0, 0], [0; 4]));
        assert_eq!(Interface { prefix: 0, ..card() }.mask(), [0; 4]);
    }

    #[test]
    fn facts_fit_behind_the_name() {
        for request in 0x8900..0x8a00 {
            for interface in [Interface::LOOPBACK, card()] {
                assert!(fact(&interface, request).is_none_or(|fact| NAME_SIZE + fact.len() <= SIZE && !CHANGES.contains(&request)));
            }
        }
    }
}
