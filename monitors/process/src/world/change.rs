//! Changes of a process's state that its parent can wait for.

/// Change of a child's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The child has ended, with this status as `wait4` tells it.
    Ended(u64),
    /// Child stopped by this signal.
    Stopped(u64),
    /// The child continued.
    Continued,
}

impl Change {
    /// Returns the change as `wait4` tells it.
    pub fn status(self) -> u64 {
        match self {
            Change::Ended(status) => status,
            Change::Stopped(signal) => signal << 8 | 0x7f,
            Change::Continued => 0xffff,
        }
    }
}
