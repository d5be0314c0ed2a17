//! The command line: `files [-m SIZE] PROGRAM [ARGUMENTS]`.

use crate::manifest::MANIFEST;
use alloc::vec::Vec;
use nacre_nest::command::{Given, Stop, size};

/// Bytes of memory of a layer, at least.
pub const LEAST: u64 = 4 << 20;

/// A command line that was understood.
#[derive(Debug, PartialEq, Eq)]
pub struct Options<'a> {
    /// Bytes of memory of the layer.
    pub memory: Option<u64>,
    /// The program and its arguments; at least one.
    pub command: Vec<&'a [u8]>,
}

/// Reads a command line, without the name of this program.
pub fn parse<'a>(words: &[&'a [u8]]) -> Result<Options<'a>, Stop<'a>> {
    let (mut words, mut memory) = (words, None);
    while let Some(Given { name, value, .. }) = MANIFEST.option(&mut words)? {
        memory = Some(size(value).filter(|size| *size >= LEAST).ok_or(Stop::Value(name))?);
    }
    if words.is_empty() { Err(Stop::NoProgram) } else { Ok(Options { memory, command: words.to_vec() }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_named() {
        assert_eq!(parse(&[b"ls", b"-m"]).map(|options| (options.memory, options.command.len())), Ok((None, 2)));
        assert_eq!(parse(&[b"-m", b"5M", b"ls"]).map(|options| options.memory), Ok(Some(5 << 20)));
        assert_eq!(parse(&[]), Err(Stop::NoProgram));
        for wrong in [&b"2M"[..], b"x", b""] {
            assert_eq!(parse(&[b"-m", wrong, b"ls"]), Err(Stop::Value(b"-m")), "{wrong:?}");
        }
    }
}
