//! Messages as text, as strace shows calls. Names and kinds come from the protocols' declaration;
//! what is not declared is shown in base 16.

use super::reference_translation::Name;
use super::quote::quote;
use alloc::string::String;
use core::fmt::Write;
use nacre_abi::object::TargetType;
use nacre_proto::describe::{Kind, Operation, Word, structure};
use nacre_proto::path::without_mark;
use nacre_proto::reference::Ref;
use nacre_proto::{Errno, describe};

/// One direction of a message.
pub struct MessageDirection<'a> {
    /// Request: which operation. Reply: the errno.
    pub label: u32,
    /// The words.
    pub words: [u64; 6],
    /// The bytes.
    pub bytes: &'a [u8],
    /// Names of the references, for people.
    pub references: &'a [Name],
}

/// Paths are shown whole up to here.
const PATH_LIMIT: usize = 4096;

/// The name of an operation, or its label.
pub fn name(label: u32, into: &mut String) {
    let written = match describe(label) {
        Some(operation) => write!(into, "{}.{}", operation.protocol, operation.name),
        None => write!(into, "{label:#x}"),
    };
    written.unwrap_or(());
}

/// A path. A mark in front of it is told in words.
fn path(bytes: &[u8], into: &mut String) {
    let (path, no_links) = without_mark(bytes);
    quote(path, PATH_LIMIT, into);
    if no_links {
        into.push_str(" without links");
    }
}

/// Writes what a reference leads to.
fn reference(name: Name, into: &mut String) {
    let text = match name {
        Name::Proxy(number) => return write!(into, "#{number}").unwrap_or(()),
        Name::Kind(kind) => KINDS.iter().find(|(number, _)| *number as u64 == kind).map_or("?", |(_, text)| text),
        Name::Nothing => "?",
    };
    into.push_str(text);
}

const KINDS: [(TargetType, &str); 13] = [
    (TargetType::Null, "null"),
    (TargetType::Space, "space"),
    (TargetType::Region, "region"),
    (TargetType::Mapping, "mapping"),
    (TargetType::Thread, "thread"),
    (TargetType::Port, "port"),
    (TargetType::PortSet, "port_set"),
    (TargetType::Mutex, "mutex"),
    (TargetType::Condition, "condition"),
    (TargetType::Reply, "reply"),
    (TargetType::IoPorts, "io_ports"),
    (TargetType::Interrupts, "interrupts"),
    (TargetType::Clock, "clock"),
];

/// A list in the making: nothing before its first item, a separator before the others.
struct List<'a> {
    into: &'a mut String,
    separator: &'static str,
    any: bool,
}

impl List<'_> {
    fn item(&mut self) -> &mut String {
        if self.any {
            self.into.push_str(self.separator);
        }
        self.any = true;
        self.into
    }

    fn word(&mut self, label: &str, kind: Kind, value: u64) {
        write!(self.item(), "{label}{}", Word(kind, value)).unwrap_or(());
    }

    fn bytes(&mut self, kind: Kind, half: &MessageDirection<'_>, limit: usize) {
        if kind == Kind::None && half.bytes.is_empty() {
            return;
        }
        let into = self.item();
        match kind {
            Kind::Path => path(half.bytes, into),
            Kind::Paths(word) => {
                let first_size = half.words.get(word).copied().unwrap_or(0);
                let (first, second) = half.bytes.split_at(half.bytes.len().min(first_size as usize));
                path(first, into);
                into.push_str(", ");
                path(second, into);
            }
            Kind::Named(word) => {
                let name_size = half.words.get(word).copied().unwrap_or(0);
                let (name, data) = half.bytes.split_at(half.bytes.len().min(name_size as usize));
                quote(name, limit, into);
                into.push_str(", ");
                quote(data, limit, into);
            }
            Kind::Structure(name) => match structure(name, half.bytes) {
                Some(structure) => write!(into, "{structure}").unwrap_or(()),
                None => quote(half.bytes, limit, into),
            },
            _ => quote(half.bytes, limit, into),
        }
    }

    fn references(&mut self, names: &[(&str, Ref)], half: &MessageDirection<'_>) {
        for (index, shown) in half.references.iter().enumerate() {
            let into = self.item();
            if let Some((name, _)) = names.get(index) {
                into.push_str(name);
                into.push('=');
            }
            reference(*shown, into);
        }
    }
}

/// Words of a message that is not declared: up to the last that is not 0.
fn plain_words(list: &mut List<'_>, words: [u64; 6]) {
    let count = words.iter().rposition(|word| *word != 0).map_or(0, |last| last + 1);
    for word in &words[..count] {
        list.word("", Kind::Hex, *word);
    }
}

/// Appends the request that came through proxy `number`.
pub fn request(number: u64, half: &MessageDirection<'_>, limit: usize, into: &mut String) {
    name(half.label, into);
    write!(into, "(#{number}").unwrap_or(());
    let mut list = List { into, separator: ", ", any: true };
    match describe(half.label) {
        Some(operation) => {
            for ((name, kind), value) in operation.words_in.iter().zip(half.words) {
                write!(list.item(), "{name}={}", Word(*kind, value)).unwrap_or(());
            }
            list.bytes(operation.bytes_in, half, limit);
            list.references(operation.references_in, half);
        }
        None => {
            plain_words(&mut list, half.words);
            list.bytes(Kind::None, half, limit);
            list.references(&[], half);
        }
    }
    into.push(')');
}

