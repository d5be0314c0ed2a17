//! State of the tracer that we start ourselves.

use nacre_control::Command;

/// The tracer that we have started.
#[derive(Default)]
pub struct Tracing {
    /// Number of its process; 0: there is none.
    pub pid: u64,
    /// Command that those within are asked for.
    pub asked: Option<Command>,
    /// Command that waits until the tracer attends.
    pub waiting: Option<Command>,
}
