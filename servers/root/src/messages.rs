//! What goes to the host over the second line, in order: lines of text, records, and files that are
//! handed out.
//!
//! Text that a program chose never contains what could pass for a record.

use crate::table::Key;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use nacre_proto::Errno;

/// Maximum length of a line that is taken from a program.
const MAX_LINE: usize = 1000;
/// Maximum number of lines and files that wait to go out. Further lines of a program are dropped.
pub const MAX_ITEMS: usize = 256;

/// One thing that goes out.
#[derive(Debug, PartialEq, Eq)]
pub enum Item {
    /// Bytes to send.
    Bytes(Vec<u8>),
    /// `size` bytes of the content of a node, of which `done` have gone.
    File {
        /// The node, kept open.
        node: Key,
        /// Number of bytes that were announced.
        size: u64,
        /// Number of bytes that have gone.
        done: u64,
    },
}

/// Records that have not gone out.
#[derive(Default)]
pub struct Messages {
    /// Records in order.
    pub items: VecDeque<Item>,
}

fn is_control(byte: u8) -> bool {
    byte < 0x20 && byte != b'\t' || byte == 0x7f
}

/// `text` without control characters.
fn harmless(text: &[u8]) -> impl Iterator<Item = u8> {
    text.iter().take(MAX_LINE).map(|&byte| if is_control(byte) { b'?' } else { byte })
}

/// Returns true if a name reaches the host as it is.
pub fn is_tellable(name: &[u8]) -> bool {
    name.len() <= MAX_LINE && !name.iter().any(|byte| is_control(*byte))
}

impl Messages {
    /// Adds a line. A newline at the end of `text` is not doubled.
    pub fn line(&mut self, text: &[u8]) {
        let text = text.strip_suffix(b"\n").unwrap_or(text);
        for line in text.split(|&byte| byte == b'\n').take(20) {
            let mut bytes: Vec<u8> = harmless(line).collect();
            bytes.push(b'\n');
            self.items.push_back(Item::Bytes(bytes));
        }
    }

    fn record(&mut self, text: &[u8]) {
        let bytes = [b"\x1b]nacre;", text, b"\x07"].concat();
        self.items.push_back(Item::Bytes(bytes));
    }

    /// Says that input may flow.
    pub fn ready(&mut self) {
        self.record(b"ready");
    }

    /// Says how the program ended.
    pub fn exit(&mut self, status: u64) {
        self.record(alloc::format!("exit={status}").as_bytes());
    }

    /// A part of the answer to a command.
    pub fn answer(&mut self, number: u64, bytes: &[u8]) {
        self.record(alloc::format!("answer={number};{}", bytes.len()).as_bytes());
        self.items.push_back(Item::Bytes(bytes.to_vec()));
    }

    /// A file as a part of the answer to a command.
    pub fn answer_file(&mut self, number: u64, node: Key, size: u64) {
        self.record(alloc::format!("answer={number};{size}").as_bytes());
        self.items.push_back(Item::File { node, size, done: 0 });
    }

    /// The end of the answer to a command.
    pub fn done(&mut self, number: u64, result: Errno) {
        self.record(alloc::format!("done={number};{}", result.0).as_bytes());
    }

    /// Hands out a file.
    pub fn file(&mut self, name: &[u8], node: Key, size: u64) {
        let name: Vec<u8> = harmless(name).collect();
        self.record(&[b"file=", &name[..], alloc::format!(";{size}").as_bytes()].concat());
        self.items.push_back(Item::File { node, size, done: 0 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_cannot_forge_a_record() {
        let mut messages = Messages::default();
        messages.line(b"a\x1b]nacre;exit=0\x07\nb\n");
        messages.file(b"x\x07y", Key::from_word(1), 3);
        let texts: Vec<_> = messages.items.iter().filter_map(|item| if let Item::Bytes(bytes) = item { Some(&bytes[..]) } else { None }).collect();
        assert_eq!(texts, [&b"a?]nacre;exit=0?\n"[..], b"b\n", b"\x1b]nacre;file=x?y;3\x07"]);
        assert_eq!(messages.items.len(), 4);
        assert!(is_tellable(b"/a b\xc3\xa4") && !is_tellable(b"/a\x07") && !is_tellable(&[b'x'; MAX_LINE + 1]));
    }
}
