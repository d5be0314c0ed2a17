//! x of a file are told.up that hears of its events.

/// Owner of a file, which gets signals on events.
#[derive(Clone, Copy, Debug, Default)]
pub struct Owner {
    /// A process, or less than 0: a group; 0: nobody.
    pub owner: i32,
    /// The signal; 0: `SIGIO`.
    pub signal: u8,
    /// Counts of arrivals and departures when a signal was last sent.
    pub changes: [u64; 2],
}
