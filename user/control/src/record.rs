//! Lines of the list of environments.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// State of an environment that stands still until a command lets it go on.
pub const HELD: &str = "held";

/// Counts that a monitor keeps of its work, each with its name: small letters, digits and `_`.
pub type Figures = Vec<(String, u64)>;

/// Facts that a monitor tells about itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Name of the monitor.
    pub name: &'static str,
    /// Bytes of memory that the programs within have, if they are known.
    pub memory: Option<u64>,
    /// Nanoseconds of processors that the monitor itself has had, if they are known.
    pub time: Option<u64>,
    /// Counts of its work.
    pub figures: Figures,
}

impl Facts {
    /// Line of the list about the monitor, in its own part of the tree.
    pub fn line(&self) -> Vec<u8> {
        let Facts { name, memory, time, figures } = self;
        Record { path: PLACE, kind: "monitor", name: name.as_bytes(), state: "", memory: *memory, time: *time, figures, waits: &[] }.line()
    }
}

/// Makes figures of names and counts.
pub fn figures<const N: usize>(all: [(&str, u64); N]) -> Figures {
    all.iter().map(|(name, count)| (String::from(*name), *count)).collect()
}

/// Place of a monitor in its own part of the tree.
pub const PLACE: &str = "0";

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
    /// Counts of a monitor's work: `NAME=COUNT` with spaces between them.
    pub figures: &'a [(String, u64)],
    /// Threads, and what each waits for: the last field, `NUMBER=TEXT` with `; ` between them; left
    /// out if it is empty.
    pub waits: &'a [(u64, String)],
}

impl Record<'_> {
    /// The line. What might be taken for a tab, a newline or another control character is `?`.
    pub fn line(&self) -> Vec<u8> {
        let number = |number: Option<u64>| number.map_or(String::from("-"), |number| format!("{number}"));
        let mut line = format!("{}\t{}\t", self.path, self.kind).into_bytes();
        line.extend(self.name.iter().map(|byte| if *byte < 0x20 || *byte == 0x7f { b'?' } else { *byte }));
        let figures: Vec<String> = self.figures.iter().map(|(name, count)| format!("{name}={count}")).collect();
        line.extend_from_slice(format!("\t{}\t{}\t{}\t{}", self.state, number(self.memory), number(self.time), figures.join(" ")).as_bytes());
        let waits: Vec<String> = self.waits.iter().map(|(thread, what)| format!("{thread}={what}")).collect();
        if !waits.is_empty() {
            line.extend_from_slice(format!("\t{}", waits.join("; ")).as_bytes());
        }
        line.push(b'\n');
        line
    }
}

/// Lines of the seat with this number within a monitor, as lines of the monitor's: each seat has a
/// part of the tree of its own.
pub fn within_seat(seat: u64, lines: &[u8]) -> Vec<u8> {
    let own = format!("{PLACE}/{seat}");
    let mut all = Vec::new();
    for line in lines.split_inclusive(|byte| *byte == b'\n').filter(|line| *line != b"\n") {
        match line.strip_prefix(PLACE.as_bytes()).filter(|rest| !rest.starts_with(b"\n")) {
            Some(rest) => all.extend_from_slice(&[own.as_bytes(), rest].concat()),
            // A seat that numbers its lines otherwise.
            None => all.extend_from_slice(&[own.as_bytes(), b"/", line].concat()),
        }
    }
    all
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
        let counted = figures([("faults", 3), ("pages_in", 1)]);
        let record = Record { path: "0/4", kind: "process", name: b"a\tb\nc", state: "S", memory: None, time: Some(7), figures: &counted, waits: &[] };
        assert_eq!(record.line(), b"0/4\tprocess\ta?b?c\tS\t-\t7\tfaults=3 pages_in=1\n");
        let waits = [(4, String::from("futex")), (5, String::from("running"))];
        assert_eq!(Record { waits: &waits, ..record }.line(), b"0/4\tprocess\ta?b?c\tS\t-\t7\tfaults=3 pages_in=1\t4=futex; 5=running\n");
        let facts = Facts { name: "trace", memory: Some(9), ..Facts::default() };
        assert_eq!(facts.line(), b"0\tmonitor\ttrace\t\t9\t-\t\n");
        assert_eq!(within("1/2", b"0\tx\n\n3\ty"), b"1/2/0\tx\n1/2/3\ty\n");
    }
    #[test]
    fn each_seat_has_a_part_of_the_tree() {
        assert_eq!(within_seat(0, b"0\tx\n0/1\ty\n"), b"0/0\tx\n0/0/1\ty\n");
        assert_eq!(within_seat(2, b"0.3\tx\n\n7/1\ty\nz"), b"0/2.3\tx\n0/2/7/1\ty\n0/2/z");
        assert_eq!(within_seat(1, b""), b"");
    }
}
