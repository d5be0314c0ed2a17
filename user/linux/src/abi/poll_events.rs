//! Events of `poll`.

/// Something can be read.
pub const POLLIN: u64 = 1;
pub const POLLPRI: u64 = 2;
/// Something can be written.
pub const POLLOUT: u64 = 4;
/// Something is wrong.
pub const POLLERR: u64 = 8;
pub const POLLHUP: u64 = 0x10;
pub const POLLNVAL: u64 = 0x20;
/// Events that poll reports even if the caller does not ask for them.
pub const ALWAYS: u64 = POLLERR | POLLHUP;
