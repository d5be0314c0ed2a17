//! x of a file are told.up that hears of its events.

/// Who is told of a file, and how.
#[derive(Clone, Copy, Debug, Default)]
pub struct Owner {
    /// A process, or less than 0: a group; 0: nobody.
    pub owner: i32,
    /// The signal; 0: `SIGIO`.
    pub signal: u8,
    /// How often something had come and gone when that was last told.
    pub changes: [u64; 2],
}
