//! Manifest of `files`.

use nacre_manifest::{Choice, Manifest, Programs, Value};

/// Manifest of this monitor.
pub const MANIFEST: Manifest = Manifest {
    name: "files",
    summary: "Runs PROGRAM over a private layer of files: it finds those of the world around it, and what it makes, changes and removes stays in this monitor's memory, and goes with it.",
    programs: Programs::One,
    options: &[Choice::new("-m", Value::Text("SIZE"), "memory for the layer: bytes, or with K, M or G (a quarter of what is left)")],
    notes: "\
Processes need a manager within:
  nacre run --root-overlay / files process sh -c 'rm -r /etc; [ -e /etc ] || echo gone'
",
    hands_on: "All that its program asks for, as its parent gives it, but files. Devices are its parent's.",
};
