//! The identity of a machine (Microsoft's "Virtual Machine Generation ID"): 16 bytes in a page of
//! their own, which are others in each copy of the machine, and an event that says so. A system
//! that finds others than before knows that somebody else has its random numbers.

/// Address of the identity: memory that no memory map of a guest names, in a page of its own.
pub const IDENTITY: u64 = 0xe_f000;
/// Size of the identity in bytes.
pub const IDENTITY_SIZE: usize = 16;
