//! `doc/linux.md`: of each call of Linux's, whether it is complete, by what the programs of
//! `tests/linux` look at and what of it is expected to differ.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::sources::{KnownDifferences, Test};

/// Columns of a line of prose.
const COLUMNS: usize = 100;

/// First lines of the page.
const HEAD: &str = "\
# Linux's calls

Each system call of Linux on x86-64, and how far it behaves here as on Linux. This page is made
from the heads of the programs in `tests/linux/programs`, from `tests/linux/absent.txt`, and from
the table in `user/linux/src/entry/call_table.rs`. `./nacre test --ring linux` runs each program on
Debian's Linux and on Nacre and compares the output. `UPDATE=1 cargo test -p nacre linux` renews the
page.

*complete*: all programs about the call print the same on both systems. *partial*: some do not; the
last column says what they test. *absent*: all programs differ, or the call does not exist here.
*untested*: the call exists, and no program is about it.

";

/// Tests of one call.
#[derive(Default)]
struct Known<'a> {
    tests: Vec<&'a Test>,
    lacks: Vec<(&'a Test, &'a str)>,
    is_there: bool,
}

impl Known<'_> {
    fn state(&self) -> &'static str {
        match (self.tests.len(), self.lacks.len()) {
            (0, _) if self.is_there => "untested",
            (0, _) => "absent",
            (_, 0) => "complete",
            (tests, lacks) if tests == lacks => "absent",
            _ => "partial",
        }
    }
}

/// The names of the calls, in the order of their numbers, from the library's list: all strings of
/// `names.rs` before its tests.
fn names(source: &str) -> Vec<&str> {
    let source = source.split("#[cfg(test)]").next().unwrap_or_default();
    let lists = source.lines().filter(|line| line.trim_start().starts_with('"'));
    lists.flat_map(|line| line.split('"').skip(1).step_by(2)).collect()
}

/// The numbers that have a handler, from the library's table: lines `12 module::function;`.
fn numbers(source: &str) -> Vec<usize> {
    source.lines().filter_map(|line| line.trim().strip_suffix(';')?.split_once(' ')?.0.parse().ok()).collect()
}

/// Returns the number of the call at this index. Between the two lists there are no calls.
fn number(index: usize) -> usize {
    if index < 335 { index } else { index - 335 + 424 }
}

/// The page.
pub fn page(tests: &[Test], absent: &KnownDifferences, names_source: &str, table_source: &str) -> String {
    let there = numbers(table_source);
    let mut known: BTreeMap<usize, (&str, Known<'_>)> = BTreeMap::new();
    for (index, name) in names(names_source).into_iter().enumerate() {
        let mut entry = Known { is_there: there.contains(&number(index)), ..Known::default() };
        for test in tests.iter().filter(|test| test.calls.iter().any(|call| call == name)) {
            entry.tests.push(test);
            entry.lacks.extend(test.kinds.iter().find_map(|kind| absent.reason(test, *kind)).map(|reason| (test, reason)));
        }
        known.insert(number(index), (name, entry));
    }
    let mut text = HEAD.to_string();
    let count = |state: &str| known.values().filter(|(_, entry)| entry.state() == state).count();
    // Writing to a string cannot fail.
    let _ = writeln!(
        text,
        "{} programs. Calls: {} complete, {} partial, {} absent, {} untested.\n",
        tests.len(),
        count("complete"),
        count("partial"),
        count("absent"),
        count("untested")
    );
    text.push_str("| number | call | state | programs | what is missing |\n| --- | --- | --- | --- | --- |\n");
    for (number, (name, entry)) in known.iter().filter(|(_, (_, entry))| entry.is_there || !entry.tests.is_empty()) {
        let lacks: Vec<String> = entry.lacks.iter().map(|(test, reason)| format!("{} ({}): {reason}", test.covers, test.name)).collect();
        let _ = writeln!(text, "| {number} | `{name}` | {} | {} | {} |", entry.state(), entry.tests.len(), lacks.join("; "));
    }
    let rest = known.values().filter(|(_, entry)| !entry.is_there && entry.tests.is_empty()).map(|(name, _)| format!("`{name}`"));
    let rest = format!("Calls that do not exist here, and that no program tests: {}.", rest.collect::<Vec<_>>().join(", "));
    let _ = writeln!(text, "\n{}", wrapped(&rest));
    text
}

/// Returns the words of `text`, in lines of at most 100 columns.
fn wrapped(text: &str) -> String {
    let (mut lines, mut line) = (Vec::new(), String::new());
    for word in text.split(' ') {
        if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > COLUMNS {
            lines.push(std::mem::take(&mut line));
        }
        line.push_str(if line.is_empty() { "" } else { " " });
        line.push_str(word);
    }
    lines.push(line);
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::rings::linux::sources;
    use crate::tree::Tree;

    #[test]
    fn the_page_is_as_its_sources_say() {
        let tree = Tree::find().unwrap();
        let read = |path: &str| fs::read_to_string(tree.path(path)).unwrap();
        let (tests, absent) = (sources::tests(&tree).unwrap(), KnownDifferences::read(&tree).unwrap());
        let page = page(&tests, &absent, &read("user/linux/src/abi/call_names.rs"), &read("user/linux/src/entry/call_table.rs"));
        if std::env::var_os("UPDATE").is_some() {
            fs::write(tree.path("doc/linux.md"), &page).unwrap();
        }
        assert!(read("doc/linux.md") == page, "doc/linux.md is not as its sources say: UPDATE=1 cargo test -p nacre linux");
    }

    #[test]
    fn every_program_is_about_a_call_that_there_is() {
        let tree = Tree::find().unwrap();
        let source = fs::read_to_string(tree.path("user/linux/src/abi/call_names.rs")).unwrap();
        let names = names(&source);
        for test in sources::tests(&tree).unwrap() {
            for call in &test.calls {
                assert!(names.contains(&call.as_str()), "{}: there is no call {call}", test.name);
            }
        }
    }

    #[test]
    fn a_call_is_partial_if_some_of_it_differs() {
        let test = |name: &str| Test { name: name.into(), calls: vec!["read".into()], covers: "x".into(), kinds: sources::Kind::ALL.to_vec() };
        let (one, two) = (test("one"), test("two"));
        let known = |lacks: &[&'static str]| {
            let lacks = lacks.iter().map(|reason| (&one, *reason)).collect();
            Known { tests: vec![&one, &two], lacks, is_there: true }.state()
        };
        assert_eq!([known(&[]), known(&["why"]), known(&["why", "why"])], ["complete", "partial", "absent"]);
        assert_eq!(Known { is_there: true, ..Known::default() }.state(), "untested");
    }
}
