//! Choice of the operations that are shown: `-e`, as strace has it.

use crate::linux_names;
use alloc::vec::Vec;
use nacre_proto::PROTOCOLS;
use nacre_proto::describe::Operation;

/// The operations that are shown, and of these the answers.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Filter {
    /// Labels of the operations that were named, in order.
    labels: Vec<u32>,
    /// Set if those are shown and nothing else; otherwise all others are.
    alone: bool,
    /// Answers that are shown. `None`: all.
    answers: Option<Answers>,
}

/// Answers by their outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answers {
    /// Answers without an error (`-z`).
    Successful,
    /// Errors, and calls that nobody answered (`-Z`).
    Failed,
}

impl Filter {
    /// Adds what a value of `-e` says: names behind `trace=`, `t=` or nothing, or an outcome behind
    /// `status=`. Later names replace earlier ones. `None`: a name is of nothing.
    #[must_use]
    pub fn with(self, expression: &[u8]) -> Option<Filter> {
        if let Some(status) = expression.strip_prefix(b"status=") {
            return Some(Filter { answers: Some(Answers::parse(status)?), ..self });
        }
        let list = expression.strip_prefix(b"trace=").or(expression.strip_prefix(b"t=")).unwrap_or(expression);
        let Filter { labels, alone, .. } = Filter::parse(list)?;
        Some(Filter { labels, alone, ..self })
    }

    /// Shows these answers alone.
    #[must_use]
    pub fn with_answers(self, answers: Answers) -> Filter {
        Filter { answers: Some(answers), ..self }
    }

    /// Takes a list apart: names of operations (`read`), of protocols (`file`), of both
    /// (`file.read`), or names that strace has, with commas between. `?` before a name: it may be
    /// of nothing. `!` in front of the list: all but these.
    fn parse(list: &[u8]) -> Option<Filter> {
        let (alone, list) = list.strip_prefix(b"!").map_or((true, list), |rest| (false, rest));
        if list == b"none" {
            return Some(Filter { alone, ..Filter::default() });
        }
        let mut labels = Vec::new();
        for name in list.split(|byte| *byte == b',') {
            let (name, is_needed) = name.strip_prefix(b"?").map_or((name, true), |rest| (rest, false));
            let before = labels.len();
            let all = PROTOCOLS.iter().flat_map(|protocol| protocol.operations.iter());
            labels.extend(all.filter(|operation| is_named(operation, name)).map(|operation| operation.label));
            if labels.len() == before && is_needed {
                return None;
            }
        }
        labels.sort_unstable();
        labels.dedup();
        Some(Filter { labels, alone, answers: None })
    }

    /// Returns true if an operation is shown.
    #[inline]
    pub fn shows(&self, label: u32) -> bool {
        self.labels.binary_search(&label).is_ok() == self.alone
    }

    /// Returns true if an answer is shown.
    #[inline]
    pub fn shows_answer(&self, failed: bool) -> bool {
        match self.answers {
            None => true,
            Some(answers) => failed == (answers == Answers::Failed),
        }
    }

    /// Returns true if what is no message is shown, but for the end of a program, which always is.
    pub fn shows_others(&self) -> bool {
        !self.alone
    }
}

impl Answers {
    /// Takes an outcome by its name. strace's `unfinished`, `unavailable` and `detached` are of no
    /// message.
    fn parse(name: &[u8]) -> Option<Answers> {
        match name {
            b"successful" => Some(Answers::Successful),
            b"failed" => Some(Answers::Failed),
            _ => None,
        }
    }
}

fn is_named(operation: &Operation, name: &[u8]) -> bool {
    let (protocol, short) = (operation.protocol.as_bytes(), operation.name.as_bytes());
    let is_both = || name.strip_prefix(protocol).and_then(|rest| rest.strip_prefix(b".")) == Some(short);
    name == protocol || name == short || is_both() || linux_names::is_named(operation, name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nacre_proto::{directory, file};

    fn shown(list: &[u8]) -> [bool; 3] {
        let filter = Filter::default().with(list).unwrap();
        [file::read::LABEL, file::write::LABEL, directory::open::LABEL].map(|label| filter.shows(label))
    }

    #[test]
    fn operations_are_named_short_or_whole() {
        assert_eq!(shown(b"read"), [true, false, false]);
        assert_eq!(shown(b"trace=file.read,open"), [true, false, true]);
        assert_eq!(shown(b"file"), [true, true, false]);
        assert_eq!(shown(b"!file"), [false, false, true]);
        assert_eq!(Filter::default(), Filter { labels: Vec::new(), alone: false, answers: None });
        assert!(Filter::default().shows(file::read::LABEL));
    }

    #[test]
    fn strace_s_names_are_known() {
        assert_eq!(shown(b"t=openat,pread64"), [true, false, true]);
        assert_eq!((shown(b"trace=%file"), shown(b"trace=!%desc")), ([false, false, true], [false, false, true]));
        assert_eq!((shown(b"all"), shown(b"none"), shown(b"!none"), shown(b"!all")), ([true; 3], [false; 3], [true; 3], [false; 3]));
        assert_eq!(shown(b"?nonesuch,write"), [false, true, false]);
    }

    #[test]
    fn answers_are_chosen_beside_operations() {
        let filter = Filter::default().with(b"read").unwrap().with(b"status=failed").unwrap();
        assert_eq!((filter.shows(file::read::LABEL), filter.shows(file::write::LABEL)), (true, false));
        assert_eq!((filter.shows_answer(true), filter.shows_answer(false)), (true, false));
        assert_eq!(filter.clone().with(b"write").unwrap().shows_answer(false), false);
        assert_eq!((filter.with_answers(Answers::Successful).shows_answer(false), Filter::default().shows_answer(true)), (true, true));
    }

    #[test]
    fn names_of_nothing_are_refused() {
        for list in [&b""[..], b"!", b"nonesuch", b"file.", b"file.nonesuch", b"read,", b"filexread", b"%nonesuch", b"signal=SIGINT", b"status=detached"] {
            assert_eq!(Filter::default().with(list), None);
        }
    }
}
