//! Options of a socket.

use crate::abi::errno::Errno;
use crate::abi::socket_flags::{SO_BROADCAST, SO_DEBUG, SO_DONTROUTE, SO_KEEPALIVE, SO_OOBINLINE, SO_PASSCRED, SO_REUSEADDR, SO_REUSEPORT};
use crate::abi::socket_flags::SO_TIMESTAMP;

/// What has been set of a socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// One bit for each of the switches.
    switches: u32,
    /// Sizes of the buffers for sending and receiving; 0: as they are at first.
    pub buffers: [u32; 2],
    /// How long to wait to receive, and to send, in nanoseconds; 0: for ever.
    pub limits: [u64; 2],
    /// Whether the rest is sent when it is closed, and how many seconds that may take.
    pub linger: [u32; 2],
    pub priority: u32,
    pub least: u32,
    /// Options of TCP and IP, which change nothing here.
    pub no_delay: u32,
    /// What became of a connection that was not waited for, until somebody asks.
    pub begun: Option<Begun>,
    /// True once a socket of datagrams is known to have an address.
    pub is_named: bool,
}

impl Options {
    /// Whether waits have a limit.
    pub fn has_limits(self) -> bool {
        self.limits != [0; 2]
    }

    /// The options of a socket that is known to have an address.
    pub fn named(self) -> Options {
        Options { is_named: true, ..self }
    }

    /// The same with what became of a connection.
    pub fn with(self, begun: Option<Begun>) -> Options {
        Options { begun, ..self }
    }

    /// Whether there is an error to be told of a connection that was not waited for.
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
    /// It is there: the next `connect` says so.
    Made,
    /// It was refused: this error is told once.
    Failed(Errno),
}