/// Appends what the request with `label` was answered with.
pub fn reply(label: u32, half: &MessageDirection<'_>, limit: usize, into: &mut String) {
    if half.label != 0 {
        let errno = Errno(half.label);
        let written = match errno.text() {
            Some(text) => write!(into, "{errno:?} ({text})"),
            None => write!(into, "{errno:?}"),
        };
        return written.unwrap_or(());
    }
    let mut list = List { into, separator: " ", any: false };
    match describe(label) {
        Some(operation) => success(&mut list, operation, half, limit),
        None => {
            plain_words(&mut list, half.words);
            list.bytes(Kind::None, half, limit);
            list.references(&[], half);
        }
    }
    if !list.any {
        into.push('0');
    }
}

/// A single word needs no name.
fn success(list: &mut List<'_>, operation: &Operation, half: &MessageDirection<'_>, limit: usize) {
    if let [(_, kind)] = operation.words_out {
        list.word("", *kind, half.words[0]);
    } else {
        for ((name, kind), value) in operation.words_out.iter().zip(half.words) {
            write!(list.item(), "{name}={}", Word(*kind, value)).unwrap_or(());
        }
    }
    list.bytes(operation.bytes_out, half, limit);
    list.references(operation.references_out, half);
}

#[cfg(test)]
mod tests {
    use super::*;
    use nacre_proto::{directory, file, parent};

    fn half<'a>(label: u32, words: [u64; 6], bytes: &'a [u8], references: &'a [Name]) -> MessageDirection<'a> {
        MessageDirection { label, words, bytes, references }
    }

    fn line(number: u64, asked: &MessageDirection<'_>, answered: &MessageDirection<'_>) -> String {
        let mut text = String::new();
        request(number, asked, 32, &mut text);
        text.push_str(" = ");
        reply(asked.label, answered, 32, &mut text);
        text
    }

    #[test]
    fn a_read_shows_what_was_read() {
        let asked = half(file::read::LABEL, [0, 4096, 0, 0, 0, 0], &[], &[]);
        let answered = half(0, [12, 0, 0, 0, 0, 0], b"hello world\n", &[]);
        assert_eq!(line(5, &asked, &answered), r##"file.read(#5, offset=0, size=4096) = 12 "hello world\n""##);
    }

    #[test]
    fn errors_have_names_and_texts() {
        let asked = half(directory::open::LABEL, [0; 6], b"/etc/nothing", &[]);
        let text = r##"directory.open(#1, flags=O_RDONLY, mode=0o0, "/etc/nothing") = ENOENT (No such file or directory)"##;
        assert_eq!(line(1, &asked, &half(2, [0; 6], &[], &[])), text);
    }

    #[test]
    fn references_have_numbers_or_kinds() {
        let asked = half(parent::find::LABEL, [2, 0, 0, 0, 0, 0], &[], &[]);
        let answered = half(0, [0; 6], &[], &[Name::Proxy(3)]);
        assert_eq!(line(0, &asked, &answered), "parent.find(#0, service=SERVICE_MEMORY) = found=#3");
        let asked = half(file::map::LABEL, [0, 100, 0, 0, 0, 0], &[], &[]);
        let answered = half(0, [100, 0, 0, 0, 0, 0], &[], &[Name::Kind(TargetType::Region as u64)]);
        assert_eq!(line(4, &asked, &answered), "file.map(#4, offset=0, size=100) = 100 region=region");
    }

    #[test]
    fn two_paths_are_told_apart_whatever_their_sizes_say() {
        let asked = half(directory::symbolic_link::LABEL, [3, 0, 0, 0, 0, 0], b"abc/x", &[]);
        assert_eq!(line(1, &asked, &half(0, [0; 6], &[], &[])), r##"directory.symbolic_link(#1, first_size=3, "abc", "/x") = 0"##);
        let wild = half(directory::symbolic_link::LABEL, [u64::MAX, 0, 0, 0, 0, 0], b"abc", &[]);
        assert!(line(1, &wild, &half(0, [0; 6], &[], &[])).contains(r#""abc", """#));
    }

    #[test]
    fn what_is_not_declared_is_shown_all_the_same() {
        let asked = half(0x90_0001, [1, 0, 255, 0, 0, 0], b"x\0", &[Name::Nothing]);
        let answered = half(4000, [0; 6], &[], &[]);
        assert_eq!(line(9, &asked, &answered), r##"0x900001(#9, 0x1, 0x0, 0xff, "x\0", ?) = errno 4000"##);
        assert_eq!(line(9, &half(7, [0; 6], &[], &[]), &half(0, [0; 6], &[], &[])), "0x7(#9) = 0");
    }

    #[test]
    fn hostile_messages_are_text_like_any() {
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let mut random = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        for _ in 0..50_000 {
            let label = ((random() % 10) << 16) + random() % 20;
            let words = [random(), random() % 5, u64::MAX, random(), 0, random()];
            let bytes: alloc::vec::Vec<u8> = (0..random() % 200).map(|_| random() as u8).collect();
            let names = [Name::Proxy(random()), Name::Kind(random() % 20), Name::Nothing];
            let asked = half(label as u32, words, &bytes, &names[..(random() % 4) as usize]);
            let answered = half((random() % 2) as u32, words, &bytes, asked.references);
            let text = line(random(), &asked, &answered);
            assert!(text.chars().all(|character| (' '..='~').contains(&character)), "{text}");
        }
    }
}
