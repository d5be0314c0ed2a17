//! Manifest of `network`.

use nacre_manifest::{Choice, Manifest, Programs, Value};

/// Manifest of this monitor.
pub const MANIFEST: Manifest = Manifest {
    name: "network",
    summary: "Runs the program with sockets of the internet, over the network card that it has itself (nacre run --net user).",
    programs: Programs::One,
    options: &[
        Choice::new("--address", Value::Text("A.B.C.D/N"), "address of the machine, and leading bits that all on the wire have alike (as the wire gives it by DHCP, or 10.0.2.15/24 if nobody does so within a quarter of a second)"),
        Choice::new("--gateway", Value::Text("A.B.C.D"), "address of whoever reaches all others, or none (as the wire gives it, or 10.0.2.2)"),
        Choice::new("--version-6", Value::None, "ask routers on the wire for an address of version 6; no socket reaches outside by that version without it"),
        Choice::new("--connections", Value::Text("N"), "number of TCP connections at once, each with 128 KiB of memory (256)"),
    ],
    notes: "\
Without a card it says so and does not run the program.
  nacre run --net user python3 -c 'import urllib.request as u; print(u.urlopen(\"http://10.0.2.2:8000/\").read())'
",
    hands_on: "All that its program asks for, as its parent gives it, but sockets of the internet.",
};
