//! The command line: `machine [OPTIONS] [--] [PROGRAM [ARGUMENTS]]`.

use crate::manifest::MANIFEST;
use crate::paging::Paging;
use alloc::vec::Vec;
use nacre_machine_devices::MAX_PROCESSORS;
use nacre_machine_load::linux::MAX_MEMORY;
use nacre_manifest::without_read_only;
use nacre_nest::command::{Given, Stop, size};

/// Memory of a machine whose command line does not say how much.
const MEMORY: u64 = 128 << 20;

/// The kernel and the initial file system that `nacre run` brings along.
const KERNEL: &[u8] = b"/lib/nacre/guest/vmlinuz";
const INITRD: &[u8] = b"/lib/nacre/guest/initrd";

/// File that is a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiskFile<'a> {
    /// The file's path.
    pub path: &'a [u8],
    /// The guest cannot write.
    pub is_read_only: bool,
}

impl<'a> DiskFile<'a> {
    fn new(value: &'a [u8]) -> Self {
        let (path, is_read_only) = without_read_only(value);
        DiskFile { path, is_read_only }
    }
}

/// File of an initial file system, or module of a multiboot kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Initrd<'a> {
    /// The file's path.
    pub path: &'a [u8],
    /// Words that a multiboot kernel is told behind the path.
    pub words: &'a [u8],
}

/// A command line that was understood.
#[derive(Debug, PartialEq, Eq)]
pub struct Options<'a> {
    /// The kernel's file.
    pub kernel: &'a [u8],
    /// Files of the initial file system, in order.
    pub initrds: Vec<Initrd<'a>>,
    /// More words for the kernel's command line.
    pub append: &'a [u8],
    /// Bytes of memory.
    pub memory: u64,
    /// Number of processors.
    pub processors: usize,
    /// Disks, in order.
    pub disks: Vec<DiskFile<'a>>,
    /// The guest gives up memory that it does not need.
    pub has_balloon: bool,
    /// The machine has a network card.
    pub has_network: bool,
    /// The machine has high-precision event timers.
    pub has_hpet: bool,
    /// Directories that the guest can mount, in order.
    pub shares: Vec<&'a [u8]>,
    /// Number of the directory that is the guest's root file system.
    pub root: Option<usize>,
    /// Translator of the guest's addresses.
    pub paging: Paging,
    /// A gdb debugs the guest.
    pub is_debugged: bool,
    /// A guest that resets its machine starts anew.
    pub reboots: bool,
    /// Exits are counted and told.
    pub tells: bool,
    /// The program that runs in the guest, and its arguments; may be empty.
    pub command: &'a [&'a [u8]],
}

impl<'a> Options<'a> {
    /// Paths of files and directories that were named, which may be relative.
    pub fn paths(&mut self) -> impl Iterator<Item = &mut &'a [u8]> {
        let disks = self.disks.iter_mut().map(|disk| &mut disk.path);
        let initrds = self.initrds.iter_mut().map(|initrd| &mut initrd.path);
        core::iter::once(&mut self.kernel).chain(initrds).chain(disks).chain(&mut self.shares)
    }

    /// Returns true if the guest's first program is that of `nacre run`'s own file system.
    pub fn is_ours(&self) -> bool {
        self.initrds.first().is_some_and(|first| first.path == INITRD)
    }
}

/// A number of processors.
fn processors(value: &[u8]) -> Option<usize> {
    let number: usize = core::str::from_utf8(value).ok()?.parse().ok()?;
    (1..=MAX_PROCESSORS).contains(&number).then_some(number)
}

/// A translator by its name.
fn paging(value: &[u8]) -> Option<Paging> {
    match value {
        b"nested" => Some(Paging::Nested),
        b"shadow" => Some(Paging::Shadow),
        b"turns" => Some(Paging::Turns),
        _ => None,
    }
}

/// Takes `arguments` (without the name of the command) apart.
pub fn parse<'a>(mut arguments: &'a [&'a [u8]]) -> Result<Options<'a>, Stop<'a>> {
    let mut options =
        Options { kernel: KERNEL, initrds: Vec::new(), append: b"", memory: MEMORY, processors: 1, disks: Vec::new(), has_balloon: false, has_network: false, has_hpet: false, shares: Vec::new(), root: None, paging: Paging::Nested, is_debugged: false, reboots: false, tells: false, command: &[] };
    while let Some(Given { name, value, .. }) = MANIFEST.option(&mut arguments)? {
        match name {
            b"--kernel" => options.kernel = value,
            b"--initrd" => options.initrds.push(Initrd { path: value, words: b"" }),
            b"--initrd-words" => options.initrds.last_mut().ok_or(Stop::Value(name))?.words = value,
            b"--append" => options.append = value,
            b"--memory" => options.memory = size(value).filter(|size| *size <= MAX_MEMORY).ok_or(Stop::Value(name))?,
            b"--cpus" => options.processors = processors(value).ok_or(Stop::Value(name))?,
            b"--disk" => options.disks.push(DiskFile::new(value)),
            b"--balloon" => options.has_balloon = true,
            b"--net" => options.has_network = true,
            b"--hpet" => options.has_hpet = true,
            b"--share" => options.shares.push(value),
            b"--root" => {
                options.root = Some(options.shares.len());
                options.shares.push(value);
            }
            b"--paging" => options.paging = paging(value).ok_or(Stop::Value(name))?,
            b"--gdb" => options.is_debugged = true,
            b"--reboot" => options.reboots = true,
            _ => options.tells = true,
        }
    }
    options.command = arguments;
    if options.kernel == KERNEL && options.initrds.is_empty() {
        options.initrds.push(Initrd { path: INITRD, words: b"" });
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_initial_file_has_its_own_words() {
        let words: [&[u8]; 7] = [b"--kernel", b"k", b"--initrd", b"a", b"--initrd=b", b"--initrd-words", b"two words"];
        let options = parse(&words).unwrap();
        let expected = [(&b"a"[..], &b""[..]), (b"b", b"two words")].map(|(path, words)| Initrd { path, words });
        assert_eq!((&options.initrds[..], options.is_ours()), (&expected[..], false));
        assert!(matches!(parse(&words[5..]), Err(Stop::Value(b"--initrd-words"))));
        let ours = parse(&[]).unwrap();
        assert!(ours.is_ours() && ours.initrds.len() == 1);
    }

    #[test]
    fn every_file_and_directory_is_a_path() {
        let words: [&[u8]; 10] = [b"--kernel", b"k", b"--initrd", b"i", b"--disk", b"d:ro", b"--share", b"s", b"--root", b"r"];
        let mut options = parse(&words).unwrap();
        options.paths().for_each(|path| *path = b"other");
        let Options { kernel, initrds, disks, shares, .. } = options;
        let paths = [kernel, initrds[0].path, disks[0].path, shares[0], shares[1]];
        assert_eq!((paths, disks[0].is_read_only), ([&b"other"[..]; 5], true));
    }
}
