//! Port of the thread that receives signals and events.

use nacre_sys::{OwnedPort, OwnedReference};

/// State of the process's signal thread.
pub struct SignalThread {
    pub port: OwnedPort,
    pub reference: OwnedReference,
    /// The process's exceptions come to it.
    pub keeps: bool,
}
