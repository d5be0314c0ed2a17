//! Limits: how many processes and threads there may be.

/// Maximum number of processes that a maker has created and that have not begun.
pub(super) const MAX_FRESH: usize = 64;

/// Maximum numbers of a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Processes, those that have ended and not been waited for included.
    pub processes: usize,
    /// Threads, the first of each process included.
    pub threads: usize,
}
