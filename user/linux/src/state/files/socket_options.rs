//! Options of a socket.

use crate::abi::errno::Errno;
use crate::abi::socket_flags::{SO_BROADCAST, SO_DEBUG, SO_DONTROUTE, SO_KEEPALIVE, SO_OOBINLINE, SO_PASSCRED, SO_REUSEADDR, SO_REUSEPORT};
use crate::abi::socket_flags::{IPV6_RECVHOPLIMIT, IPV6_RECVPKTINFO, IPV6_RECVTCLASS, IPV6_TCLASS, IPV6_UNICAST_HOPS, SOL_IP, SOL_IPV6, SOL_TCP, SO_TIMESTAMP};
use crate::abi::socket_flags::{IP_MTU_DISCOVER, IP_PKTINFO, IP_RECVTOS, IP_RECVTTL, IP_TOS, IP_TTL};
use crate::abi::socket_flags::{TCP_CORK, TCP_KEEPCNT, TCP_KEEPIDLE, TCP_KEEPINTVL, TCP_MAXSEG, TCP_NODELAY, TCP_QUICKACK, TCP_USER_TIMEOUT};

/// Options of a socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// One bit for each of the switches.
    switches: u32,
    /// Sizes of the buffers for sending and receiving; 0: as they are at first.
    pub buffers: [u32; 2],
    /// Time limits of receiving and sending in nanoseconds; 0 for ever.
    pub limits: [u64; 2],
    /// Linger option: 1 if closing waits until the rest is sent, and for how many seconds.
    pub linger: [u32; 2],
    pub priority: u32,
    pub least: u32,
    /// Options of TCP and IP that were set. Those that ask for control messages bring them; others
    /// change nothing here.
    internet: [Option<u32>; KEPT.len()],
    /// Result of a connection that the program did not wait for, until it asks.
    pub begun: Option<Begun>,
    /// True once a socket of datagrams is known to have an address.
    pub is_named: bool,
    /// True if a socket of version 6 takes no part in version 4.
    pub is_version_6_only: bool,
    /// True if the program has chosen `reno` for how congestion is met.
    pub is_reno: bool,
}

impl Options {
    /// Returns true if waits have a limit.
    pub fn has_limits(self) -> bool {
        self.limits != [0; 2]
    }

    /// The options of a socket that is known to have an address.
    pub fn named(self) -> Options {
        Options { is_named: true, ..self }
    }

    /// Returns the options with another result of a connection.
    pub fn with(self, begun: Option<Begun>) -> Options {
        Options { begun, ..self }
    }

    /// Returns true if a connection that the program did not wait for has failed.
    pub fn has_failed(self) -> bool {
        matches!(self.begun, Some(Begun::Failed(_)))
    }

    /// The value of an option of TCP or IP; of those that are not known it is 0.
    pub fn internet(self, level: u32, option: u32) -> u32 {
        place(level, option).map_or(0, |index| self.internet[index].unwrap_or(KEPT[index].2))
    }

    /// Keeps the value of an option of TCP or IP, if it is known.
    pub fn set_internet(&mut self, level: u32, option: u32, value: u32) -> Result<(), Errno> {
        const DEFAULT: u32 = u32::MAX;
        let Some(index) = place(level, option) else { return Ok(()) };
        let (allowed, has_default) = match (level, option) {
            (SOL_TCP, TCP_KEEPIDLE | TCP_KEEPINTVL) => (1..=32_767, false),
            (SOL_TCP, TCP_KEEPCNT) => (1..=127, false),
            (SOL_TCP, TCP_MAXSEG) if value != 0 => (88..=32_767, false),
            (SOL_TCP, TCP_USER_TIMEOUT) => (0..=i32::MAX as u32, false),
            (SOL_IP, IP_TTL) => (1..=255, true),
            (SOL_IPV6, IPV6_UNICAST_HOPS | IPV6_TCLASS) => (0..=255, true),
            (SOL_IP, IP_MTU_DISCOVER) => (0..=5, false),
            _ => (0..=u32::MAX, false),
        };
        self.internet[index] = match value {
            DEFAULT if has_default => None,
            value if !allowed.contains(&value) => return Err(Errno::EINVAL),
            value if level == SOL_TCP && [TCP_NODELAY, TCP_CORK].contains(&option) => Some(u32::from(value != 0)),
            value if ASKS.contains(&(level, option)) => Some(u32::from(value != 0)),
            value if (level, option) == (SOL_IP, IP_TOS) => Some(value & 0xff),
            value => Some(value),
        };
        Ok(())
    }

    /// Returns true if the program asked for a control message with each datagram.
    pub fn asks(self, level: u32, option: u32) -> bool {
        self.internet(level, option) != 0
    }

    pub fn switch(self, option: u32) -> Option<u32> {
        let index = SWITCHES.iter().position(|other| *other == option)?;
        Some(self.switches >> index & 1)
    }

    pub fn set_switch(&mut self, option: u32, on: bool) {
        if let Some(index) = SWITCHES.iter().position(|other| *other == option) {
            self.switches = self.switches & !(1 << index) | u32::from(on) << index;
        }
    }
}

/// Options of TCP and IP that are kept: level, number, and value at first (tcp(7), ip(7), ipv6(7)).
const KEPT: [(u32, u32, u32); 19] = [
    (SOL_TCP, TCP_NODELAY, 0),
    (SOL_TCP, TCP_CORK, 0),
    (SOL_TCP, TCP_KEEPIDLE, 7200),
    (SOL_TCP, TCP_KEEPINTVL, 75),
    (SOL_TCP, TCP_KEEPCNT, 9),
    (SOL_TCP, TCP_MAXSEG, 0),
    (SOL_TCP, TCP_QUICKACK, 1),
    (SOL_TCP, TCP_USER_TIMEOUT, 0),
    (SOL_IP, IP_TOS, 0),
    (SOL_IP, IP_TTL, 64),
    (SOL_IP, IP_RECVTTL, 0),
    (SOL_IP, IP_RECVTOS, 0),
    (SOL_IP, IP_PKTINFO, 0),
    (SOL_IP, IP_MTU_DISCOVER, 1),
    (SOL_IPV6, IPV6_UNICAST_HOPS, 64),
    (SOL_IPV6, IPV6_TCLASS, 0),
    (SOL_IPV6, IPV6_RECVPKTINFO, 0),
    (SOL_IPV6, IPV6_RECVHOPLIMIT, 0),
    (SOL_IPV6, IPV6_RECVTCLASS, 0),
];

/// Options that ask for a control message with each datagram.
const ASKS: [(u32, u32); 6] = [
    (SOL_IP, IP_PKTINFO),
    (SOL_IP, IP_RECVTTL),
    (SOL_IP, IP_RECVTOS),
    (SOL_IPV6, IPV6_RECVPKTINFO),
    (SOL_IPV6, IPV6_RECVHOPLIMIT),
    (SOL_IPV6, IPV6_RECVTCLASS),
];

/// Place of an option of TCP or IP among those that are kept.
fn place(level: u32, option: u32) -> Option<usize> {
    KEPT.iter().position(|(known, number, _)| (*known, *number) == (level, option))
}

/// Options that are kept, and are 0 or 1.
pub const SWITCHES: [u32; 9] = [SO_DEBUG, SO_REUSEADDR, SO_DONTROUTE, SO_BROADCAST, SO_KEEPALIVE, SO_OOBINLINE, SO_REUSEPORT, SO_PASSCRED, SO_TIMESTAMP];

/// A connection that `connect` did not wait for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begun {
    /// Connected: the next `connect` says so.
    Made,
    /// Refused: the error is returned once.
    Failed(Errno),
}
