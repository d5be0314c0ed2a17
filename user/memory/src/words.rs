//! Words of ports: the key of a pool, a dataspace or an attachment, and what a reference allows.

/// The reference shares something that others own: it cannot destroy it.
pub const SHARED: u64 = 1 << 62;
/// Through this reference to a pool comes no memory for kernel objects.
pub const DATA: u64 = 1 << 61;
/// The dataspace can only be read through this reference.
pub const READ: u64 = 1 << 60;

/// Through this reference to a pool no dataspace is found by its name, nor given one.
pub const NAMELESS: u64 = 1 << 59;

/// The key in a port's word.
pub fn key(word: u64) -> u64 {
    word & !(SHARED | DATA | READ | NAMELESS)
}
