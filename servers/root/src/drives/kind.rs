//! Kinds of devices that are in the hands of drivers, and the list of those that the machine is to
//! have.

use super::line::PART;
use crate::device_memory::DeviceMemory;
use crate::boot_files::{BootFiles, DIRECTORIES, DISKS};
use crate::tree::outside::Changes;
use alloc::vec::Vec;
use nacre_virtio::{BLOCK, Block, ENTROPY, Entropy, FILES, NETWORK, Network};

/// A kind of device.
#[derive(Debug)]
pub struct DriveKind {
    /// The driver, in the boot image, and its name.
    pub program: &'static [u8],
    /// See [`DriveKind::program`].
    pub name: &'static [u8],
    /// Number of the device on PCI.
    pub device: u16,
    /// Bytes of memory for the device alone.
    pub memory: u64,
    /// Bytes of each of the parts behind it, for a request and for its answer.
    pub part: u64,
    /// Set if programs use the device by files. Else they call its driver, or it calls us.
    pub files: Option<FileKind>,
}

/// Files on a kind of device.
#[derive(Debug)]
pub struct FileKind {
    /// Kind of the file system, as Linux calls it.
    pub file_system: &'static [u8],
    /// The server keeps paths of files, which must not become too long for it.
    pub keeps_paths: bool,
    /// The driver takes several messages at once.
    pub takes_chains: bool,
    /// Set if what was written since the last `fsync` may be lost when a driver ends.
    pub may_lose: bool,
}

/// A directory of the host's, which QEMU serves. The device reads requests and writes answers where
/// root does, right behind its rings.
static DIRECTORY: DriveKind = DriveKind {
    program: b"/lib/nacre/directory",
    name: b"directory",
    device: FILES,
    memory: 4096,
    part: PART,
    files: Some(FileKind { file_system: b"9p", keeps_paths: true, takes_chains: false, may_lose: false }),
};
/// A disk with a volume.
static DISK: DriveKind = DriveKind {
    program: b"/lib/nacre/disk",
    name: b"disk",
    device: BLOCK,
    memory: Block::<DeviceMemory>::MEMORY,
    part: PART,
    files: Some(FileKind { file_system: b"ext4", keeps_paths: false, takes_chains: true, may_lose: true }),
};
/// The network card.
static CARD: DriveKind = DriveKind { program: b"/lib/nacre/card", name: b"card", device: NETWORK, memory: Network::<DeviceMemory>::MEMORY, part: 0, files: None };
/// The source of random bytes.
static SOURCE: DriveKind = DriveKind { program: b"/lib/nacre/random", name: b"random", device: ENTROPY, memory: Entropy::<DeviceMemory>::MEMORY, part: 0, files: None };

impl DriveKind {
    /// Bytes of memory for the device, for a request, and for its answer.
    pub fn all_memory(&self) -> u64 {
        self.memory + 2 * self.part
    }
}

/// A device that the machine is to have.
pub struct Listed {
    /// Kind of the device.
    pub kind: &'static DriveKind,
    /// Number of devices of the kind before it.
    pub before: usize,
    /// Path of its files, if it has any; `None`: they are around the whole tree.
    pub place: Option<Vec<u8>>,
    /// Fate of changes.
    pub changes: Changes,
    /// Name for people.
    pub name: Vec<u8>,
}

/// Returns the devices that the machine is to have: the directory around the tree, if `around` says
/// the fate of its changes; other directories; disks; the network card; the source of random bytes.
pub fn listed(boot: Option<&BootFiles>, around: u64, [has_card, has_source]: [bool; 2]) -> Vec<Listed> {
    let of_root = (around != 0).then(|| Listed { kind: &DIRECTORY, before: 0, place: None, changes: changes(around), name: b"/".to_vec() });
    let first = usize::from(of_root.is_some());
    let mut all: Vec<Listed> = of_root.into_iter().collect();
    let list = |path| boot.and_then(|boot| boot.read(path)).unwrap_or_default();
    all.extend(of_list(&DIRECTORY, first, &list(DIRECTORIES)));
    all.extend(of_list(&DISK, 0, &list(DISKS)));
    let alone = |kind, name: &[u8]| Listed { kind, before: 0, place: None, changes: Changes::Passed, name: name.to_vec() };
    all.extend(has_card.then(|| alone(&CARD, b"the network card")));
    all.extend(has_source.then(|| alone(&SOURCE, b"the source of random bytes")));
    all
}

/// Returns the devices of a kind that a boot file lists.
fn of_list(kind: &'static DriveKind, first: usize, list: &[u8]) -> Vec<Listed> {
    let words: Vec<&[u8]> = list.split(|&byte| byte == 0).collect();
    // Directories have no name but their path.
    let count = if kind.device == BLOCK { 3 } else { 2 };
    let one = |(number, words): (usize, &[&[u8]])| Listed {
        kind,
        before: first + number,
        place: Some(words[0].to_vec()),
        changes: changes(core::str::from_utf8(words[1]).ok().and_then(|word| word.parse().ok()).unwrap_or(3)),
        name: words[count / 3 * 2].to_vec(),
    };
    words.chunks_exact(count).enumerate().map(one).collect()
}

/// Fate of changes, as the host writes it.
fn changes(number: u64) -> Changes {
    match number {
        1 => Changes::Kept,
        2 => Changes::Refused,
        _ => Changes::Passed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_tell_of_devices_in_their_order() {
        let directories = of_list(&DIRECTORY, 1, b"/a\x001\0/b/c\x002\0/d\0x\0");
        let found: Vec<_> = directories.iter().map(|listed| (listed.before, listed.place.as_deref().unwrap_or_default(), listed.changes, &listed.name[..])).collect();
        assert_eq!(found, [(1, &b"/a"[..], Changes::Kept, &b"/a"[..]), (2, b"/b/c", Changes::Refused, b"/b/c"), (3, b"/d", Changes::Passed, b"/d")]);
        let disks = of_list(&DISK, 0, b"/a\x002\0disk.img\0/b\0");
        assert_eq!(disks.iter().map(|listed| (listed.before, listed.changes, &listed.name[..])).collect::<Vec<_>>(), [(0, Changes::Refused, &b"disk.img"[..])]);
        assert!(of_list(&DISK, 0, b"").is_empty() && of_list(&DIRECTORY, 0, b"").is_empty());
    }
}
