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
        Choice::new("-e", Value::Text("LIST"), "show these operations alone: read, file, file.read, or as strace has them (trace=openat,%network), with commas between; !LIST: all others; status=failed: errors alone"),
        Choice::new("-z", Value::None, "show what succeeds alone"),
        Choice::new("-Z", Value::None, "show what fails alone"),
        Choice::new("-f", Value::None, "children are traced; they always are"),
        Choice::new("-t", Value::None, "begin lines with the time of day"),
        Choice::new("-tt", Value::None, "begin lines with the time of day, with microseconds"),
        Choice::new("-ttt", Value::None, "begin lines with the seconds since 1970, with microseconds"),
        Choice::new("-r", Value::None, "begin lines with the time since the line before"),
        Choice::new("-T", Value::None, "end lines with the time that the answer took"),
        Choice::new("-o", Value::Output("FILE"), "write the lines to FILE; if its name ends with .json, a trace that Perfetto and chrome://tracing open"),
        Choice::new("-A", Value::None, "write behind what FILE has, as tracers do that write one file at the same time"),
        Choice::new("-s", Value::Text("N"), "show at most N bytes of each piece of data (32)"),
    ],
    notes: "",
    hands_on: "Regions and other objects that are no ports.",
};
