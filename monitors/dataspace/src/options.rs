//! The command line: `dataspace MANAGER [OPTIONS] PROGRAM [ARGUMENTS]`.

use crate::colours::{Colours, colours};
use crate::{anonymous, coloured, device, file, persistent};
use crate::managers::{MANAGERS, OPTIONAL};
use crate::manifest::MANIFEST;
use alloc::vec::Vec;
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
    /// Managers that are wanted besides.
    pub others: Vec<&'static str>,
    /// Colours of coloured memory.
    pub colours: Option<Colours>,
    /// File that shows the window of device memory.
    pub window: Option<&'a [u8]>,
    /// Bytes of compressed pages of anonymous memory.
    pub compressed: Option<u64>,
    /// File behind anonymous memory.
    pub backing: Option<&'a [u8]>,
    /// File of persistent memory.
    pub store: Option<&'a [u8]>,
    /// A manager of the layer below.
    pub over: Option<&'a [u8]>,
    /// Pages go by chance, too.
    pub chaos: Option<u64>,
    /// Tell at the end.
    pub stats: bool,
    /// The program and its arguments.
    pub command: &'a [&'a [u8]],
}

impl Options<'_> {
    /// Returns true if a manager is to be there.
    pub fn wants(&self, name: &str) -> bool {
        !OPTIONAL.contains(&name) || name == self.manager || self.others.contains(&name)
    }
}

fn manager(name: &[u8]) -> Option<&'static str> {
    MANAGERS.iter().map(|(known, _)| *known).find(|known| known.as_bytes() == name)
}

/// Name of the first word in complaints.
const FIRST: &[u8] = b"MANAGER";

/// Returns true if a command line was refused for its first word.
pub fn lacks_manager(name: &[u8]) -> bool {
    name == FIRST
}

/// Reads a command line, without the name of this program.
pub fn parse<'a>(words: &'a [&'a [u8]]) -> Result<Options<'a>, Stop<'a>> {
    let Some((first, mut rest)) = words.split_first() else { return Err(Stop::NoProgram) };
    if first.starts_with(b"-") {
        // Help, or a mistake.
        MANIFEST.option(&mut &words[..])?;
    }
    let manager = self::manager(first).ok_or(Stop::Value(FIRST))?;
    // Memory that shows no file and no device has another manager.
    let (manager, others) = if [file::NAME, device::NAME].contains(&manager) { (anonymous::NAME, [manager].to_vec()) } else { (manager, Vec::new()) };
    let mut options = Options { manager, memory: 16 << 20, quota: 16 << 20, others, compressed: None, backing: None, store: None, colours: None, window: None, over: None, chaos: None, stats: false, command: &[] };
    while let Some(Given { name, value, .. }) = MANIFEST.option(&mut rest)? {
        let wrong = Stop::Value(name);
        match name {
            b"-m" => options.memory = size(value).ok_or(wrong)?,
            b"--quota" => options.quota = size(value).ok_or(wrong)?,
            b"--with" => options.others.push(self::manager(value).ok_or(wrong)?),
            b"--colours" => {
                options.colours = Some(colours(value).ok_or(wrong)?);
                options.others.push(coloured::NAME);
            }
            b"--window" => {
                options.window = Some(value);
                options.others.push(device::NAME);
            }
            b"--compressed" => options.compressed = Some(size(value).ok_or(wrong)?),
            b"--backing" => options.backing = Some(value),
            b"--store" => {
                options.store = Some(value);
                options.others.push(persistent::NAME);
            }
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
    fn managers_that_take_memory_at_the_start_are_there_if_they_are_named() {
        let words: [&[u8]; 6] = [b"anonymous", b"--with", b"physical", b"--window", b"/dev/hpet", b"sh"];
        let options = parse(&words).unwrap();
        let wanted = ["anonymous", "pinned", "physical", "coloured", "device"].map(|name| options.wants(name));
        assert_eq!((wanted, options.window), ([true, true, true, false, true], Some(&b"/dev/hpet"[..])));
        let words: [&[u8]; 4] = [b"coloured", b"--colours", b"3/8", b"sh"];
        assert_eq!(parse(&words).unwrap().colours, Some(Colours { all: 8, chosen: 3..4 }));
        assert_eq!(parse(&[b"coloured", b"--colours", b"8/8", b"sh"]), Err(Stop::Value(b"--colours")));
    }

    #[test]
    fn files_are_files_memory_and_all_else_is_anonymous() {
        let words: [&[u8]; 2] = [b"file", b"sh"];
        let options = parse(&words).unwrap();
        assert_eq!((options.manager, options.wants("file"), options.wants("device")), ("anonymous", true, false));
        let words: [&[u8]; 4] = [b"device", b"--window", b"/dev/hpet", b"sh"];
        assert_eq!(parse(&words).map(|options| (options.manager, options.wants("device"))), Ok(("anonymous", true)));
        let words: [&[u8]; 4] = [b"pinned", b"--with", b"file", b"sh"];
        assert_eq!(parse(&words).map(|options| (options.manager, options.wants("file"))), Ok(("pinned", true)));
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        assert_eq!(parse(&[b"swapped", b"sh"]), Err(Stop::Value(b"MANAGER")));
        assert_eq!(parse(&[b"pinned", b"--quota", b"0", b"sh"]), Err(Stop::Value(b"--quota")));
        assert_eq!((parse(&[b"pinned"]), parse(&[])), (Err(Stop::NoProgram), Err(Stop::NoProgram)));
    }
}
