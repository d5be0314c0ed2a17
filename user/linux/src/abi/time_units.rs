//! Clocks, and nanoseconds of larger units.

/// Clock that tells the date.
pub const REALTIME: u64 = 0;
/// Clock that never goes back.
pub const MONOTONIC: u64 = 1;
/// Nanoseconds.
pub const SECOND: u64 = 1_000_000_000;
/// Nanoseconds.
pub const MICROSECOND: u64 = 1000;
