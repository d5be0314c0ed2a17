//! A page that a thread waits for, because a user-fault file has to bring it or let it be written.

/// A message that the file is told, and whether it was.
#[derive(Clone, Copy, Debug)]
pub struct AwaitedPage {
    /// Number of the file.
    pub file: u64,
    /// Address that was used.
    pub address: u64,
    /// Flags of the file's message.
    pub flags: u64,
    /// Number of the wait: whoever began first is told of first.
    pub order: u64,
    /// The file has been told.
    pub is_told: bool,
    /// The file has woken the thread.
    pub is_woken: bool,
}
