//! Lines of the list of environments.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// State of an environment that stands still until a command lets it go on.
pub const HELD: &str = "held";

/// A line: fields with a tab between them, and a newline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record<'a> {
    /// Place in the tree: the numbers of all that it is in and its own, with a slash between them.
    pub path: &'a str,
    /// Kind: `monitor`, `environment` or `process`.
    pub kind: &'a str,
    /// Name, for people.
    pub name: &'a [u8],
    /// State, as `ps` tells it; empty if it has none.
    pub state: &'a str,
    /// Bytes of memory, if they are known.
    pub memory: Option<u64>,
    /// Nanoseconds of processors, if they are known.
    pub time: Option<u64>,
}

impl Record<'_> {
    /// The line. What might be taken for a tab, a newline or another control character is `?`.
    pub fn line(&self) -> Vec<u8> {
        let number = |number: Option<u64>| number.map_or(String::from("-"), |number| format!("{number}"));
        let mut line = format!("{}\t{}\t", self.path, self.kind).into_bytes();
        line.extend(self.name.iter().map(|byte| if *byte < 0x20 || *byte == 0x7f { b'?' } else { *byte }));
        line.extend_from_slice(format!("\t{}\t{}\t{}\n", self.state, number(self.memory), number(self.time)).as_bytes());
        line
    }
}

/// Whole lines of somebody within, as lines of a place of ours.
pub fn within(place: &str, lines: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        all.extend_from_slice(place.as_bytes());
        all.push(b'/');
        all.extend_from_slice(line);
        all.push(b'\n');
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_forge_no_fields() {
        let record = Record { path: "0/4", kind: "process", name: b"a\tb\nc", state: "S", memory: None, time: Some(7) };
        assert_eq!(record.line(), b"0/4\tprocess\ta?b?c\tS\t-\t7\n");
        assert_eq!(within("1/2", b"0\tx\n\n3\ty"), b"1/2/0\tx\n1/2/3\ty\n");
    }
}
