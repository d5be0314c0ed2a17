//! Manifest of `checkpoint`.

use nacre_manifest::{Choice, Manifest, Programs, Value};

/// Manifest of this monitor.
pub const MANIFEST: Manifest = Manifest {
    name: "checkpoint",
    summary: "Runs PROGRAM so that all of it can be copied, or frozen into a file and go on elsewhere: threads, memory, processes, pipes, and files that it has changed.",
    programs: Programs::Optional,
    options: &[
        Choice::new("-o", Value::Output("FILE"), "write images to FILE; each takes the place of the one before"),
        Choice::new("--keep", Value::Kept("N"), "let N images stay: FILE, the one before as FILE.1, and so on (1)"),
        Choice::new("--after", Value::Text("SECONDS"), "freeze once, so many seconds after the start (may have a fraction)"),
        Choice::new("--every", Value::Text("SECONDS"), "freeze again and again"),
        Choice::new("--key", Value::None, "freeze whenever Ctrl-\\ is typed"),
        Choice::new("--fork", Value::Text("N"), "make N copies then, which run beside the program"),
        Choice::new("--end", Value::None, "end when the first image is written"),
        Choice::new("-m", Value::Text("SIZE"), "memory of the environment: bytes, or with K, M or G (a quarter of what is left)"),
        Choice::new("--stats", Value::None, "tell of each freeze what it took"),
        Choice::new("--thaw", Value::Input("FILE"), "go on with the environment of an image, instead of running PROGRAM"),
        Choice::new("--hold", Value::None, "the environment of the image stands still until a command lets it go on, as `nacre receive` gives it"),
        Choice::new("--warm", Value::Text("TEXT"), "let a copy of the image's environment run, which reads TEXT, a newline and the end; again: one after the other"),
    ],
    notes: "",
    hands_on: "Nothing: all that the program knows is the monitor's own.",
};
