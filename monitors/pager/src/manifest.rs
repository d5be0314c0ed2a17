//! Manifest of `pager`.

use nacre_manifest::{Choice, Manifest, Programs, Value};

/// Manifest of this monitor.
pub const MANIFEST: Manifest = Manifest {
    name: "pager",
    summary: "Runs PROGRAM on less memory than it uses: pages come when they are touched, and go when others need their place.",
    programs: Programs::One,
    options: &[
        Choice::new("-m", Value::Text("SIZE"), "memory for pages that are there: bytes, or with K, M or G (16M); less than 256K is 256K"),
        Choice::new("--backing", Value::Text("compress|parent|FILE"), BACKING),
        Choice::new("--backing-size", Value::Text("SIZE"), "limit of the backing (half of the memory that is left; 64M of a file)"),
        Choice::new("--policy", Value::Text("clock|fifo|random"), "choice of the page that goes: not used since (clock, the default), oldest, any"),
        Choice::new("--chaos", Value::Text("SEED"), "besides, pages go by chance, after every touch; SEED is a number"),
        Choice::new("--stats", Value::None, "tell at the end what happened"),
    ],
    notes: "",
    hands_on: "All but pools of memory, which are the pager's own.",
};

const BACKING: &str = "\
place of pages that go: made smaller and kept in memory (compress, the default),
in memory that the monitor outside may page in its turn (parent),
or in this file, whose path has a slash";
