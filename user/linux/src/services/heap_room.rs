//! Bytes that the library's heap must be able to give before something is made that stays, once
//! memory was short. What is left serves what is needed for a moment.

/// For a call that makes something.
pub const CALL: usize = 32 << 10;
/// For one more part of the program's memory, which may be one of many of a call's.
pub const PART: usize = 8 << 10;
