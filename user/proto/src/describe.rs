//! What tracers, and the reference page, know of protocols: names and kinds of everything that a
//! message carries.

use core::fmt::{Display, Formatter, Result, Write};

use crate::reference::Ref;
use crate::structures::{Attributes, Entries, Status};

/// Kind of a word or of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// There are no bytes.
    None,
    /// A number.
    Number,
    /// A number with a sign.
    Signed,
    /// A number that people read in base 16.
    Hex,
    /// Bits or fields with names.
    Flags(&'static [Flag]),
    /// A number of which some values have names.
    Choice(&'static [Flag]),
    /// A file's mode, read in base 8.
    Mode,
    /// Exit status of a program.
    Status,
    /// A path.
    Path,
    /// Two paths; the word with this number is the size of the first.
    Paths(usize),
    /// A name, and data behind it; the word with this number is the size of the name.
    Named(usize),
    /// Text.
    Text,
    /// Any bytes.
    Data,
    /// Bytes that have the structure of this name (see [`structure`]).
    Structure(&'static str),
}

/// A value that has a name: the word has it if `word & mask == value`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flag {
    /// The name.
    pub name: &'static str,
    /// The value.
    pub value: u64,
    /// Bits that count.
    pub mask: u64,
}

/// A protocol.
#[derive(Debug)]
pub struct Protocol {
    /// Number of the protocol.
    pub number: u32,
    /// Name of the protocol.
    pub name: &'static str,
    /// Purpose of the protocol.
    pub about: &'static str,
    /// Operations of the protocol.
    pub operations: &'static [Operation],
}

/// An operation.
#[derive(Debug)]
pub struct Operation {
    /// Name of its protocol.
    pub protocol: &'static str,
    /// Name of the operation.
    pub name: &'static str,
    /// The label of a request.
    pub label: u32,
    /// Effect of the operation.
    pub about: &'static str,
    /// Words of the request.
    pub words_in: &'static [(&'static str, Kind)],
    /// Bytes of the request.
    pub bytes_in: Kind,
    /// References of the request.
    pub references_in: &'static [(&'static str, Ref)],
    /// Further references of the request: at most one entry, with their name, kind, and greatest
    /// number.
    pub more_in: &'static [(&'static str, Ref, usize)],
    /// Words of the reply.
    pub words_out: &'static [(&'static str, Kind)],
    /// Bytes of the reply.
    pub bytes_out: Kind,
    /// References of the reply.
    pub references_out: &'static [(&'static str, Ref)],
    /// Further references of the reply: at most one entry, with their name, kind, and greatest
    /// number.
    pub more_out: &'static [(&'static str, Ref, usize)],
}

impl Operation {
    /// Kind of each reference of a request with `count` of them; `None` if no request has so many.
    pub fn kinds_in(&self, count: usize) -> Option<impl Fn(usize) -> Ref> {
        kinds(self.references_in, self.more_in, count)
    }

    /// Kind of each reference of a reply with `count` of them; `None` if no reply has so many.
    pub fn kinds_out(&self, count: usize) -> Option<impl Fn(usize) -> Ref> {
        kinds(self.references_out, self.more_out, count)
    }
}

fn kinds(fixed: &'static [(&'static str, Ref)], more: &'static [(&'static str, Ref, usize)], count: usize) -> Option<impl Fn(usize) -> Ref> {
    let most = fixed.len() + more.first().map_or(0, |more| more.2);
    // A request without references has no use for the function, which is then never called.
    let last = more.first().map(|more| more.1).or(fixed.last().map(|last| last.1)).unwrap_or(Ref::Condition);
    (fixed.len()..=most).contains(&count).then_some(move |number: usize| fixed.get(number).map_or(last, |one| one.1))
}

/// The operation with this label.
pub fn describe(label: u32) -> Option<&'static Operation> {
    let protocol = crate::PROTOCOLS.iter().find(|protocol| protocol.number == label >> 16)?;
    protocol.operations.iter().find(|operation| operation.label == label)
}

/// A word, as people read it.
#[derive(Clone, Copy, Debug)]
pub struct Word(pub Kind, pub u64);

impl Display for Word {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self.0 {
            Kind::Flags(table) => write_flags(f, table, self.1),
            Kind::Choice(table) => match table.iter().find(|flag| flag.value == self.1) {
                Some(flag) => f.write_str(flag.name),
                None => write!(f, "{}", self.1),
            },
            Kind::Signed => write!(f, "{}", self.1.cast_signed()),
            Kind::Mode => write!(f, "{:#o}", self.1),
            Kind::Hex => write!(f, "{:#x}", self.1),
            Kind::Status if self.1 > 255 => write!(f, "signal {}", self.1 - 256),
            _ => write!(f, "{}", self.1),
        }
    }
}

/// Names of the bits that are set, `|` between them; what has no name in base 16; `0` if there is
/// nothing.
fn write_flags(f: &mut Formatter<'_>, table: &[Flag], word: u64) -> Result {
    if let Some(whole) = table.iter().find(|flag| flag.mask == u64::MAX && flag.value == word) {
        return f.write_str(whole.name);
    }
    let mut separator = "";
    let mut rest = word;
    for flag in table.iter().filter(|flag| flag.mask != u64::MAX && word & flag.mask == flag.value) {
        write!(f, "{separator}{}", flag.name)?;
        separator = "|";
        rest &= !flag.mask;
    }
    match (rest, separator) {
        (0, "") => f.write_char('0'),
        (0, _) => Ok(()),
        _ => write!(f, "{separator}{rest:#x}"),
    }
}

