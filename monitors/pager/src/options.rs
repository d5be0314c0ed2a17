//! The command line: `pager [OPTIONS] PROGRAM [ARGUMENTS]`.

use crate::manifest::MANIFEST;
use nacre_nest::command::{Given, Stop, number, size};

/// Place of pages that are put away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backing<'a> {
    /// Smaller, in our own memory.
    Compress,
    /// As they are, in pageable memory of our own pool.
    Parent,
    /// Into this file.
    File(&'a [u8]),
}

/// Policy that chooses the page to put away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyName {
    /// A page that was not used since the hand passed it.
    Clock,
    /// The page that came first.
    Fifo,
    /// Any page, by chance.
    Random,
}

/// A command line that was understood.
#[derive(Debug, PartialEq, Eq)]
pub struct Options<'a> {
    /// Bytes of frames.
    pub memory: u64,
    /// Place of pages that are put away.
    pub backing: Backing<'a>,
    /// Bytes of that; `None`: as much as is wise.
    pub backing_size: Option<u64>,
    /// Policy that chooses them.
    pub policy: PolicyName,
    /// Pages go by chance, too.
    pub chaos: Option<u64>,
    /// Tell at the end.
    pub stats: bool,
    /// The program and its arguments.
    pub command: &'a [&'a [u8]],
}

fn backing(text: &[u8]) -> Option<Backing<'_>> {
    match text {
        b"compress" => Some(Backing::Compress),
        b"parent" => Some(Backing::Parent),
        path if path.contains(&b'/') => Some(Backing::File(path)),
        _ => None,
    }
}

fn policy(text: &[u8]) -> Option<PolicyName> {
    match text {
        b"clock" => Some(PolicyName::Clock),
        b"fifo" => Some(PolicyName::Fifo),
        b"random" => Some(PolicyName::Random),
        _ => None,
    }
}

/// Reads a command line, without the name of this program.
pub fn parse<'a>(words: &'a [&'a [u8]]) -> Result<Options<'a>, Stop<'a>> {
    let mut options = Options { memory: 16 << 20, backing: Backing::Compress, backing_size: None, policy: PolicyName::Clock, chaos: None, stats: false, command: &[] };
    let mut rest = words;
    while let Some(Given { name, value, .. }) = MANIFEST.option(&mut rest)? {
        let wrong = Stop::Value(name);
        match name {
            b"-m" => options.memory = size(value).ok_or(wrong)?,
            b"--backing" => options.backing = backing(value).ok_or(wrong)?,
            b"--backing-size" => options.backing_size = Some(size(value).ok_or(wrong)?),
            b"--policy" => options.policy = policy(value).ok_or(wrong)?,
            b"--chaos" => options.chaos = Some(number(value).ok_or(wrong)?),
            _ => options.stats = true,
        }
    }
    options.command = rest;
    if rest.is_empty() { Err(Stop::NoProgram) } else { Ok(options) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    #[test]
    fn options_are_read() {
        let words: Vec<&[u8]> = ["-m8M", "--backing", "/tmp/x", "--backing-size=1G", "--policy", "fifo", "--chaos", "7", "--stats", "pager", "-m", "1"].iter().map(|word| word.as_bytes()).collect();
        let options = parse(&words).unwrap();
        assert_eq!((options.memory, options.backing, options.backing_size), (8 << 20, Backing::File(b"/tmp/x"), Some(1 << 30)));
        assert_eq!((options.policy, options.chaos, options.stats, options.command.len()), (PolicyName::Fifo, Some(7), true, 3));
        let words: [&[u8]; 1] = [b"sh"];
        let options = parse(&words).unwrap();
        assert_eq!((options.memory, options.backing, options.policy), (16 << 20, Backing::Compress, PolicyName::Clock));
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        for words in [["-m", "0"], ["-m", "x"], ["-m", "M"], ["-m", "99999999999G"], ["--backing", "disk"], ["--policy", "lru"], ["--chaos", "-1"]] {
            let words = words.map(str::as_bytes);
            assert_eq!(parse(&[words[0], words[1], b"sh"]), Err(Stop::Value(words[0])), "{words:?}");
        }
        assert_eq!(parse(&[b"--stats"]), Err(Stop::NoProgram));
        assert_eq!(parse(&[b"-x", b"sh"]), Err(Stop::Unknown(b"-x")));
    }
}
