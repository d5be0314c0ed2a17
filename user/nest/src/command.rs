//! Command lines of monitors, and what they say of them: options, then the program that is run with its arguments.

use crate::interpose::stage;
use crate::services::Services;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use nacre_proto::directory;
use nacre_proto::flags::{O_CREAT, O_RDWR, O_TRUNC};
use nacre_sys::OwnedReference;

/// Exit status when the monitor itself cannot go on.
pub const FAILED: i32 = 125;

/// Why there is nothing to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop<'a> {
    /// `-h` or `--help`.
    Help,
    /// No program is named.
    NoProgram,
    /// This option does not exist.
    Unknown(&'a [u8]),
    /// This option needs a value, or another one.
    Value(&'a [u8]),
}

/// An option before a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Given<'a> {
    /// Its name, with its dashes.
    pub name: &'a [u8],
    /// Its value; empty if it has none.
    pub value: &'a [u8],
}

/// A word's option and the value that it carries itself: what follows `=`, or one letter.
fn split<'a>(word: &'a [u8], with_value: &[&[u8]]) -> (&'a [u8], Option<&'a [u8]>) {
    if word.starts_with(b"--") {
        return match word.iter().position(|byte| *byte == b'=') {
            Some(at) => (&word[..at], Some(&word[at + 1..])),
            None => (word, None),
        };
    }
    match word.split_at_checked(2) {
        Some((name, value)) if !value.is_empty() && with_value.contains(&name) => (name, Some(value)),
        _ => (word, None),
    }
}

/// Takes the next option off `words`, of those that there are `with_value` and `without` one; `None` where the program begins.
pub fn option<'a>(words: &mut &[&'a [u8]], with_value: &[&[u8]], without: &[&[u8]]) -> Result<Option<Given<'a>>, Stop<'a>> {
    let Some((word, rest)) = words.split_first().filter(|(word, _)| word.starts_with(b"-")) else { return Ok(None) };
    *words = rest;
    let (name, attached) = split(word, with_value);
    match *word {
        b"--" => Ok(None),
        b"-h" | b"--help" => Err(Stop::Help),
        _ if without.contains(word) => Ok(Some(Given { name, value: b"" })),
        _ if !with_value.contains(&name) => Err(Stop::Unknown(name)),
        _ => {
            let value = match attached {
                Some(value) => value,
                None => words.split_off_first().ok_or(Stop::Value(name))?,
            };
            Ok(Some(Given { name, value }))
        }
    }
}

/// A number in decimal digits.
pub fn number(text: &[u8]) -> Option<u64> {
    core::str::from_utf8(text).ok()?.parse().ok()
}

/// Bytes as text.
pub fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// One line of a monitor to whoever reads our messages.
pub fn complain(monitor: &str, text: &str) {
    stage::show(&format!("{monitor}: {text}\n"));
}

/// The candidate that differs least from `word`, if it differs in a third of its letters at most.
pub fn nearest<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let measured = candidates.map(|candidate| (distance(word, candidate), candidate));
    let (least, found) = measured.min_by_key(|(distance, _)| *distance)?;
    (3 * least <= word.len().max(3)).then_some(found)
}

/// Letters to insert, remove or change so that one word becomes the other (Levenshtein's distance).
fn distance(one: &str, other: &str) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (line, letter) in one.bytes().enumerate() {
        let mut diagonal = core::mem::replace(&mut row[0], line + 1);
        for (column, against) in other.bytes().enumerate() {
            let changed = diagonal + usize::from(letter != against);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

/// A question to be put behind a complaint: whether `word` was to be the candidate nearest to it. Empty if none is near.
pub fn suggestion<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> String {
    nearest(word, candidates).map_or(String::new(), |found| format!("; did you mean {found}?"))
}

/// Options that a help text describes.
fn options_of(help: &str) -> impl Iterator<Item = &str> {
    help.split([' ', ',', '\n', '[', ']']).filter(|word| word.len() > 1 && word.starts_with('-'))
}

/// Says why there is nothing to run: the exit status.
pub fn explain(monitor: &str, help: &str, stop: &Stop<'_>) -> i32 {
    match stop {
        Stop::Help => {
            stage::show(help);
            return 0;
        }
        Stop::NoProgram => complain(monitor, "name a program to run; -h shows how"),
        Stop::Unknown(name) => {
            let name = lossy(name);
            complain(monitor, &format!("there is no option {name}{}; -h shows all options", suggestion(&name, options_of(help))));
        }
        Stop::Value(name) => complain(monitor, &format!("option {} needs another value; -h shows which", lossy(name))),
    }
    FAILED
}

/// A file to write to, empty; or the sentence that says why not.
pub fn create(services: &Services, path: &[u8]) -> Result<OwnedReference, String> {
    let opened = directory::open(services.files(), O_RDWR | O_CREAT | O_TRUNC, 0o644, path);
    opened.map(|reply| reply.file).map_err(|errno| format!("cannot write {}: {errno}", lossy(path)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All options, and how many words are left.
    fn read<'a>(mut words: &[&'a [u8]]) -> Result<(Vec<(&'a [u8], &'a [u8])>, usize), Stop<'a>> {
        let mut found = Vec::new();
        while let Some(Given { name, value }) = option(&mut words, &[b"--weight", b"-s"], &[b"-q"])? {
            found.push((name, value));
        }
        Ok((found, words.len()))
    }

    #[test]
    fn options_end_at_the_program() {
        assert_eq!(read(&[b"ls", b"-q"]), Ok((Vec::new(), 2)));
        assert_eq!(read(&[b"--", b"-q"]), Ok((Vec::new(), 1)));
        assert_eq!(read(&[]), Ok((Vec::new(), 0)));
        let options: [(&[u8], &[u8]); 5] = [(b"-q", b""), (b"--weight", b"3"), (b"--weight", b"="), (b"-s", b"7"), (b"-s", b"--")];
        assert_eq!(read(&[b"-q", b"--weight", b"3", b"--weight==", b"-s7", b"-s", b"--", b"a"]), Ok((options.to_vec(), 1)));
    }

    #[test]
    fn a_word_that_was_mistyped_finds_what_was_meant() {
        assert_eq!((distance("kitten", "sitting"), distance("", "ab"), distance("a", "a")), (3, 2, 0));
        assert_eq!(suggestion("consol", ["memory", "console"].into_iter()), "; did you mean console?");
        assert_eq!(suggestion("x", ["memory", "console"].into_iter()), "");
        let help = "Usage: x [--weight N] [-s]\n\n  -h, --help  show this; the rest-of it\n";
        assert_eq!(options_of(help).collect::<Vec<_>>(), ["--weight", "-s", "-h", "--help"]);
        assert_eq!(nearest("--wieght", options_of(help)), Some("--weight"));
    }

    #[test]
    fn what_cannot_be_read_is_told() {
        assert_eq!(read(&[b"-q", b"--help"]), Err(Stop::Help));
        assert_eq!(read(&[b"-x"]), Err(Stop::Unknown(b"-x")));
        assert_eq!(read(&[b"--wait=1"]), Err(Stop::Unknown(b"--wait")));
        assert_eq!(read(&[b"-q1"]), Err(Stop::Unknown(b"-q1")));
        assert_eq!(read(&[b"-"]), Err(Stop::Unknown(b"-")));
        assert_eq!(read(&[b"--weight"]), Err(Stop::Value(b"--weight")));
        assert_eq!((number(b"12"), number(b"x"), number(b"-1"), number(b"99999999999999999999")), (Some(12), None, None, None));
    }
}
