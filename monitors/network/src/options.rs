//! The command line: `network [--address A.B.C.D/N] [--gateway A.B.C.D] [--version-6]
//! [--connections N] PROGRAM [ARGUMENTS]`.

use crate::manifest::MANIFEST;
use alloc::vec::Vec;
use nacre_nest::command::{Given, Stop, number};

/// Maximum of connections.
const MAX_CONNECTIONS: u64 = 16_384;

/// A command line that was understood.
#[derive(Debug, PartialEq, Eq)]
pub struct Options<'a> {
    /// Address of the machine.
    pub address: [u8; 4],
    /// Leading bits that all addresses on the wire have alike.
    pub prefix: u8,
    /// Set if the wire is not to be asked for an address.
    pub is_fixed: bool,
    /// Address of whoever reaches all others.
    pub gateway: Option<[u8; 4]>,
    /// Set if routers are asked for an address of version 6.
    pub asks_6: bool,
    /// Connections at once.
    pub connections: usize,
    /// The program and its arguments; at least one.
    pub command: Vec<&'a [u8]>,
}

fn address(text: &[u8]) -> Option<[u8; 4]> {
    let mut found = [0; 4];
    let mut parts = text.split(|byte| *byte == b'.');
    for place in &mut found {
        *place = number(parts.next()?).and_then(|number| u8::try_from(number).ok())?;
    }
    parts.next().is_none().then_some(found)
}

/// An address that a machine can have, and the length of its prefix.
fn own_address(text: &[u8]) -> Option<([u8; 4], u8)> {
    let at = text.iter().position(|byte| *byte == b'/')?;
    let (own, prefix) = (address(&text[..at])?, number(&text[at + 1..])?);
    let is_one = (1..=223).contains(&own[0]) && own[0] != 127;
    (is_one && (1..=30).contains(&prefix)).then_some((own, prefix as u8))
}

/// Reads a command line, without the name of this program.
pub fn parse<'a>(words: &[&'a [u8]]) -> Result<Options<'a>, Stop<'a>> {
    let mut options = Options { address: [10, 0, 2, 15], prefix: 24, is_fixed: false, gateway: Some([10, 0, 2, 2]), asks_6: false, connections: 256, command: Vec::new() };
    let mut words = words;
    while let Some(Given { name, value, .. }) = MANIFEST.option(&mut words)? {
        let wrong = Stop::Value(name);
        match name {
            b"--address" => (options.address, options.prefix, options.is_fixed) = own_address(value).map(|(own, prefix)| (own, prefix, true)).ok_or(wrong)?,
            b"--version-6" => options.asks_6 = true,
            b"--gateway" if value == b"none" => options.gateway = None,
            b"--gateway" => options.gateway = Some(address(value).ok_or(wrong)?),
            _ => options.connections = number(value).filter(|count| (1..=MAX_CONNECTIONS).contains(count)).ok_or(wrong)? as usize,
        }
    }
    options.command = words.to_vec();
    if options.command.is_empty() { Err(Stop::NoProgram) } else { Ok(options) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<'a>(words: &[&'a str]) -> Result<Options<'a>, Stop<'a>> {
        parse(&words.iter().map(|word| word.as_bytes()).collect::<Vec<_>>())
    }

    #[test]
    fn options_stand_before_the_program() {
        let options = read(&["--address", "192.168.7.1/16", "--gateway=none", "--connections", "8", "sh", "--address"]).expect("options");
        let command = [&b"sh"[..], b"--address"].to_vec();
        assert_eq!(options, Options { address: [192, 168, 7, 1], prefix: 16, is_fixed: true, gateway: None, asks_6: false, connections: 8, command });
        assert_eq!(read(&["sh"]).map(|options| (options.address, options.gateway)), Ok(([10, 0, 2, 15], Some([10, 0, 2, 2]))));
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        assert_eq!(read(&[]), Err(Stop::NoProgram));
        assert_eq!(read(&["-q", "a"]), Err(Stop::Unknown(b"-q")));
        for text in ["10.0.2.15", "10.0.2/24", "10.0.2.256/24", "127.0.0.1/8", "0.0.0.0/8", "10.0.2.15/31", "10.0.2.15/0", "10.0.2.1.5/24", ""] {
            assert_eq!(read(&["--address", text, "a"]), Err(Stop::Value(b"--address")), "{text}");
        }
        assert_eq!(read(&["--gateway", "x", "a"]), Err(Stop::Value(b"--gateway")));
        assert_eq!(read(&["--connections", "0", "a"]), Err(Stop::Value(b"--connections")));
    }
}
