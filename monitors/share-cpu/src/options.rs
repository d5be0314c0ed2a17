//! The command line: `share-cpu [--policy NAME] [OPTIONS] PROGRAM [ARGUMENTS] [: [OPTIONS] PROGRAM
//! [ARGUMENTS]]...`.

use alloc::vec::Vec;
use crate::manifest::MANIFEST;
use nacre_nest::command::{Given, Stop, number};
use nacre_sched::Claim;

/// Policy that divides the time.
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
    /// Claim to the time.
    pub claim: Claim,
    /// The program and its arguments; at least one.
    pub command: Vec<&'a [u8]>,
}

/// A command line that was understood.
#[derive(Debug, PartialEq, Eq)]
pub struct Options<'a> {
    /// Policy.
    pub policy: PolicyName,
    /// Number of processors on which the programs run at once.
    pub processors: usize,
    /// Among whom.
    pub shares: Vec<Share<'a>>,
}

/// Maximum of processors. A kernel has no more.
const MAX_PROCESSORS: u64 = 64;

/// A number from 0 to 1,000,000.
fn small(text: &[u8]) -> Option<u64> {
    number(text).filter(|number| *number <= 1_000_000)
}

fn policy_name(text: &[u8]) -> Option<PolicyName> {
    match text {
        b"stride" => Some(PolicyName::Stride),
        b"lottery" => Some(PolicyName::Lottery),
        b"round-robin" => Some(PolicyName::RoundRobin),
        b"priority" => Some(PolicyName::Priority),
        _ => None,
    }
}

/// Reads the options before one program; what follows them.
fn share_options<'a, 'w>(mut words: &'w [&'a [u8]], claim: &mut Claim, options: &mut Options<'a>) -> Result<&'w [&'a [u8]], Stop<'a>> {
    while let Some(Given { name, value, .. }) = MANIFEST.option(&mut words)? {
        let wrong = Stop::Value(name);
        match name {
            b"--weight" => claim.weight = small(value).filter(|weight| *weight > 0).ok_or(wrong)?,
            b"--priority" => claim.priority = small(value).ok_or(wrong)?,
            b"--processors" => options.processors = small(value).filter(|count| (1..=MAX_PROCESSORS).contains(count)).ok_or(wrong)? as usize,
            _ => options.policy = policy_name(value).ok_or(wrong)?,
        }
    }
    Ok(words)
}

/// Reads a command line, without the name of this program.
pub fn parse<'a>(words: &[&'a [u8]]) -> Result<Options<'a>, Stop<'a>> {
    let mut options = Options { policy: PolicyName::default(), processors: 1, shares: Vec::new() };
    for words in words.split(|word| *word == b":") {
        let mut claim = Claim::default();
        let command = share_options(words, &mut claim, &mut options)?;
        let command: Vec<&[u8]> = command.iter().map(|word| unquote(word)).collect();
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
        let options = read(&["--policy=lottery", "--processors", "4", "--weight", "3", "a", "-x", ":", "--priority", "2", "--", "b", "::", ":::"]).expect("options");
        assert_eq!((options.policy, options.processors), (PolicyName::Lottery, 4));
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
        for words in [["--weight", "0"], ["--weight", "x"], ["--priority", "-1"], ["--policy", "fair"], ["--weight", "1000001"], ["--processors", "0"], ["--processors", "65"]] {
            assert_eq!(read(&[words[0], words[1], "a"]), Err(Stop::Value(words[0].as_bytes())), "{words:?}");
        }
    }
}
