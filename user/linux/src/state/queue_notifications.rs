//! Message queues that notify the process.

use crate::state::files::open_file::OpenFile;
use alloc::rc::Rc;

/// Bytes that tell a thread of the C library for whom a message is; the last one says what has
/// happened.
pub const COOKIE: usize = 32;

/// Effect of a message's arrival.
pub enum Effect {
    /// Does nothing.
    Nothing,
    /// A signal, with a value.
    Signal(u64, u64),
    /// A cookie comes out of a socket.
    Cookie(Rc<OpenFile>, [u8; COOKIE]),
}

/// The process is to be told of a queue's next message.
pub struct Expected {
    pub number: u64,
    pub file: Rc<OpenFile>,
    pub effect: Effect,
}

/// Bit for the agent: there may be a message of which the process is to be told.
pub const MAIL: u64 = 4;
