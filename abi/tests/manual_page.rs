//! Writes `doc/manual/calls.md` from the manual's data, and fails when the page in the tree is
//! another. `UPDATE=1 cargo test -p nacre-abi` renews it.

use nacre_abi::manual::{CHAPTERS, Entry, Failure};
use nacre_abi::status::Code;
use std::fmt::Write;

/// Columns of a line of prose.
const COLUMNS: usize = 100;

const HEAD: &str = "# The calls

*Written from `abi/src/manual.rs`; change that, not this page.*

An operation deserves to be a call only if a program cannot do it by a message to its parent. The
kernel knows nine kinds of object. Every one of them can be made, destroyed, moved, referred to,
read out and set. The rest is messages, and waiting.

A call is `syscall` with the number in `rax` and the arguments in `rdi rsi rdx r8 r9 r10 r12 r13`
(messages: also `r14`, `r15`). It returns its status in `rax`: bits 0-7 hold the code, bits 8-15 the
number of the argument at fault, or 0 for none. `rcx` and `r11` are lost; everything else but the
named results is kept. **A call that fails has changed nothing** and used no memory.

A call that blocks puts its thread back to the `syscall` instruction, with registers that say what
is left to do. So another thread can stop the blocked thread, read it out and set it up elsewhere,
and the call continues there. *Restarts* says from where.

An object is named by its address, or by that of a reference to it. If the page of that address is
missing, the kernel reports a page fault to the keeper of the region, as if the caller had touched
the page.

A number that is no call is a *foreign call*: it continues at the thread's foreign entry
(`thread_set_foreign`), or returns UnknownCall.
";

/// Returns the words of `text`, in lines of at most 100 columns.
fn wrapped(text: &str) -> String {
    let (mut lines, mut line) = (Vec::new(), String::new());
    for word in text.split_whitespace() {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > COLUMNS {
            lines.push(std::mem::take(&mut line));
        }
        line.push_str(if line.is_empty() { "" } else { " " });
        line.push_str(word);
    }
    lines.push(line);
    lines.join("\n")
}

fn failure_row(out: &mut String, argument: u8, failure: &Failure) {
    let number = if argument == 0 { "-".to_string() } else { argument.to_string() };
    writeln!(out, "| {:?} | {number} | {} | {} |", failure.code, failure.cause, failure.remedy).unwrap();
}

fn example(entry: &Entry) -> String {
    let names: Vec<&str> = entry.arguments.iter().map(|argument| argument.name).collect();
    format!("{}({})", entry.call.name(), names.join(", "))
}

fn section(out: &mut String, entry: &Entry) {
    writeln!(out, "\n### `{}` - {} ({:#x})\n\n{}\n", example(entry), entry.call as u8, entry.call.number(), wrapped(entry.purpose)).unwrap();
    if !entry.arguments.is_empty() {
        writeln!(out, "| # | argument | is | |\n| --- | --- | --- | --- |").unwrap();
    }
    for (index, argument) in entry.arguments.iter().enumerate() {
        writeln!(out, "| {} | {} | {} | {} |", index + 1, argument.name, argument.kind.text(), argument.text).unwrap();
    }
    if !entry.results.is_empty() {
        writeln!(out, "\n{}", wrapped(&format!("Results: {}.", entry.results))).unwrap();
    }
    if !entry.restarts.is_empty() {
        writeln!(out, "\n{}", wrapped(&format!("Restarts: {}.", entry.restarts))).unwrap();
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
