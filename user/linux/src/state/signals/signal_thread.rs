//! Port of the thread that receives signals and events.

use nacre_sys::{OwnedPort, OwnedReference};

/// What the process has of its agent.
pub struct Agent {
    pub port: OwnedPort,
    pub reference: OwnedReference,
    /// The process's exceptions come to it.
    pub keeps: bool,
}