/// The structure of this name in `bytes`, as `{field=value, ..}`; `None` if there is none, or the
/// bytes are too few.
pub fn structure<'a>(name: &str, bytes: &'a [u8]) -> Option<Structure<'a>> {
    match name {
        "Status" => Status::from_bytes(bytes).map(Structure::Status),
        "Attributes" => Attributes::from_bytes(bytes).map(Structure::Attributes),
        "Entries" => Some(Structure::Entries(Entries(bytes))),
        _ => None,
    }
}

/// A structure, as people read it.
#[derive(Clone, Debug)]
pub enum Structure<'a> {
    /// Status of a file.
    Status(Status),
    /// A terminal's attributes.
    Attributes(Attributes),
    /// Entries of a directory.
    Entries(Entries<'a>),
}

/// Number of entries of a directory that are shown.
const ENTRIES_SHOWN: usize = 4;

impl Display for Structure<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        match self {
            Structure::Status(status) => {
                write!(f, "{{inode={}, mode={:#o}, size={}, links={}, ", status.inode, status.mode, status.size, status.links)?;
                write!(f, "uid={}, gid={}, mtime={}.{:09}}}", status.uid, status.gid, status.mtime_sec, status.mtime_nsec)
            }
            Structure::Attributes(a) => {
                write!(f, "{{input={:#o}, output={:#o}, control={:#o}, local={:#o}}}", a.input, a.output, a.control, a.local)
            }
            Structure::Entries(entries) => write_entries(f, entries.clone()),
        }
    }
}

fn write_entries(f: &mut Formatter<'_>, entries: Entries<'_>) -> Result {
    let count = entries.clone().count();
    f.write_char('[')?;
    for (index, entry) in entries.take(ENTRIES_SHOWN).enumerate() {
        write!(f, "{}\"{}\"", if index == 0 { "" } else { ", " }, entry.name.escape_ascii())?;
    }
    match count.saturating_sub(ENTRIES_SHOWN) {
        0 => f.write_char(']'),
        more => write!(f, ", and {more} more]"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{directory, file, flags, parent};
    use alloc::format;
    use alloc::string::ToString;

    #[test]
    fn every_operation_is_found_by_its_label() {
        for operation in crate::PROTOCOLS.iter().flat_map(|protocol| protocol.operations) {
            let found = describe(operation.label).unwrap();
            assert_eq!((found.protocol, found.name), (operation.protocol, operation.name));
            assert!(operation.words_in.len() <= 6 && operation.words_out.len() <= 6, "{}.{}", operation.protocol, operation.name);
            assert!(operation.about.len() > 10, "{}.{} is not explained", operation.protocol, operation.name);
        }
        assert!(describe(0).is_none());
        assert!(describe(4 << 16 | 99).is_none());
    }

    #[test]
    fn numbers_never_change() {
        assert_eq!((parent::find::LABEL, parent::report::LABEL), (0x1_0001, 0x1_0004));
        assert_eq!((file::read::LABEL, file::flags::LABEL), (0x4_0001, 0x4_000c));
        assert_eq!((directory::open::LABEL, directory::path::LABEL), (0x6_0001, 0x6_000f));
    }

    #[test]
    fn words_read_well() {
        let open = |flags| Word(Kind::Flags(flags::OPEN_FLAGS), flags).to_string();
        assert_eq!(open(0), "O_RDONLY");
        assert_eq!(open(0o1101), "O_WRONLY|O_CREAT|O_TRUNC");
        assert_eq!(open(1 << 40), "O_RDONLY|0x10000000000");
        assert_eq!(Word(Kind::Flags(flags::AT_FLAGS), 0).to_string(), "0");
        assert_eq!(Word(Kind::Flags(flags::FILE_FLAGS), u64::MAX).to_string(), "KEEP_FLAGS");
        assert_eq!(Word(Kind::Choice(flags::SERVICES), 2).to_string(), "SERVICE_MEMORY");
        assert_eq!(Word(Kind::Choice(flags::SERVICES), 77).to_string(), "77");
        assert_eq!(Word(Kind::Signed, u64::MAX).to_string(), "-1");
        assert_eq!(Word(Kind::Mode, 0o644).to_string(), "0o644");
        assert_eq!(Word(Kind::Status, 256 + 9).to_string(), "signal 9");
    }

    #[test]
    fn structures_read_well() {
        let status = Status { inode: 3, mode: 0o100644, size: 5, links: 1, ..Status::default() };
        let text = "{inode=3, mode=0o100644, size=5, links=1, uid=0, gid=0, mtime=0.000000000}";
        assert_eq!(structure("Status", &status.to_bytes()).unwrap().to_string(), text);
        assert!(structure("Status", b"short").is_none());
        assert_eq!(format!("{}", structure("Entries", b"").unwrap()), "[]");
    }
}
