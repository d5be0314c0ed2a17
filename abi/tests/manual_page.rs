//! Writes `doc/manual/calls.md` from the manual's data, and fails when the page in the tree is
//! another. `UPDATE=1 cargo test -p nacre-abi` renews it.

use nacre_abi::manual::{CHAPTERS, Entry, Failure};
use nacre_abi::status::Code;
use std::fmt::Write;

const HEAD: &str = "# The calls

*Written from `abi/src/manual.rs`; change that, not this page.*

What deserves to be a call: only what a program cannot do by a message to whoever gave it what it has. The kernel knows nine kinds of object, and every one of them can be made,
destroyed, moved, referred to, read out and set. The rest is messages, and waiting.

A call is `syscall` with the number in `rax` and the arguments in `rdi rsi rdx r8 r9 r10 r12 r13` (messages: also `r14`, `r15`). It returns its status in `rax`: bits 0-7 the code, bits 8-15
the number of the argument that it is about, 0 if none. `rcx` and `r11` are lost; everything else but the named results is kept. **A call that fails has changed nothing** and used no memory.

A call that has to wait puts its thread back to the `syscall` instruction, with registers that say what is left to do. So a thread that waits can be stopped, read out and set up
elsewhere, and makes the rest of the call there. *Restarts* says from where.

An object is named by its address, or by that of a reference to it. An address whose page is not there is brought in first, as if the caller had touched it: by a message to the keeper of the region that lacks it.

A number that is no call is a *foreign call*: it continues at the thread's foreign entry (`thread_set_foreign`), or returns UnknownCall.
";

fn failure_row(out: &mut String, argument: u8, failure: &Failure) {
    let number = if argument == 0 { "-".to_string() } else { argument.to_string() };
    writeln!(out, "| {:?} | {number} | {} | {} |", failure.code, failure.cause, failure.remedy).unwrap();
}

fn example(entry: &Entry) -> String {
    let names: Vec<&str> = entry.arguments.iter().map(|argument| argument.name).collect();
    format!("{}({})", entry.call.name(), names.join(", "))
}

fn section(out: &mut String, entry: &Entry) {
    writeln!(out, "\n### `{}` - {} ({:#x})\n\n{}\n", example(entry), entry.call as u8, entry.call.number(), entry.purpose).unwrap();
    if !entry.arguments.is_empty() {
        writeln!(out, "| # | argument | is | |\n| --- | --- | --- | --- |").unwrap();
    }
    for (index, argument) in entry.arguments.iter().enumerate() {
        writeln!(out, "| {} | {} | {} | {} |", index + 1, argument.name, argument.kind.text(), argument.text).unwrap();
    }
    if !entry.results.is_empty() {
        writeln!(out, "\nResults: {}.", entry.results).unwrap();
    }
    if !entry.restarts.is_empty() {
        writeln!(out, "\nRestarts: {}.", entry.restarts).unwrap();
    }
    let mut rows = String::new();
    for (index, argument) in entry.arguments.iter().enumerate() {
        argument.kind.failures().iter().for_each(|failure| failure_row(&mut rows, index as u8 + 1, failure));
    }
    entry.failures.iter().copied().flatten().for_each(|failure| failure_row(&mut rows, failure.argument, failure));
    if !rows.is_empty() {
        writeln!(out, "\n| code | argument | cause | remedy |\n| --- | --- | --- | --- |\n{}", rows.trim_end()).unwrap();
    }
}

fn page() -> String {
    let mut out = String::from(HEAD);
    writeln!(out, "\n## Codes\n\n| number | code |\n| --- | --- |").unwrap();
    for code in Code::ALL {
        writeln!(out, "| {} | {code:?} |", code as u8).unwrap();
    }
    for (title, entries) in CHAPTERS {
        writeln!(out, "\n## {title}").unwrap();
        entries.iter().for_each(|entry| section(&mut out, entry));
    }
    out
}

#[test]
fn the_page_in_the_tree_is_current() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../doc/manual/calls.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, page()).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    assert!(found == page(), "doc/manual/calls.md is not what abi/src/manual.rs says: run UPDATE=1 cargo test -p nacre-abi");
}
