//! Addresses of sockets: what a program writes, and what it is shown.

use alloc::vec::Vec;

pub const AF_UNSPEC: u16 = 0;
pub const AF_UNIX: u16 = 1;
pub const AF_INET: u16 = 2;
/// Bytes of a `sockaddr_in`.
pub const INTERNET_SIZE: usize = 16;
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
}

impl Family {
    /// Returns the family with Linux's number.
    pub fn from_number(number: u64) -> Option<Family> {
        match number as u16 {
            AF_UNIX => Some(Family::Local),
            AF_INET => Some(Family::Internet),
            _ => None,
        }
    }

    /// Linux's number of it.
    pub fn number(self) -> u16 {
        if self == Family::Local { AF_UNIX } else { AF_INET }
    }

    /// The address that a program sees for the name of a socket at the other end. Bytes from a
    /// socket that is bound to any address come from the loopback address.
    pub fn shown_peer(self, name: &[u8]) -> Vec<u8> {
        let mut name = name.to_vec();
        if self == Family::Internet && internet_parts(&name).1 == ANY && let Some(address) = name.get_mut(2..6) {
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
                shown.extend(address);
                shown.resize(INTERNET_SIZE, 0);
            }
        }
        shown
    }
}

/// The name of a socket of the internet: a letter, its protocol, address and port.
pub fn internet_name(kind: u64, address: [u8; 4], port: u16) -> Vec<u8> {
    let mut name = [b'i', kind as u8].to_vec();
    name.extend(address);
    name.extend(port.to_be_bytes());
    name
}

/// Returns true for a name that [`internet_name`] makes.
pub fn is_internet_name(name: &[u8]) -> bool {
    matches!(name, [b'i', 1 | 2, _, _, _, _, _, _])
}

fn internet_parts(name: &[u8]) -> (u16, [u8; 4]) {
    match name {
        [b'i', _, a, b, c, d, high, low] => (u16::from_be_bytes([*high, *low]), [*a, *b, *c, *d]),
        _ => (0, ANY),
    }
}
