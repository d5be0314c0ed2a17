//! The command line: `share-cpu [--policy NAME] [OPTIONS] PROGRAM [ARGUMENTS] [: [OPTIONS] PROGRAM [ARGUMENTS]]...`.

use alloc::vec::Vec;
use nacre_sched::Claim;

/// What `-h` shows.
pub const HELP: &str = "\
Usage: share-cpu [--policy NAME] [--weight N] [--priority N] [--] PROGRAM [ARGUMENTS] [: [--weight N] [--priority N] [--] PROGRAM [ARGUMENTS]]...

Runs the programs beside each other, and divides the CPU time that it has itself among them. Its status is the first one's.

  --policy NAME   how: stride (the default), lottery, round-robin, priority
  --weight N      the share of the program that follows, beside those of the others (1)
  --priority N    its priority: the highest has all that it wants (0)
  -h, --help      show this

A word :: is handed on as :, ::: as ::, and so on: they belong to a share-cpu that is run by this one.
  share-cpu --weight 3 sh -c 'while :; do :; done' : sh
";

/// How time is divided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PolicyName {
    /// As weights say, exactly.
    #[default]
    Stride,
    /// As weights say, by chance.
    Lottery,
    /// Equally.
    RoundRobin,
    /// As priorities say.
    Priority,
}

/// One program and what it may claim.
#[derive(Debug, PartialEq, Eq)]
pub struct Share<'a> {
    /// Of the time.
    pub claim: Claim,
    /// The program and its arguments; at least one.
    pub command: Vec<&'a [u8]>,
}

/// A command line that was understood.
#[derive(Debug, PartialEq, Eq)]
pub struct Options<'a> {
    /// How.
    pub policy: PolicyName,
    /// Among whom.
    pub shares: Vec<Share<'a>>,
}

/// Why there is nothing to run.
#[derive(Debug, PartialEq, Eq)]
pub enum Stop<'a> {
    /// `-h`.
    Help,
    /// No program is named, at the end or before a colon.
    NoProgram,
    /// This option does not exist.
    Unknown(&'a [u8]),
    /// This option has no value that it can be given.
    Value(&'a [u8]),
}

/// An option's name and its value, if it has one after `=`.
fn split(option: &[u8]) -> (&[u8], Option<&[u8]>) {
    match option.iter().position(|byte| *byte == b'=') {
        Some(at) => (&option[..at], Some(&option[at + 1..])),
        None => (option, None),
    }
}

/// A number from 0 to 1,000,000.
fn number(text: &[u8]) -> Option<u64> {
    let number: u64 = core::str::from_utf8(text).ok()?.parse().ok()?;
    (number <= 1_000_000).then_some(number)
}

fn policy(text: &[u8]) -> Option<PolicyName> {
    match text {
        b"stride" => Some(PolicyName::Stride),
        b"lottery" => Some(PolicyName::Lottery),
        b"round-robin" => Some(PolicyName::RoundRobin),
        b"priority" => Some(PolicyName::Priority),
        _ => None,
    }
}

/// Reads the options before one program; where it stands.
fn share_options<'a>(words: &[&'a [u8]], claim: &mut Claim, name: &mut PolicyName) -> Result<usize, Stop<'a>> {
    let mut at = 0;
    while let Some(option) = words.get(at).filter(|word| word.starts_with(b"-")) {
        at += 1;
        let (option, attached) = split(option);
        if matches!(option, b"-h" | b"--help") {
            return Err(Stop::Help);
        }
        if option == b"--" {
            break;
        }
        if !matches!(option, b"--weight" | b"--priority" | b"--policy") {
            return Err(Stop::Unknown(option));
        }
        let value = attached.or_else(|| words.get(at).copied()).ok_or(Stop::Value(option))?;
        at += usize::from(attached.is_none());
        match option {
            b"--weight" => claim.weight = number(value).filter(|weight| *weight > 0).ok_or(Stop::Value(option))?,
            b"--priority" => claim.priority = number(value).ok_or(Stop::Value(option))?,
            _ => *name = policy(value).ok_or(Stop::Value(option))?,
        }
    }
    Ok(at)
}

/// Reads a command line, without the name of this program.
pub fn parse<'a>(words: &[&'a [u8]]) -> Result<Options<'a>, Stop<'a>> {
    let mut options = Options { policy: PolicyName::default(), shares: Vec::new() };
    for words in words.split(|word| *word == b":") {
        let mut claim = Claim::default();
        let start = share_options(words, &mut claim, &mut options.policy)?;
        let command: Vec<&[u8]> = words[start..].iter().map(|word| unquote(word)).collect();
        if command.is_empty() {
            return Err(Stop::NoProgram);
        }
        options.shares.push(Share { claim, command });
    }
    Ok(options)
}

/// A word of colons alone loses one of them.
fn unquote(word: &[u8]) -> &[u8] {
    if word.len() > 1 && word.iter().all(|byte| *byte == b':') { &word[1..] } else { word }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<'a>(words: &[&'a str]) -> Result<Options<'a>, Stop<'a>> {
        parse(&words.iter().map(|word| word.as_bytes()).collect::<Vec<_>>())
    }

    #[test]
    fn programs_stand_between_colons() {
        let options = read(&["--policy=lottery", "--weight", "3", "a", "-x", ":", "--priority", "2", "--", "b", "::", ":::"]).expect("options");
        assert_eq!(options.policy, PolicyName::Lottery);
        let shares = [Share { claim: Claim { weight: 3, priority: 0 }, command: [&b"a"[..], b"-x"].to_vec() }, Share { claim: Claim { weight: 1, priority: 2 }, command: [&b"b"[..], b":", b"::"].to_vec() }];
        assert_eq!(options.shares, shares);
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        assert_eq!(read(&["--help"]), Err(Stop::Help));
        for words in [&[][..], &["a", ":"], &[":", "a"], &["--weight", "1"]] {
            assert_eq!(read(words), Err(Stop::NoProgram), "{words:?}");
        }
        assert_eq!(read(&["-q", "a"]), Err(Stop::Unknown(b"-q")));
        for words in [["--weight", "0"], ["--weight", "x"], ["--priority", "-1"], ["--policy", "fair"], ["--weight", "1000001"]] {
            assert_eq!(read(&[words[0], words[1], "a"]), Err(Stop::Value(words[0].as_bytes())), "{words:?}");
        }
    }
}
