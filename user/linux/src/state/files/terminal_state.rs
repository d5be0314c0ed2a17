//! State of a terminal, as far as the process knows it.

/// What is known of a file as a terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Known {
    /// Nobody has asked.
    #[default]
    Nothing,
    /// It is none.
    NoTerminal,
    /// It is this device.
    Device(u64),
}
