//! The reference page, `doc/manual/protocols.md`, made from the declarations.
//! `cargo run -p nacre-proto --example protocols > doc/manual/protocols.md` writes it; a test
//! checks that it is current.

use alloc::string::String;
use core::fmt::Write;

use crate::describe::{Kind, Operation, Protocol};
use crate::reference::Ref;

/// Columns of a line of prose.
const COLUMNS: usize = 100;

const HEAD: &str = "# The Common Protocols

Messages between the parts of a system. This page is made from the declarations in
`user/proto/src/`: `cargo run -p nacre-proto --example protocols`.

A request is a message whose label is the number of the protocol, shifted left by 16, plus the
number of the operation. Words travel in the order of the tables below. The label of the reply is
Linux's errno, or 0 for success. The words, bytes and references of a reply have a meaning only
after success. A server answers `ENOSYS` to operations that it does not know.

If the message itself fails, the client's function reports `EIO` (the server is gone), `ETIMEDOUT`,
`ENOMEM` (no slot for a reference) or `EINTR`. It reports `EPROTO` if the reply breaks the protocol:
bytes that do not fit, or missing references.

The upper half of a request's sixth word is the number of the thread that sends it, as its client
says: 0, or the number of a thread that is not the first of its process. Servers do not look at it,
and monitors hand it on and may show it. `mailbox.open` and `mailbox.send` have no room for it.

Each reference has a kind. *looked at*: the server uses one of its own objects, during the call
alone. *kept*: the server keeps it, notifies it or hands it on, and never calls it. *made*: the
server made the object. *left there*: another client left it at the server. A monitor that
attenuates, such as `guard`, refuses messages whose references are more, fewer or of other kinds.
";

/// Returns the page.
pub fn text() -> String {
    let mut page = String::from(HEAD);
    for protocol in crate::PROTOCOLS {
        write_protocol(&mut page, protocol);
    }
    page
}

fn write_protocol(page: &mut String, protocol: &Protocol) {
    // Writing to a String cannot fail.
    let _ = writeln!(page, "\n## {} `{}`\n\n{}", protocol.number, protocol.name, paragraph(protocol.about));
    for operation in protocol.operations {
        write_operation(page, operation);
    }
}

fn write_operation(page: &mut String, operation: &Operation) {
    let (protocol, name, label) = (operation.protocol, operation.name, operation.label);
    let _ = writeln!(page, "\n### `{protocol}.{name}` - {label:#x}\n\n{}\n", paragraph(operation.about));
    let _ = writeln!(page, "| | words | bytes | references |\n| --- | --- | --- | --- |");
    write_row(page, "request", operation.words_in, operation.bytes_in, (operation.references_in, operation.more_in));
    write_row(page, "reply", operation.words_out, operation.bytes_out, (operation.references_out, operation.more_out));
}

type References<'a> = (&'a [(&'a str, Ref)], &'a [(&'a str, Ref, usize)]);

fn write_row(page: &mut String, title: &str, words: &[(&str, Kind)], bytes: Kind, (references, more): References) {
    let words = joined(words.iter().map(|(name, kind)| alloc::format!("{name}: {}", kind_text(*kind))));
    let bytes = if bytes == Kind::None { "-" } else { &kind_text(bytes) };
    let fixed = references.iter().map(|(name, kind)| alloc::format!("{name}: {kind}"));
    let references = joined(fixed.chain(more.iter().map(|(name, kind, most)| alloc::format!("up to {most} {name}: {kind}"))));
    let _ = writeln!(page, "| {title} | {words} | {bytes} | {references} |");
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    let all: alloc::vec::Vec<String> = parts.collect();
    if all.is_empty() { String::from("-") } else { all.join(", ") }
}

fn kind_text(kind: Kind) -> String {
    let simple = match kind {
        Kind::None => "nothing",
        Kind::Number => "number",
        Kind::Signed => "signed number",
        Kind::Hex => "number (base 16)",
        Kind::Mode => "mode",
        Kind::Status => "exit status",
        Kind::Path => "path",
        Kind::Paths(_) => "two paths, one after the other",
        Kind::Named(_) => "a name, and data behind it",
        Kind::Text => "text",
        Kind::Data => "data",
        Kind::Structure(name) => return alloc::format!("structure `{name}`"),
        Kind::Flags(table) | Kind::Choice(table) => {
            let names = joined(table.iter().map(|flag| alloc::format!("`{}` {}", flag.name, value_text(flag.value))));
            return alloc::format!("{} {names}", if matches!(kind, Kind::Flags(_)) { "flags" } else { "number, or" });
        }
    };
    String::from(simple)
}

fn value_text(value: u64) -> String {
    if value == u64::MAX { String::from("-1") } else if value < 10 { alloc::format!("{value}") } else { alloc::format!("{value:#x}") }
}

/// Returns the words of a documentation comment, in lines of at most 100 columns.
fn paragraph(about: &str) -> String {
    let (mut all, mut columns) = (String::new(), 0);
    for word in about.split_whitespace() {
        let width = word.chars().count();
        let fits = columns + 1 + width <= COLUMNS;
        if columns > 0 {
            all.push(if fits { ' ' } else { '\n' });
        }
        columns = if columns > 0 && fits { columns + 1 + width } else { width };
        all.push_str(word);
    }
    all
}

#[cfg(test)]
mod tests {
    extern crate std;

    #[test]
    fn the_page_in_the_manual_is_current() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../doc/manual/protocols.md");
        let page = std::fs::read_to_string(path).unwrap_or_default();
        assert!(page == super::text(), "write it with: cargo run -p nacre-proto --example protocols > doc/manual/protocols.md");
    }
}
