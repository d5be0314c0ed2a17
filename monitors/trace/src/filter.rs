//! Choice of the operations that are shown: `-e`, as strace has it.

use alloc::vec::Vec;
use nacre_proto::PROTOCOLS;
use nacre_proto::describe::Operation;

/// The operations that are shown.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Filter {
    /// Labels of the operations that were named, in order.
    labels: Vec<u32>,
    /// Set if those are shown and nothing else; otherwise all others are.
    alone: bool,
}

impl Filter {
    /// Takes a list apart: names of operations (`read`), of protocols (`file`) or of both
    /// (`file.read`), with commas between. `!` in front of it: all but these. `None`: a name is of
    /// nothing.
    pub fn parse(list: &[u8]) -> Option<Filter> {
        let list = list.strip_prefix(b"trace=").unwrap_or(list);
        let (alone, list) = list.strip_prefix(b"!").map_or((true, list), |rest| (false, rest));
        let mut labels = Vec::new();
        for name in list.split(|byte| *byte == b',') {
            let before = labels.len();
            let all = PROTOCOLS.iter().flat_map(|protocol| protocol.operations.iter());
            labels.extend(all.filter(|operation| is_named(operation, name)).map(|operation| operation.label));
            if labels.len() == before {
                return None;
            }
        }
        labels.sort_unstable();
        Some(Filter { labels, alone })
    }

    /// Returns true if an operation is shown.
    #[inline]
    pub fn shows(&self, label: u32) -> bool {
        self.labels.binary_search(&label).is_ok() == self.alone
    }

    /// Returns true if what is no message is shown, but for the end of a program, which always is.
    pub fn shows_others(&self) -> bool {
        !self.alone
    }
}

fn is_named(operation: &Operation, name: &[u8]) -> bool {
    let (protocol, short) = (operation.protocol.as_bytes(), operation.name.as_bytes());
    let is_both = || name.strip_prefix(protocol).and_then(|rest| rest.strip_prefix(b".")) == Some(short);
    name == protocol || name == short || is_both()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nacre_proto::{directory, file};

    #[test]
    fn operations_are_named_short_or_whole() {
        let shown = |list: &[u8]| {
            let filter = Filter::parse(list).unwrap();
            [file::read::LABEL, file::write::LABEL, directory::open::LABEL].map(|label| filter.shows(label))
        };
        assert_eq!(shown(b"read"), [true, false, false]);
        assert_eq!(shown(b"trace=file.read,open"), [true, false, true]);
        assert_eq!(shown(b"file"), [true, true, false]);
        assert_eq!(shown(b"!file"), [false, false, true]);
        assert_eq!(Filter::default(), Filter { labels: Vec::new(), alone: false });
        assert!(Filter::default().shows(file::read::LABEL));
    }

    #[test]
    fn names_of_nothing_are_refused() {
        for list in [&b""[..], b"!", b"nonesuch", b"file.", b"file.nonesuch", b"read,", b"filexread"] {
            assert_eq!(Filter::parse(list), None);
        }
    }
}
