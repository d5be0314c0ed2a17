//! The command line: `debug [--run] [-q] [--record FILE] [--] PROGRAM [ARGUMENTS]`, or
//! `debug [--run] [-q] --replay FILE`.

use crate::manifest::MANIFEST;
use nacre_nest::command::{Given, Stop};

/// A command line that was understood.
#[derive(Debug, PartialEq, Eq)]
pub struct Options<'a> {
    /// The program does not wait for gdb.
    pub runs: bool,
    /// True if a machine without the line is no news.
    pub is_quiet: bool,
    /// File that what crosses the boundary of the program is written to.
    pub record: Option<&'a [u8]>,
    /// File that the program is run by.
    pub replay: Option<&'a [u8]>,
    /// The program and its arguments; at least one, but for a replay, which has none.
    pub command: &'a [&'a [u8]],
}

/// Takes `arguments` (without the name of the command) apart.
pub fn parse<'a>(mut arguments: &'a [&'a [u8]]) -> Result<Options<'a>, Stop<'a>> {
    let (mut runs, mut is_quiet, mut record, mut replay) = (false, false, None, None);
    while let Some(Given { name, value, .. }) = MANIFEST.option(&mut arguments)? {
        match name {
            b"--run" => runs = true,
            b"--record" => record = Some(value),
            b"--replay" => replay = Some(value),
            _ => is_quiet = true,
        }
    }
    match (arguments, replay) {
        ([], None) => Err(Stop::NoProgram),
        // What is run by a recording stands in the recording.
        ([_, ..], Some(_)) => Err(Stop::Value(b"--replay")),
        (_, Some(_)) if record.is_some() => Err(Stop::Value(b"--record")),
        _ => Ok(Options { runs, is_quiet, record, replay, command: arguments }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_end_at_the_program() {
        let parsed = |words: &'static [&'static [u8]]| parse(words).map(|options| (options.runs, options.is_quiet, options.command.len()));
        assert_eq!(parsed(&[b"ls", b"-q"]), Ok((false, false, 2)));
        assert_eq!(parsed(&[b"--run", b"-q", b"--", b"-odd"]), Ok((true, true, 1)));
        assert_eq!(parsed(&[b"-q"]), Err(Stop::NoProgram));
        assert_eq!(parsed(&[b"--gdb", b"ls"]), Err(Stop::Unknown(b"--gdb")));
    }

    #[test]
    fn a_replay_has_its_program_with_it() {
        let tapes = |words: &'static [&'static [u8]]| parse(words).map(|options| (options.record, options.replay));
        assert_eq!(tapes(&[b"--record", b"f", b"ls"]), Ok((Some(&b"f"[..]), None)));
        assert_eq!(tapes(&[b"--replay", b"f"]), Ok((None, Some(&b"f"[..]))));
        assert_eq!(tapes(&[b"--replay", b"f", b"ls"]), Err(Stop::Value(b"--replay")));
        assert_eq!(tapes(&[b"--replay", b"f", b"--record", b"g"]), Err(Stop::Value(b"--record")));
        assert_eq!(tapes(&[b"--record", b"f"]), Err(Stop::NoProgram));
    }
}
