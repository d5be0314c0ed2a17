//! The command line: `guard [--allow RULE] [--deny RULE] [--policy FILE] [--audit FILE] [--] PROGRAM [ARGUMENTS]`.

use alloc::vec::Vec;
use nacre_nest::command::{Given, Stop, option};

/// What `-h` shows.
pub const HELP: &str = "\
Usage: guard [--allow RULE] [--deny RULE] [--policy FILE] [--audit FILE] [--] PROGRAM [ARGUMENTS]

Runs PROGRAM and lets it do only what rules allow. What no rule allows is denied; a rule that denies wins over those that allow.

  --allow RULE   allow what RULE names: `PROTOCOL.CALL [PATTERN]`, `PROTOCOL.*`, `*`,
                 or a group: console, memory, clock, report, process, channel, read [PATTERN], write [PATTERN];
                 beyond what the program makes itself: console-control, terminals, process:outside, channel:outside
  --deny RULE    deny it
  --policy FILE  rules from a file: lines `allow RULE` and `deny RULE`
  --audit FILE   write every decision to FILE as a line of JSON; - is the standard error
  -h, --help     show this

In a PATTERN * is any part of a name, ** anything, and a /** at the end a directory with all below it.
  guard --allow console --allow memory --allow 'read /bin/**' --deny 'file.read /bin/su' ls /bin
";

/// Where rules come from.
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
    /// Where decisions are written.
    pub audit: Option<&'a [u8]>,
    /// The program and its arguments; at least one.
    pub command: &'a [&'a [u8]],
}

/// Takes `arguments` (without the name of the command) apart.
pub fn parse<'a>(mut arguments: &'a [&'a [u8]]) -> Result<Options<'a>, Stop<'a>> {
    let (mut rules, mut audit) = (Vec::new(), None);
    while let Some(Given { name, value }) = option(&mut arguments, &[b"--allow", b"--deny", b"--policy", b"--audit"], &[])? {
        match name {
            b"--allow" => rules.push(Source::Allow(value)),
            b"--deny" => rules.push(Source::Deny(value)),
            b"--policy" => rules.push(Source::File(value)),
            _ => audit = Some(value),
        }
    }
    if arguments.is_empty() { Err(Stop::NoProgram) } else { Ok(Options { rules, audit, command: arguments }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_names_every_group() {
        for group in crate::groups::GROUPS {
            assert!(HELP.contains(group.name), "{}", group.name);
        }
    }

    #[test]
    fn options_end_at_the_program() {
        let words: [&[u8]; 8] = [b"--deny", b"file.write /etc/*", b"--allow=console", b"--policy", b"p", b"--audit=-", b"ls", b"--allow"];
        let options = parse(&words).unwrap();
        assert_eq!(options.rules, [Source::Deny(b"file.write /etc/*"), Source::Allow(b"console"), Source::File(b"p")]);
        assert_eq!((options.audit, options.command.len()), (Some(&b"-"[..]), 2));
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
