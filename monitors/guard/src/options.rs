//! The command line: `guard [--allow RULE] [--deny RULE] [--policy FILE] [--audit FILE]
//! [--limit KIND=N] [--] PROGRAM [ARGUMENTS]`.

use alloc::vec::Vec;
use crate::manifest::MANIFEST;
use nacre_nest::command::{Given, Stop};

/// Source of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source<'a> {
    /// `--allow`.
    Allow(&'a [u8]),
    /// `--deny`.
    Deny(&'a [u8]),
    /// `--policy`: the path of a file.
    File(&'a [u8]),
}

/// A command line that was understood.
#[derive(Debug, PartialEq, Eq)]
pub struct Options<'a> {
    /// The policy's parts.
    pub rules: Vec<Source<'a>>,
    /// File for decisions.
    pub audit: Option<&'a [u8]>,
    /// Limits, as they were written.
    pub limits: Vec<&'a [u8]>,
    /// The program and its arguments; at least one.
    pub command: &'a [&'a [u8]],
}

/// Takes `arguments` (without the name of the command) apart.
pub fn parse<'a>(mut arguments: &'a [&'a [u8]]) -> Result<Options<'a>, Stop<'a>> {
    let (mut rules, mut audit, mut limits) = (Vec::new(), None, Vec::new());
    while let Some(Given { name, value, .. }) = MANIFEST.option(&mut arguments)? {
        match name {
            b"--allow" => rules.push(Source::Allow(value)),
            b"--deny" => rules.push(Source::Deny(value)),
            b"--limit" => limits.push(value),
            b"--policy" => rules.push(Source::File(value)),
            _ => audit = Some(value),
        }
    }
    if arguments.is_empty() { Err(Stop::NoProgram) } else { Ok(Options { rules, audit, limits, command: arguments }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_names_every_group() {
        let help = alloc::string::ToString::to_string(&MANIFEST.help());
        for group in crate::groups::GROUPS {
            assert!(help.contains(group.name), "{}", group.name);
        }
    }

    #[test]
    fn options_end_at_the_program() {
        let words: [&[u8]; 9] = [b"--deny", b"file.write /etc/*", b"--allow=console", b"--policy", b"p", b"--audit=-", b"--limit=files=9", b"ls", b"--allow"];
        let options = parse(&words).unwrap();
        assert_eq!(options.rules, [Source::Deny(b"file.write /etc/*"), Source::Allow(b"console"), Source::File(b"p")]);
        assert_eq!((options.audit, options.command.len()), (Some(&b"-"[..]), 2));
        assert_eq!(options.limits, [b"files=9"]);
        assert_eq!(parse(&[b"--", b"-x"]).unwrap().command, [b"-x"]);
    }

    #[test]
    fn what_cannot_be_run_is_told() {
        assert_eq!(parse(&[]), Err(Stop::NoProgram));
        assert_eq!(parse(&[b"--allow"]), Err(Stop::Value(b"--allow")));
        assert_eq!(parse(&[b"--alow", b"x", b"ls"]), Err(Stop::Unknown(b"--alow")));
        assert_eq!(parse(&[b"-h"]), Err(Stop::Help));
    }
}
