//! Addresses of sockets: what a program writes, and what it is shown.

use alloc::vec::Vec;
use nacre_proto::channel::{Address, INTERNET, INTERNET_6, INTERNET_BOTH, InternetName, MESSAGES};
use nacre_proto::flags::SOCK_DGRAM;

pub const AF_UNSPEC: u16 = 0;
pub const AF_UNIX: u16 = 1;
pub const AF_INET: u16 = 2;
pub const AF_INET6: u16 = 10;
/// Bytes of a `sockaddr_in`, and of a `sockaddr_in6`.
pub const INTERNET_SIZE: usize = 16;
pub const INTERNET6_SIZE: usize = 28;
/// Start of an address of version 6 that stands for one of version 4.
pub const MAPPED: [u8; 12] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];
/// Version 6 of the loopback address.
pub const LOOPBACK6: [u8; 16] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
/// The address of every interface, and the one of the machine itself (`127.0.0.0/8`).
pub const ANY: [u8; 4] = [0; 4];
pub const LOOPBACK: [u8; 4] = [127, 0, 0, 1];

/// Address family of a socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// Paths and names of this machine.
    Local,
    /// Numbers of the internet (version 4).
    Internet,
    /// Numbers of the internet, version 6 and, unless the program does not want them, version 4.
    Internet6,
}

/// Version of the internet that a name is of: each has ports of its own. The names are those of the
/// service. In them two addresses of version 6 have four bytes: any (`::`, [`ANY`]) and the
/// machine's own (`::1`, [`LOOPBACK`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Version {
    /// Version 4.
    Four = b'i' as isize,
    /// Version 6.
    Six = b'j' as isize,
    /// Both: found by who looks for either and finds nobody.
    Both = b'k' as isize,
}

impl Family {
    /// Returns the family with Linux's number.
    pub fn from_number(number: u64) -> Option<Family> {
        match number as u16 {
            AF_UNIX => Some(Family::Local),
            AF_INET => Some(Family::Internet),
            AF_INET6 => Some(Family::Internet6),
            _ => None,
        }
    }

    /// Linux's number of it.
    pub fn number(self) -> u16 {
        match self {
            Family::Local => AF_UNIX,
            Family::Internet => AF_INET,
            Family::Internet6 => AF_INET6,
        }
    }

    /// Returns true for the families of the internet.
    pub fn is_internet(self) -> bool {
        self != Family::Local
    }

    /// The address that a program sees for the name of a socket at the other end. Bytes from a
    /// socket that is bound to any address come from the loopback address.
    pub fn shown_peer(self, name: &[u8]) -> Vec<u8> {
        let mut name = name.to_vec();
        if self.is_internet() && internet_parts(&name).1 == Address::Four(ANY) && let Some(address) = name.get_mut(2..6) {
            address.copy_from_slice(&LOOPBACK);
        }
        self.shown(&name)
    }

    /// The address that a program sees for a name of the service.
    pub fn shown(self, name: &[u8]) -> Vec<u8> {
        let mut shown = self.number().to_le_bytes().to_vec();
        match self {
            Family::Local => {
                shown.extend(name);
                // A path ends with a zero, a name does not.
                shown.extend((name.first().is_some_and(|first| *first != 0)).then_some(0));
            }
            Family::Internet => {
                let (port, address) = internet_parts(name);
                shown.extend(port.to_be_bytes());
                shown.extend(address.four().unwrap_or(ANY));
                shown.resize(INTERNET_SIZE, 0);
            }
            Family::Internet6 => {
                let (port, address) = internet_parts(name);
                shown.extend(port.to_be_bytes());
                shown.extend([0; 4]);
                match address {
                    Address::Six(address) => shown.extend(address),
                    Address::Four(address) if version(name) == Some(Version::Four) => shown.extend([&MAPPED[..], &address].concat()),
                    Address::Four(LOOPBACK) => shown.extend(LOOPBACK6),
                    Address::Four(_) => {}
                }
                shown.resize(INTERNET6_SIZE, 0);
            }
        }
        shown
    }
}

/// The name of a socket of the internet: a letter for the version, its protocol, address and port.
pub fn internet_name(version: Version, kind: u64, address: impl Into<Address>, port: u16) -> Vec<u8> {
    InternetName { version: version as u8, kind: kind as u8, address: address.into(), port }.bytes()
}

/// The version of a name that [`internet_name`] makes.
pub fn version(name: &[u8]) -> Option<Version> {
    Some(match InternetName::read(name)?.version {
        INTERNET => Version::Four,
        INTERNET_6 => Version::Six,
        INTERNET_BOTH => Version::Both,
        _ => return None,
    })
}

/// Returns the name of a sender or receiver of ICMP as one that has no port, and any other name as
/// it is.
pub fn without_hops(name: &[u8]) -> Vec<u8> {
    match InternetName::read(name) {
        Some(parts) if parts.is_icmp() => InternetName { kind: SOCK_DGRAM as u8, port: 0, ..parts }.bytes(),
        _ => name.to_vec(),
    }
}

/// Hops that the packet of a message of ICMP could still have taken, by the name of its sender.
pub fn hops(name: &[u8]) -> Option<u16> {
    InternetName::read(name).filter(|parts| parts.is_icmp()).map(|parts| parts.port)
}

/// Returns the same name in another version. Other machines' addresses of version 6 are of no
/// other.
pub fn in_version(name: &[u8], version: Version) -> Vec<u8> {
    let mut name = name.to_vec();
    if InternetName::read(&name).is_some_and(|parts| parts.address.four().is_some()) {
        name.splice(..1, [version as u8]);
    }
    name
}

fn internet_parts(name: &[u8]) -> (u16, Address) {
    // Linux shows the number of the protocol for the port of a raw socket.
    const PROTOCOL: u16 = 1;
    match InternetName::read(name) {
        Some(parts) if parts.kind == MESSAGES => (PROTOCOL, parts.address),
        Some(parts) => (parts.port, parts.address),
        None => (0, Address::Four(ANY)),
    }
}
