//! The command line: options as strace has them, and a
//! program.

use crate::clock::Stamp;
use crate::filter::{Answers, Filter};
use crate::manifest::MANIFEST;
use nacre_nest::command::{Given, Stop, number};

/// Maximum of bytes of each piece of data that a line shows, unless another is asked for.
pub const DATA_LIMIT: usize = 32;

/// Output about the messages that pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Show<'a> {
    /// One line each.
    Lines,
    /// One line each, in a file of this name.
    LinesIn(&'a [u8]),
    /// A table at the end.
    Counts,
    /// A file of trace events, by this name.
    Events(&'a [u8]),
    /// Output is dropped.
    Nothing,
}

/// A command line that was understood.
#[derive(Debug, PartialEq, Eq)]
pub struct Options<'a> {
    /// Output about messages.
    pub show: Show<'a>,
    /// Maximum of bytes of each piece of data that a line shows.
    pub data_limit: usize,
    /// The operations that are shown.
    pub filter: Filter,
    /// Time before each line.
    pub stamp: Option<Stamp>,
    /// Each line ends with the time that its answer took.
    pub tells_duration: bool,
    /// A file is written behind what it has.
    pub appends: bool,
    /// The program and its arguments; at least one.
    pub command: &'a [&'a [u8]],
}

/// Takes `arguments` (without the name of the command) apart.
pub fn parse<'a>(mut arguments: &'a [&'a [u8]]) -> Result<Options<'a>, Stop<'a>> {
    let mut show = Show::Lines;
    let mut options = Options { show, data_limit: DATA_LIMIT, filter: Filter::default(), stamp: None, tells_duration: false, appends: false, command: &[] };
    while let Some(Given { name, value, .. }) = MANIFEST.option(&mut arguments)? {
        match name {
            b"-c" => show = Show::Counts,
            b"-q" => show = Show::Nothing,
            b"-o" if value.ends_with(b".json") => show = Show::Events(value),
            b"-o" => show = Show::LinesIn(value),
            b"-e" => options.filter = options.filter.with(value).ok_or(Stop::Value(name))?,
            b"-z" => options.filter = options.filter.with_answers(Answers::Successful),
            b"-Z" => options.filter = options.filter.with_answers(Answers::Failed),
            b"-t" => options.stamp = Some(Stamp::Seconds),
            b"-tt" => options.stamp = Some(Stamp::Microseconds),
            b"-ttt" => options.stamp = Some(Stamp::Since1970),
            b"-r" => options.stamp = Some(Stamp::Relative),
            b"-T" => options.tells_duration = true,
            b"-A" => options.appends = true,
            // Children are always traced.
            b"-f" => {}
            _ => options.data_limit = number(value).ok_or(Stop::Value(name))? as usize,
        }
    }
    if arguments.is_empty() { Err(Stop::NoProgram) } else { Ok(Options { show, command: arguments, ..options }) }
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
        assert_eq!(parsed(&[b"-e", b"read", b"-o", b"t", b"ls"]), Ok((Show::LinesIn(b"t"), 32, 1)));
        assert_eq!(parsed(&[b"-q", b"trace", b"-q", b"true"]), Ok((Show::Nothing, 32, 3)));
    }

    #[test]
    fn words_that_strace_takes_are_taken() {
        let options = parse(&[b"-f", b"-tt", b"-T", b"-A", b"-e", b"trace=openat,read", b"-Z", b"-o", b"t", b"ls"]).unwrap();
        assert_eq!((options.stamp, options.tells_duration, options.appends, options.show), (Some(Stamp::Microseconds), true, true, Show::LinesIn(b"t")));
        assert_eq!((options.filter.shows_answer(false), options.filter.shows_answer(true)), (false, true));
        assert_eq!(parse(&[b"-r", b"ls"]).map(|options| options.stamp), Ok(Some(Stamp::Relative)));
    }

    #[test]
    fn what_cannot_be_run_is_told() {
        assert_eq!(parsed(&[]), Err(Stop::NoProgram));
        assert_eq!(parsed(&[b"--"]), Err(Stop::NoProgram));
        assert_eq!(parsed(&[b"-x", b"ls"]), Err(Stop::Unknown(b"-x")));
        assert_eq!(parsed(&[b"-s", b"many", b"ls"]), Err(Stop::Value(b"-s")));
        assert_eq!(parsed(&[b"-o"]), Err(Stop::Value(b"-o")));
        assert_eq!(parsed(&[b"-e", b"nonesuch", b"ls"]), Err(Stop::Value(b"-e")));
        assert_eq!(parsed(&[b"-h"]), Err(Stop::Help));
    }
}
