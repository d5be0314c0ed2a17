//! Family and kind of a socket.

use crate::abi::file_flags::{FOREIGN, O_NONBLOCK, O_RDWR, S_IFMT, S_IFSOCK};
use crate::state::files::open_file::{Kind, OpenFile};
use crate::state::files::socket_family::Family;
use nacre_proto::channel::{ECHO, MESSAGES};
use nacre_proto::flags::{SOCK_DGRAM, SOCK_STREAM};
use nacre_sys::OwnedReference;

/// Bits of a type that say what kind of socket it is.
pub const TYPE: u64 = 0xf;
/// First bit of the socket's kind in an open file's mode.
const KIND_SHIFT: u32 = 16;
/// Bit of an open file's mode: an internet socket.
const INTERNET: u32 = 1 << 24;
/// Bit of an open file's mode, beside that: one of version 6.
const VERSION_6: u32 = 1 << 30;
/// Bit of an open file's mode: a netlink socket, to which only the system sends.
pub const NETLINK: u32 = 1 << 25;
/// Bit of an open file's mode, beside that: a netlink socket that tells of sockets.
pub const OF_SOCKETS: u32 = 1 << 28;
/// Bit of an open file's mode, beside that of an internet socket: one of ICMP.
const ICMP: u32 = 1 << 29;
// A fork and a message with descriptors take that bit away.
const _: () = assert!((INTERNET | VERSION_6 | NETLINK | OF_SOCKETS | ICMP) & FOREIGN == 0);
/// Linux's number of a kind of socket that names the protocol itself. Here only ICMP has such ones.
pub const SOCK_RAW: u64 = 3;
/// Modes of open files that are sockets, for tests: a local stream, and datagrams of the internet.
#[cfg(feature = "rehearsal")]
pub const REHEARSED: [u32; 2] = [S_IFSOCK | 1 << KIND_SHIFT, S_IFSOCK | 2 << KIND_SHIFT | INTERNET];

/// Family and kind of a socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Socket {
    /// Address family.
    pub family: Family,
    /// `SOCK_STREAM` and its like.
    pub kind: u64,
    /// Set for a socket of ICMP: of datagrams, or raw.
    pub is_icmp: bool,
}

impl Socket {
    /// The socket that an open file is.
    pub fn of(file: &OpenFile) -> Option<Socket> {
        if file.mode.get() & S_IFMT != S_IFSOCK {
            return None;
        }
        let family = match file.mode.get() & (INTERNET | VERSION_6) {
            0 => Family::Local,
            INTERNET => Family::Internet,
            _ => Family::Internet6,
        };
        Some(Socket { family, kind: u64::from(file.mode.get() >> KIND_SHIFT & TYPE as u32), is_icmp: file.mode.get() & ICMP != 0 })
    }

    /// Returns true if the socket keeps messages apart.
    pub fn has_messages(self) -> bool {
        self.kind != SOCK_STREAM
    }

    /// Returns true for a socket that hears all messages of ICMP.
    pub fn is_raw(self) -> bool {
        self.is_icmp && self.kind == SOCK_RAW
    }

    /// Kind of socket that the service knows.
    pub fn kind_of_service(self) -> u64 {
        if self.is_icmp { SOCK_DGRAM } else { self.kind }
    }

    /// Kind in the names of such sockets of the internet.
    pub fn kind_of_name(self) -> u64 {
        match self.is_icmp {
            true if self.is_raw() => MESSAGES.into(),
            true => ECHO.into(),
            false => self.kind,
        }
    }

    /// Linux's number of its protocol.
    pub fn protocol(self) -> u32 {
        match (self.family, self.kind) {
            (Family::Local, _) => 0,
            _ if self.is_icmp => 1,
            (_, SOCK_STREAM) => 6,
            _ => 17,
        }
    }

    /// Mode of an open file that is such a socket.
    pub fn mode(self) -> u32 {
        let internet = match self.family {
            Family::Local => 0,
            Family::Internet => INTERNET,
            Family::Internet6 => INTERNET | VERSION_6,
        };
        let icmp = if self.is_icmp { ICMP } else { 0 };
        S_IFSOCK | icmp | 0o777 | ((self.kind & TYPE) as u32) << KIND_SHIFT | internet
    }

    /// An open file that is such a socket.
    pub fn open(self, reference: OwnedReference, flags: u64) -> OpenFile {
        OpenFile::new(Kind::Remote(reference), self.mode(), O_RDWR | flags as u32 & O_NONBLOCK)
    }
}

/// Returns true for a netlink socket that tells of sockets.
pub fn asks_of_sockets(file: &OpenFile) -> bool {
    file.mode.get() & OF_SOCKETS != 0
}

/// Returns true for a netlink socket.
pub fn is_netlink(file: &OpenFile) -> bool {
    file.mode.get() & (S_IFMT | NETLINK) == S_IFSOCK | NETLINK
}
