//! Options of a command line, as words before a program.

use crate::{Choice, Manifest, Value};

/// Reason why there is nothing to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop<'a> {
    /// `-h` or `--help` was given.
    Help,
    /// The command names no program.
    NoProgram,
    /// An option does not exist.
    Unknown(&'a [u8]),
    /// An option needs a value, or another one.
    Value(&'a [u8]),
}

/// An option before a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Given<'a> {
    /// Name of the option, with its dashes.
    pub name: &'a [u8],
    /// Value of the option; empty if it has none.
    pub value: &'a [u8],
    /// Declaration of the option.
    pub choice: &'static Choice,
}

impl Manifest {
    /// Takes the next option off `words`. Returns `None` where the program begins.
    pub fn option<'a>(&self, words: &mut &[&'a [u8]]) -> Result<Option<Given<'a>>, Stop<'a>> {
        let Some((word, rest)) = words.split_first().filter(|(word, _)| word.starts_with(b"-")) else { return Ok(None) };
        *words = rest;
        if matches!(*word, b"--") {
            return Ok(None);
        }
        if matches!(*word, b"-h" | b"--help") {
            return Err(Stop::Help);
        }
        let (name, attached) = self.split(word);
        let choice = self.choice(name).ok_or(Stop::Unknown(name))?;
        let value = match (choice.value, attached) {
            (Value::None, None) => b"",
            (Value::None, Some(_)) => return Err(Stop::Unknown(word)),
            (_, Some(value)) => value,
            (_, None) => words.split_off_first().ok_or(Stop::Value(name))?,
        };
        Ok(Some(Given { name, value, choice }))
    }

    /// Splits a word into its option and the value that it carries: all behind `=`, or behind one
    /// letter that takes a value.
    fn split<'a>(&self, word: &'a [u8]) -> (&'a [u8], Option<&'a [u8]>) {
        if word.starts_with(b"--") {
            return match word.iter().position(|byte| *byte == b'=') {
                Some(at) => (&word[..at], Some(&word[at + 1..])),
                None => (word, None),
            };
        }
        let takes_value = |name| self.choice(name).is_some_and(|choice| choice.value != Value::None);
        match word.split_at_checked(2) {
            Some((name, value)) if !value.is_empty() && takes_value(name) => (name, Some(value)),
            _ => (word, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Programs;

    const MANIFEST: Manifest = Manifest {
        name: "example",
        summary: "",
        programs: Programs::One,
        options: &[Choice::new("--weight", Value::Text("N"), ""), Choice::new("-s", Value::Text("N"), ""), Choice::new("-q", Value::None, ""), Choice::new("--all", Value::None, "")],
        notes: "",
        hands_on: "",
    };

    /// Compares the options of `words` with `wanted`, and the number of words that are left.
    fn reads(mut words: &[&[u8]], wanted: &[(&[u8], &[u8])], left: usize) -> bool {
        wanted.iter().all(|(name, value)| MANIFEST.option(&mut words).is_ok_and(|given| given.is_some_and(|given| (given.name, given.value) == (*name, *value))))
            && MANIFEST.option(&mut words) == Ok(None)
            && words.len() == left
    }

    #[test]
    fn options_end_at_the_program() {
        assert!(reads(&[b"ls", b"-q"], &[], 2));
        assert!(reads(&[b"--", b"-q"], &[], 1));
        assert!(reads(&[], &[], 0));
        let options: [(&[u8], &[u8]); 6] = [(b"-q", b""), (b"--all", b""), (b"--weight", b"3"), (b"--weight", b"="), (b"-s", b"7"), (b"-s", b"--")];
        assert!(reads(&[b"-q", b"--all", b"--weight", b"3", b"--weight==", b"-s7", b"-s", b"--", b"a"], &options, 1));
    }

    #[test]
    fn words_that_cannot_be_read_are_named() {
        for (word, stop) in [
            (&b"--help"[..], Stop::Help),
            (b"-h", Stop::Help),
            (b"-x", Stop::Unknown(b"-x")),
            (b"--wait=1", Stop::Unknown(b"--wait")),
            (b"--all=1", Stop::Unknown(b"--all=1")),
            (b"-q1", Stop::Unknown(b"-q1")),
            (b"-", Stop::Unknown(b"-")),
            (b"--weight", Stop::Value(b"--weight")),
        ] {
            assert_eq!(MANIFEST.option(&mut &[word][..]), Err(stop));
        }
    }
}
