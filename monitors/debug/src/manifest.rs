//! Manifest of `debug`.

use nacre_manifest::{Choice, Manifest, Programs, Value};

/// Manifest of this monitor.
pub const MANIFEST: Manifest = Manifest {
    name: "debug",
    summary: "Runs PROGRAM so that gdb can attach to it from outside: nacre run --gdb PORT debug PROGRAM. The program waits before its first instruction until gdb lets it go on.",
    programs: Programs::Optional,
    options: &[
        Choice::new("--run", Value::None, "do not wait for gdb"),
        Choice::new("--record", Value::Output("FILE"), "write what crosses the boundary of the program to FILE"),
        Choice::new("--replay", Value::Input("FILE"), "run the program of the recording FILE again, and nobody outside is asked"),
        Choice::new("-q", Value::None, "do not say that there is no line for a debugger"),
    ],
    notes: "",
    hands_on: "Regions and other objects that are no ports.",
};
