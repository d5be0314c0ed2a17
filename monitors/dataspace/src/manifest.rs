//! Manifest of `dataspace`.

use nacre_manifest::{Choice, Manifest, Programs, Value};

/// Manifest of this monitor.
pub const MANIFEST: Manifest = Manifest {
    name: "dataspace",
    summary: "Runs PROGRAM on memory of MANAGER: anonymous, coloured, compressed, file, persistent, physical or pinned. Programs can take memory of other managers, and move it between them.",
    programs: Programs::Behind("MANAGER"),
    options: &[
        Choice::new("-m", Value::Text("SIZE"), "frames of anonymous, compressed, persistent and file memory each: bytes, or with K, M or G (16M)"),
        Choice::new("--quota", Value::Text("SIZE"), "memory that may be pinned, and that of physical and of coloured memory (16M)"),
        Choice::new("--with", Value::Text("MANAGER"), "serve physical, coloured or file memory, too"),
        Choice::new("--colours", Value::Text("FIRST-LAST/ALL"), "colours of coloured memory, which is served then (0-3/16); ALL is a power of two up to 1,024"),
        Choice::new("--window", Value::Text("FILE"), "file that shows a device, such as /dev/hpet; device memory is served then"),
        Choice::new("--compressed", Value::Text("SIZE"), "most bytes of compressed pages of anonymous memory, before others go further"),
        Choice::new("--backing", Value::Text("FILE"), "file for pages of anonymous memory that find no room compressed"),
        Choice::new("--store", Value::Text("FILE"), "file of persistent memory, such as /dev/store"),
        Choice::new("--over", Value::Text("MANAGER"), "frames are dataspaces of this manager of the layer below"),
        Choice::new("--chaos", Value::Text("SEED"), "besides, pages go by chance, after every touch; SEED is a number"),
        Choice::new("--stats", Value::None, "tell at the end what each manager did"),
    ],
    notes: "",
    hands_on: "All but pools of memory, which are the monitor's own.",
};
