//! The system's name.

use alloc::vec::Vec;
use nacre_proto::process as manager;
use nacre_sys::Reference;

/// Bytes of a name as `uname` has it, with a zero behind it.
pub const FIELD: usize = 65;
/// Fixed parts of the system's name.
pub const SYSTEM_NAME: &str = "Linux";
pub const RELEASE: &str = "6.1.0-nacre";
pub const VERSION: &str = "#1 Nacre";
pub const MACHINE: &str = "x86_64";
/// The names without a manager.
const ALONE: [&[u8]; 2] = [b"nacre", b"(none)"];

/// The name of the host and that of its domain.
pub fn names() -> [Vec<u8>; 2] {
    let mut bytes = [0; 2 * FIELD];
    let found = manager::system_names(Reference::PARENT, &mut bytes[..]).ok();
    let parts = found.and_then(|found| bytes.get(..found.names)?.split_at_checked(found.host as usize));
    parts.map_or(ALONE.map(Vec::from), |(host, domain)| [host, domain].map(Vec::from))
}
