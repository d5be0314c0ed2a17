//! The server's side of the Common Protocols, one file a protocol.

mod chore;
mod clock;
mod control;
mod directory;
mod driver;
mod file;
mod host_port;
mod memory;
mod lock;
mod machine_memory;
mod nic;
mod parent;
mod promise;
mod share;
mod source;
pub use source::Sources;
mod terminal;

pub use directory::two_paths;
pub use file::{part, status_bytes};
