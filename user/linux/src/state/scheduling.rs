//! Policy and priority.

pub const OTHER: u64 = 0;

/// Policy and priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// Scheduling policy.
    pub policy: u64,
    /// Priority.
    pub priority: u64,
    /// 20 less the nice value, without a manager that keeps it; 0: as it was at first.
    pub own: u64,
    /// Class and level of input and output, as `ioprio_set` takes them.
    pub io: u16,
}
