//! Bytes that the library's heap must be able to give before something is made that stays, once
//! memory was short. What is left serves what is needed for a moment.

/// Bytes for a call that makes something.
pub const CALL: usize = 32 << 10;
/// Bytes for one more part of the program's memory. A call can make many.
pub const PART: usize = 8 << 10;
