//! Options of a socket.

use crate::abi::errno::Errno;
use crate::abi::socket_flags::{SO_BROADCAST, SO_DEBUG, SO_DONTROUTE, SO_KEEPALIVE, SO_OOBINLINE, SO_PASSCRED, SO_REUSEADDR, SO_REUSEPORT};
use crate::abi::socket_flags::SO_TIMESTAMP;

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
    /// Options of TCP and IP, which change nothing here.
    pub no_delay: u32,
    /// Result of a connection that the program did not wait for, until it asks.
    pub begun: Option<Begun>,
    /// True once a socket of datagrams is known to have an address.
    pub is_named: bool,
    /// True if a socket of version 6 takes no part in version 4.
    pub is_version_6_only: bool,
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
