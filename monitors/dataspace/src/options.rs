//! The command line: `dataspace MANAGER [OPTIONS] PROGRAM [ARGUMENTS]`.

use crate::managers::MANAGERS;
use crate::manifest::MANIFEST;
use nacre_nest::command::{Given, Stop, number, size};

/// A command line that was understood.
#[derive(Debug, PartialEq, Eq)]
pub struct Options<'a> {
    /// Name of the manager that all memory has at first.
    pub manager: &'static str,
    /// Bytes of frames.
    pub memory: u64,
    /// Bytes that may be pinned.
    pub quota: u64,
    /// A manager of the layer below.
    pub over: Option<&'a [u8]>,
    /// Pages go by chance, too.
    pub chaos: Option<u64>,
    /// Tell at the end.
    pub stats: bool,
    /// The program and its arguments.
    pub command: &'a [&'a [u8]],
}

/// Reads a command line, without the name of this program.
pub fn parse<'a>(words: &'a [&'a [u8]]) -> Result<Options<'a>, Stop<'a>> {
    let Some((first, mut rest)) = words.split_first() else { return Err(Stop::NoProgram) };
    if first.starts_with(b"-") {
        // Help, or a mistake.
        MANIFEST.option(&mut &words[..])?;
    }
    let (manager, _) = MANAGERS.iter().find(|(name, _)| name.as_bytes() == *first).ok_or(Stop::Value(b"MANAGER"))?;
    let mut options = Options { manager, memory: 16 << 20, quota: 16 << 20, over: None, chaos: None, stats: false, command: &[] };
    while let Some(Given { name, value, .. }) = MANIFEST.option(&mut rest)? {
        let wrong = Stop::Value(name);
        match name {
            b"-m" => options.memory = size(value).ok_or(wrong)?,
            b"--quota" => options.quota = size(value).ok_or(wrong)?,
            b"--over" => options.over = Some(value),
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

    #[test]
    fn a_manager_and_options_are_read() {
        let words: [&[u8]; 9] = [b"pinned", b"-m1M", b"--quota", b"64K", b"--over=compressed", b"--stats", b"--", b"sh", b"-m"];
        let options = parse(&words).unwrap();
        assert_eq!((options.manager, options.memory, options.quota, options.over), ("pinned", 1 << 20, 64 << 10, Some(&b"compressed"[..])));
        assert_eq!((options.stats, options.command.len()), (true, 2));
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        assert_eq!(parse(&[b"swapped", b"sh"]), Err(Stop::Value(b"MANAGER")));
        assert_eq!(parse(&[b"pinned", b"--quota", b"0", b"sh"]), Err(Stop::Value(b"--quota")));
        assert_eq!((parse(&[b"pinned"]), parse(&[])), (Err(Stop::NoProgram), Err(Stop::NoProgram)));
    }
}
