//! Manifest of `guard`.

use nacre_manifest::{Choice, Manifest, Programs, Value};

/// Manifest of this monitor.
pub const MANIFEST: Manifest = Manifest {
    name: "guard",
    summary: "Runs PROGRAM and lets it do only what rules allow. What no rule allows is denied; a rule that denies wins over those that allow.",
    programs: Programs::One,
    options: &[
        Choice::new("--allow", Value::Text("RULE"), ALLOW),
        Choice::new("--deny", Value::Text("RULE"), "deny it"),
        Choice::new("--policy", Value::Input("FILE"), "rules from a file: lines `allow RULE` and `deny RULE`"),
        Choice::new("--audit", Value::Output("FILE"), "write every decision to FILE as a line of JSON; - is the standard error"),
        Choice::new("--limit", Value::Text("KIND=N"), LIMIT),
    ],
    notes: "\
In a PATTERN * is any part of a name, ** anything, and a /** at the end a directory with all below it.
  guard --allow console --allow memory --allow 'read /bin/**' --deny 'file.read /bin/su' ls /bin
",
    hands_on: "References for which the rules allow every call, and on all that those calls bring.",
};

const ALLOW: &str = "\
allow what RULE names: `PROTOCOL.CALL [PATTERN]`, `PROTOCOL.*`, `*`,
or a group: console, memory, memory:named, clock, report, process, channel, read [PATTERN], write [PATTERN],
connect [PATTERN], listen [PATTERN] (as 'connect tcp 10.0.2.2:80', 'listen tcp :8080');
beyond what the program makes itself: console-control, terminals, process:outside, channel:outside";

const LIMIT: &str = "\
let PROGRAM, with all that it runs, take so much and no more:
memory=SIZE, files=N that are open, storage=SIZE of contents and names of files (SIZE: with K, M or G),
below `process` processes=N with threads, and over a network around it: connections=N, bytes-in=SIZE, bytes-out=SIZE";
