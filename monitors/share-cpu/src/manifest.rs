//! Manifest of `share-cpu`.

use nacre_manifest::{Choice, Manifest, Programs, Value};

/// Manifest of this monitor.
pub const MANIFEST: Manifest = Manifest {
    name: "share-cpu",
    summary: "Runs the programs beside each other, and divides the CPU time that it has itself among them. Its status is the first one's.",
    programs: Programs::Several,
    options: &[
        Choice::new("--policy", Value::Text("NAME"), "how: stride (the default), lottery, round-robin, priority"),
        Choice::new("--processors", Value::Text("N"), "number of processors on which they run at once, which must be there (1)"),
        Choice::of_program("--weight", Value::Text("N"), "share of the program that follows, beside those of the others (1)"),
        Choice::of_program("--priority", Value::Text("N"), "priority of the program that follows: the highest has all that it wants (0)"),
    ],
    notes: "\
A word :: is handed on as :, ::: as ::, and so on: they belong to a share-cpu that is run by this one.
  share-cpu --weight 3 sh -c 'while :; do :; done' : sh
",
    hands_on: "All that its programs ask for, as its parent gives it.",
};
