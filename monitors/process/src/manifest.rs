//! Manifest of `process`.

use nacre_manifest::{Choice, Manifest, Programs, Value};

/// Manifest of this monitor.
pub const MANIFEST: Manifest = Manifest {
    name: "process",
    summary: "\
Runs a program as the first process of a world of processes: it and its children can fork, run programs, wait, and send signals.
When it ends all of them end; its status is the status.",
    programs: Programs::One,
    options: &[
        Choice::new("--processes", Value::Text("N"), "limit of processes at a time (512)"),
        Choice::new("--threads", Value::Text("N"), "limit of threads at a time (4096)"),
    ],
    notes: "",
    hands_on: "Files, clock and memory for data, as its parent gives them.",
};
