//! Manifest of `trace`.

use nacre_manifest::{Choice, Manifest, Programs, Value};

/// Manifest of this monitor.
pub const MANIFEST: Manifest = Manifest {
    name: "trace",
    summary: "Runs PROGRAM and shows every message that crosses into or out of it, one a line, on the standard error.",
    programs: Programs::One,
    options: &[
        Choice::new("-c", Value::None, "instead of the lines, print at the end what each operation cost"),
        Choice::new("-q", Value::None, "show nothing at all: forward only"),
        Choice::new("-e", Value::Text("LIST"), "show these operations alone: read, file, file.read, with commas between; !LIST: all others"),
        Choice::new("-o", Value::Output("FILE"), "write the lines to FILE; if its name ends with .json, a trace that Perfetto and chrome://tracing open"),
        Choice::new("-s", Value::Text("N"), "show at most N bytes of each piece of data (32)"),
    ],
    notes: "",
    hands_on: "Regions and other objects that are no ports.",
};
