//! The command line: `trace [-c] [-q] [-o FILE] [-s N] [--] PROGRAM [ARGUMENTS]`.

/// What `-h` shows.
pub const HELP: &str = "\
Usage: trace [-c] [-q] [-o FILE] [-s N] [--] PROGRAM [ARGUMENTS]

Runs PROGRAM and shows every message that crosses into or out of it, one a line, on the standard error.

  -o FILE  write a trace that Perfetto and chrome://tracing open, instead of the lines
  -c       instead of the lines, print at the end what each operation cost
  -q       show nothing at all: forward only
  -s N     show at most N bytes of each piece of data (32)
  -h       show this
";

/// What is done with the messages that are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show<'a> {
    /// One line each.
    Lines,
    /// A table at the end.
    Counts,
    /// A file of trace events, by this name.
    Events(&'a [u8]),
    /// Nothing.
    Nothing,
}

/// A command line that was understood.
#[derive(Debug, PartialEq, Eq)]
pub struct Options<'a> {
    /// What to show.
    pub show: Show<'a>,
    /// How many bytes of data a line shows.
    pub data_limit: usize,
    /// The program and its arguments; at least one.
    pub command: &'a [&'a [u8]],
}

/// Why there is nothing to run.
#[derive(Debug, PartialEq, Eq)]
pub enum Stop<'a> {
    /// `-h`.
    Help,
    /// No program is named.
    NoProgram,
    /// This option does not exist.
    Unknown(&'a [u8]),
    /// This option needs a value, or another one.
    Value(&'a [u8]),
}

fn number(text: &[u8]) -> Option<usize> {
    core::str::from_utf8(text).ok()?.parse().ok()
}

/// Takes `arguments` (without the name of the command) apart.
pub fn parse<'a>(mut arguments: &'a [&'a [u8]]) -> Result<Options<'a>, Stop<'a>> {
    let mut show = Show::Lines;
    let mut data_limit = 32;
    while let Some((option, rest)) = arguments.split_first().filter(|(first, _)| first.starts_with(b"-")) {
        arguments = rest;
        match *option {
            b"--" => break,
            b"-c" => show = Show::Counts,
            b"-q" => show = Show::Nothing,
            b"-h" | b"--help" => return Err(Stop::Help),
            [b'-', letter @ (b'o' | b's'), attached @ ..] => {
                let name: &[u8] = if *letter == b'o' { b"-o" } else { b"-s" };
                let value = match (attached, rest.split_first()) {
                    ([], Some((value, rest))) => {
                        arguments = rest;
                        value
                    }
                    ([], None) => return Err(Stop::Value(name)),
                    _ => attached,
                };
                match letter {
                    b'o' => show = Show::Events(value),
                    _ => data_limit = number(value).ok_or(Stop::Value(name))?,
                }
            }
            _ => return Err(Stop::Unknown(option)),
        }
    }
    if arguments.is_empty() { Err(Stop::NoProgram) } else { Ok(Options { show, data_limit, command: arguments }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed<'a>(arguments: &'a [&'a [u8]]) -> Result<(Show<'a>, usize, usize), Stop<'a>> {
        parse(arguments).map(|options| (options.show, options.data_limit, options.command.len()))
    }

    #[test]
    fn options_end_at_the_program() {
        assert_eq!(parsed(&[b"ls", b"-c"]), Ok((Show::Lines, 32, 2)));
        assert_eq!(parsed(&[b"-c", b"-s", b"9", b"ls"]), Ok((Show::Counts, 9, 1)));
        assert_eq!(parsed(&[b"-o", b"/t.json", b"--", b"-odd", b"x"]), Ok((Show::Events(b"/t.json"), 32, 2)));
        assert_eq!(parsed(&[b"-s7", b"-ot.json", b"ls"]), Ok((Show::Events(b"t.json"), 7, 1)));
        assert_eq!(parsed(&[b"-q", b"trace", b"-q", b"true"]), Ok((Show::Nothing, 32, 3)));
    }

    #[test]
    fn what_cannot_be_run_is_told() {
        assert_eq!(parsed(&[]), Err(Stop::NoProgram));
        assert_eq!(parsed(&[b"--"]), Err(Stop::NoProgram));
        assert_eq!(parsed(&[b"-x", b"ls"]), Err(Stop::Unknown(b"-x")));
        assert_eq!(parsed(&[b"-s", b"many", b"ls"]), Err(Stop::Value(b"-s")));
        assert_eq!(parsed(&[b"-o"]), Err(Stop::Value(b"-o")));
        assert_eq!(parsed(&[b"-h"]), Err(Stop::Help));
    }
}
