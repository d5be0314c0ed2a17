//! The command line: `debug [--run] [-q] [--] PROGRAM [ARGUMENTS]`.

use crate::manifest::MANIFEST;
use nacre_nest::command::{Given, Stop};

/// A command line that was understood.
#[derive(Debug, PartialEq, Eq)]
pub struct Options<'a> {
    /// The program does not wait for gdb.
    pub runs: bool,
    /// True if a machine without the line is no news.
    pub is_quiet: bool,
    /// The program and its arguments; at least one.
    pub command: &'a [&'a [u8]],
}

/// Takes `arguments` (without the name of the command) apart.
pub fn parse<'a>(mut arguments: &'a [&'a [u8]]) -> Result<Options<'a>, Stop<'a>> {
    let (mut runs, mut is_quiet) = (false, false);
    while let Some(Given { name, .. }) = MANIFEST.option(&mut arguments)? {
        match name {
            b"--run" => runs = true,
            _ => is_quiet = true,
        }
    }
    if arguments.is_empty() { Err(Stop::NoProgram) } else { Ok(Options { runs, is_quiet, command: arguments }) }
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
}
