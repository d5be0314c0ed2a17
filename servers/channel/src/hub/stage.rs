//! How far a socket is with its connection.

use alloc::collections::VecDeque;

/// Connection state of a socket.
#[derive(Debug, PartialEq, Eq)]
pub enum Stage {
    /// A pipe's end, or a socket that has neither a queue to send to nor anybody who connects.
    Plain,
    /// Listening: connections that were not accepted yet, and how many may wait.
    Listening(VecDeque<u64>, usize),
    /// Connected to this end, which may have gone; for datagrams where they go.
    Connected(u64),
    /// Waiting for an answer from outside this machine.
    Connecting,
    /// Datagrams go to, and come from, an address outside this machine.
    Outside,
    /// Datagrams go to a port of this machine that nobody had when it was named.
    Absent,
}
