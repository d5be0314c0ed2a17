//! Runs of blocks of a file.

/// Blocks of a file that follow each other there and on the volume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// First block of the volume; `None`: the run is a hole.
    pub physical: Option<u64>,
    /// True if the blocks hold data; else they read as zeros.
    pub is_written: bool,
    /// Number of blocks.
    pub count: u32,
}
