//! The command line: `process [--processes N] [--threads N] PROGRAM [ARGUMENTS]`.

use crate::world::Limits;
use alloc::vec::Vec;
use crate::manifest::MANIFEST;
use nacre_nest::command::{Given, Stop, number};

/// Maximum of each limit.
const MOST: u64 = 16_384;

/// A command line that was understood.
#[derive(Debug, PartialEq, Eq)]
pub struct Options<'a> {
    /// Limits of the world.
    pub limits: Limits,
    /// The program and its arguments; at least one.
    pub command: Vec<&'a [u8]>,
}

/// Reads a command line, without the name of this program.
pub fn parse<'a>(mut words: &[&'a [u8]]) -> Result<Options<'a>, Stop<'a>> {
    let (mut processes, mut threads) = (None, None);
    while let Some(Given { name, value, .. }) = MANIFEST.option(&mut words)? {
        let count = number(value).filter(|count| (1..=MOST).contains(count)).ok_or(Stop::Value(name))? as usize;
        // Whoever puts a limit before those of a command line means it.
        let limit: &mut Option<usize> = if name == b"--processes" { &mut processes } else { &mut threads };
        *limit = Some(limit.map_or(count, |before| before.min(count)));
    }
    if words.is_empty() {
        return Err(Stop::NoProgram);
    }
    let limits = Limits { processes: processes.unwrap_or(512), threads: threads.unwrap_or(4096) };
    Ok(Options { limits, command: words.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_stand_before_the_program() {
        let words: [&[u8]; 5] = [b"--processes=7", b"--threads", b"9", b"sh", b"--threads"];
        let options = parse(&words).expect("options");
        assert_eq!(options, Options { limits: Limits { processes: 7, threads: 9 }, command: [&b"sh"[..], b"--threads"].to_vec() });
        let twice: [&[u8]; 4] = [b"--processes=7", b"--processes=9", b"--processes=8", b"sh"];
        assert_eq!(parse(&twice).expect("options").limits, Limits { processes: 7, threads: 4096 });
        assert_eq!(parse(&[b"--processes", b"0", b"sh"]), Err(Stop::Value(b"--processes")));
        assert_eq!(parse(&[b"--threads", b"9"]), Err(Stop::NoProgram));
    }
}
