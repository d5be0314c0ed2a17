//! Command lines of monitors, beside their manifests: numbers, complaints, suggestions, and the
//! exit status.

use crate::interpose::stage;
use crate::services::Services;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use nacre_manifest::Manifest;
pub use nacre_manifest::{Given, Stop};
use nacre_proto::directory;
use nacre_proto::flags::{O_CREAT, O_RDWR, O_TRUNC};
use nacre_sys::OwnedReference;

/// Exit status when the monitor itself cannot go on.
pub const FAILED: i32 = 125;

/// A number in decimal digits.
pub fn number(text: &[u8]) -> Option<u64> {
    core::str::from_utf8(text).ok()?.parse().ok()
}

/// A size in bytes, from 1 to 1 TiB: a number, and `K`, `M` or `G`.
pub fn size(text: &[u8]) -> Option<u64> {
    let (digits, shift) = match text.split_last()? {
        (b'k' | b'K', digits) => (digits, 10),
        (b'm' | b'M', digits) => (digits, 20),
        (b'g' | b'G', digits) => (digits, 30),
        _ => (text, 0),
    };
    number(digits)?.checked_mul(1 << shift).filter(|size| (1..=1u64 << 40).contains(size))
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

/// A question to be put behind a complaint: whether `word` was to be the candidate nearest to it.
/// Empty if none is near.
pub fn suggestion<'a>(word: &str, candidates: impl Iterator<Item = &'a str>) -> String {
    nearest(word, candidates).map_or(String::new(), |found| format!("; did you mean {found}?"))
}

/// Says why a monitor has nothing to run. Returns its exit status.
pub fn explain(manifest: &Manifest, stop: &Stop<'_>) -> i32 {
    let monitor = manifest.name;
    match stop {
        Stop::Help => {
            stage::show(&manifest.help().to_string());
            return 0;
        }
        Stop::NoProgram => complain(monitor, "name a program to run; -h shows how"),
        Stop::Unknown(name) => {
            let name = lossy(name);
            complain(monitor, &format!("there is no option {name}{}; -h shows all options", suggestion(&name, manifest.names())));
        }
        Stop::Value(name) => {
            let takes = manifest.choice(name).map_or(String::new(), |choice| format!(": {} - {}", choice.value.name().unwrap_or_default(), choice.help));
            complain(monitor, &format!("the value of {} is missing or wrong{takes}; -h lists all options", lossy(name)));
        }
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

    #[test]
    fn a_word_that_was_mistyped_finds_what_was_meant() {
        assert_eq!((distance("kitten", "sitting"), distance("", "ab"), distance("a", "a")), (3, 2, 0));
        assert_eq!(suggestion("consol", ["memory", "console"].into_iter()), "; did you mean console?");
        assert_eq!(suggestion("x", ["memory", "console"].into_iter()), "");
        assert_eq!(nearest("--wieght", ["--weight", "-s", "-h", "--help"].into_iter()), Some("--weight"));
    }

    #[test]
    fn numbers_are_decimal() {
        assert_eq!((number(b"12"), number(b"x"), number(b"-1"), number(b"99999999999999999999")), (Some(12), None, None, None));
    }
}
