//! State of a terminal, as far as the process knows it.

/// Knowledge of a file as a terminal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TerminalState {
    /// Unknown: the library has not asked.
    #[default]
    Nothing,
    /// File that is no terminal.
    NoTerminal,
    /// Terminal with this device number.
    Device(u64),
}
