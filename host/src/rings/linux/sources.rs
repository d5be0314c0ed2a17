//! Reads what describes the tests of Linux's calls: the heads of the C files in
//! `tests/linux/programs`, and `tests/linux/absent.txt`.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use crate::failure::{Class, Context, Failure, Outcome};
use crate::tree::Tree;

/// Way to compile and link a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Static, with glibc.
    Glibc,
    /// Static, with musl.
    Musl,
    /// Linked with glibc as a library of its own.
    Dynamic,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 3] = [Kind::Glibc, Kind::Musl, Kind::Dynamic];

    /// The name of its file.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Glibc => "glibc",
            Kind::Musl => "musl",
            Kind::Dynamic => "dynamic",
        }
    }

    fn find(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// One program: `/* call: read, dup; covers: what is looked at; also: musl dynamic */`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// The file's name without its ending.
    pub name: String,
    /// The calls that it is about.
    pub calls: Vec<String>,
    /// Part of the calls that the program looks at.
    pub covers: String,
    /// Ways to build the program.
    pub kinds: Vec<Kind>,
}

impl Test {
    /// Reads the first line of a file.
    fn of_head(name: &str, head: &str) -> Option<Test> {
        let text = head.strip_prefix("/* call: ")?.strip_suffix(" */")?;
        let (calls, rest) = text.split_once("; covers: ")?;
        let (covers, also) = rest.split_once("; also: ").unwrap_or((rest, ""));
        let mut kinds = vec![Kind::Glibc];
        for word in also.split_whitespace() {
            kinds.push(Kind::find(word)?);
        }
        let calls = calls.split(", ").map(str::to_string).collect();
        Some(Test { name: name.to_string(), calls, covers: covers.to_string(), kinds })
    }
}

/// Returns the folder of the programs.
pub fn folder(tree: &Tree) -> PathBuf {
    tree.path("tests/linux/programs")
}

/// All programs, by name.
pub fn tests(tree: &Tree) -> Outcome<Vec<Test>> {
    let folder = folder(tree);
    let cannot = || format!("cannot read the directory {}", folder.display());
    let mut tests = Vec::new();
    for entry in fs::read_dir(&folder).context(Class::File, cannot)? {
        let path = entry.context(Class::File, cannot)?.path();
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        if path.extension().is_none_or(|extension| extension != "c") || name == "common" {
            continue;
        }
        let text = fs::read_to_string(&path).context(Class::File, || format!("cannot read {}", path.display()))?;
        let test = Test::of_head(name, text.lines().next().unwrap_or_default());
        tests.push(test.ok_or_else(|| Failure::new(Class::File, format!("{}: no head that says what it is about", path.display())))?);
    }
    tests.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(tests)
}

/// Expected differences and their reasons: of a program, or of a program built in one way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownDifferences(BTreeMap<String, String>);

impl KnownDifferences {
    /// Reads lines `NAME: REASON` and `NAME KIND: REASON`.
    pub fn read(tree: &Tree) -> Outcome<KnownDifferences> {
        KnownDifferences::read_file(tree, "tests/linux/absent.txt")
    }

    /// Reads lines `NAME MONITOR...: REASON`: what is expected to differ below a monitor, too.
    pub fn read_below(tree: &Tree) -> Outcome<KnownDifferences> {
        KnownDifferences::read_file(tree, "tests/linux/below.txt")
    }

    fn read_file(tree: &Tree, path: &str) -> Outcome<KnownDifferences> {
        let path = tree.path(path);
        let text = fs::read_to_string(&path).context(Class::File, || format!("cannot read {}", path.display()))?;
        KnownDifferences::parse(&text).map_err(|line| Failure::new(Class::File, format!("{}: `{line}` is no name and reason", path.display())))
    }

    fn parse(text: &str) -> Result<KnownDifferences, String> {
        let mut reasons = BTreeMap::new();
        for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (name, reason) = line.split_once(": ").ok_or(line)?;
            if reasons.insert(name.to_string(), reason.to_string()).is_some() {
                return Err(line.to_string());
            }
        }
        Ok(KnownDifferences(reasons))
    }

    /// Returns the reason why this program, built so, is expected to differ.
    pub fn reason(&self, test: &Test, kind: Kind) -> Option<&str> {
        let so = format!("{} {}", test.name, kind.name());
        self.0.get(&test.name).or_else(|| self.0.get(&so)).map(String::as_str)
    }

    /// Returns the reason why this program is expected to differ below these monitors: of a line
    /// that names some of them, and no other.
    pub fn reason_below(&self, test: &Test, below: &str) -> Option<&str> {
        let is_meant = |key: &str| {
            let mut words = key.split(' ');
            words.next() == Some(&test.name) && words.all(|word| below.split_whitespace().any(|monitor| monitor == word))
        };
        self.0.iter().find(|(key, _)| is_meant(key)).map(|(_, reason)| reason.as_str())
    }

    /// Names that no program has.
    pub fn strangers<'a>(&'a self, tests: &'a [Test]) -> impl Iterator<Item = &'a str> {
        let known = |name: &str| match name.split_once(' ') {
            None => tests.iter().any(|test| test.name == name),
            Some((name, kind)) => tests.iter().any(|test| test.name == name && test.kinds.iter().any(|known| known.name() == kind)),
        };
        self.0.keys().map(String::as_str).filter(move |name| !known(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_says_what_a_program_is_about() {
        let test = Test::of_head("x", "/* call: read, dup; covers: this, that; also: musl */").unwrap();
        assert_eq!((test.calls, test.covers.as_str()), (vec!["read".to_string(), "dup".to_string()], "this, that"));
        assert_eq!(test.kinds, [Kind::Glibc, Kind::Musl]);
        for wrong in ["", "/* call: read */", "/* call: read; covers: x; also: rust */", "call: read; covers: x"] {
            assert_eq!(Test::of_head("x", wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_is_absent_has_a_reason_and_a_program() {
        let absent = KnownDifferences::parse("# comment\na: no such call\nb musl: other\n").unwrap();
        let test = |name: &str| Test { name: name.into(), calls: vec![], covers: String::new(), kinds: vec![Kind::Glibc, Kind::Musl] };
        assert_eq!(absent.reason(&test("a"), Kind::Musl), Some("no such call"));
        assert_eq!(absent.reason(&test("b"), Kind::Glibc), None);
        assert_eq!(absent.reason(&test("b"), Kind::Musl), Some("other"));
        assert_eq!(absent.strangers(&[test("b")]).collect::<Vec<_>>(), ["a"]);
        assert_eq!(absent.reason_below(&test("b"), "process musl -q"), Some("other"));
        assert_eq!(absent.reason_below(&test("b"), "process"), None);
        assert!(KnownDifferences::parse("a\n").is_err() && KnownDifferences::parse("a: x\na: y\n").is_err());
    }
}
