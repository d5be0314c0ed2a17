//! Argument of every measurement on Linux.

/// Path of this program, for the measurements.
pub struct Context {
    /// Path of this program, which some measurements start again.
    pub path: &'static [u8],
}
