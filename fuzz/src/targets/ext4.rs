//! Volumes of ext2 and ext4 that an enemy altered, mounted and used.

use crate::bytes::Bytes;
use nacre_ext4::{Disk, Errno, Open, Options, Time, Tree, Volume};
use nacre_machine_9p::{Changes, OpenFlags, Part, Sought};
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::sync::OnceLock;

/// Size of the volumes in bytes.
const SIZE: u64 = 2 << 20;
/// Size of the pieces in which a disk is changed.
const PIECE: u64 = 1024;
/// Arguments of mke2fs, by volume.
const VOLUMES: [&str; 4] = [
    "-t ext4 -b 1024 -N 64 -O ^metadata_csum,^resize_inode",
    "-t ext4 -b 1024 -N 64 -O ^resize_inode",
    "-t ext2 -b 1024 -N 64 -O ^resize_inode",
    "-t ext2 -b 1024 -N 64 -O ^resize_inode,^dir_index,extents",
];
/// Paths that operations are about.
const PATHS: [&[u8]; 10] = [
    b"", b"file", b"holes", b"folder", b"folder/many", b"folder/many/17", b"folder/link", b"long",
    b"new", b"folder/new",
];
/// Number of reads and writes of the disk after which a volume is taken to go round for ever.
const MAX_ACCESSES: u64 = 2_000_000;

/// A disk that shares what was not changed with others.
struct Overlay {
    base: &'static [u8],
    changed: BTreeMap<u64, Vec<u8>>,
    accesses: u64,
}

impl Overlay {
    fn new(base: &'static [u8]) -> Self {
        Overlay { base, changed: BTreeMap::new(), accesses: 0 }
    }

    fn piece(&mut self, at: u64) -> &mut Vec<u8> {
        let (number, start) = (at / PIECE, (at / PIECE * PIECE) as usize);
        self.changed.entry(number).or_insert_with(|| self.base[start..start + PIECE as usize].to_vec())
    }

    fn count(&mut self, at: u64, size: usize) -> Result<(), Errno> {
        self.accesses += 1;
        assert!(self.accesses < MAX_ACCESSES, "the volume goes round for ever");
        assert!(at.is_multiple_of(PIECE) && (size as u64).is_multiple_of(PIECE));
        if at + size as u64 > self.size() { Err(Errno(5)) } else { Ok(()) }
    }
}

impl Disk for Overlay {
    fn size(&self) -> u64 {
        self.base.len() as u64
    }

    fn read(&mut self, at: u64, into: &mut [u8]) -> Result<(), Errno> {
        self.count(at, into.len())?;
        for (number, piece) in into.chunks_mut(PIECE as usize).enumerate() {
            let number = at / PIECE + number as u64;
            let start = (number * PIECE) as usize;
            let content = self.changed.get(&number).map_or(&self.base[start..start + PIECE as usize], |piece| piece);
            piece.copy_from_slice(content);
        }
        Ok(())
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), Errno> {
        self.count(at, bytes.len())?;
        for (number, piece) in bytes.chunks(PIECE as usize).enumerate() {
            self.changed.insert(at / PIECE + number as u64, piece.to_vec());
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Errno> {
        Ok(())
    }
}

fn options() -> Options {
    let mut seconds = 1_700_000_000;
    let clock = move || {
        seconds += 1;
        Time { seconds, nanoseconds: 5 }
    };
    Options { read_only: false, cache: 256 << 10, clock: Box::new(clock) }
}

/// Makes a volume with some files, as mke2fs and the library leave it: committed, and not closed.
fn make(number: usize) -> Option<(Vec<u8>, Vec<u64>)> {
    let path = std::env::temp_dir().join(format!("nacre-fuzz-ext4-{}-{number}", std::process::id()));
    fs::File::create(&path).ok()?.set_len(SIZE).ok()?;
    let program = if fs::exists("/usr/sbin/mke2fs").ok()? { "/usr/sbin/mke2fs" } else { "mke2fs" };
    let made = Command::new(program).args(["-q", "-F"]).args(VOLUMES[number].split(' ')).arg(&path).output();
    let bytes = fs::read(&path).ok();
    let _ = fs::remove_file(&path);
    made.ok().filter(|made| made.status.success())?;
    let base: &'static [u8] = bytes?.leak();
    let mut volume = Volume::mount(Overlay::new(base), options()).ok()?;
    fill(&mut volume).expect("a new volume has room");
    let Overlay { changed, .. } = volume.into_disk();
    let mut bytes = base.to_vec();
    for (number, piece) in changed {
        bytes[(number * PIECE) as usize..][..PIECE as usize].copy_from_slice(&piece);
    }
    let is_used = |number: &u64| bytes[(number * PIECE) as usize..][..PIECE as usize].iter().any(|byte| *byte != 0);
    let used = (1..SIZE / PIECE).filter(is_used).collect();
    Some((bytes, used))
}

fn fill(volume: &mut Volume<Overlay>) -> Result<(), Errno> {
    let write = OpenFlags { reads: true, writes: true, creates: Some(0o644), ..OpenFlags::default() };
    for (path, step) in [(&b"file"[..], 1000), (b"holes", 5000)] {
        let file = volume.open(path, write)?;
        for part in 0..20 {
            volume.write(&file, part * step, &[part as u8 + 1; 1000])?;
        }
    }
    volume.make_directory(b"folder", 0o755)?;
    volume.make_directory(b"folder/many", 0o755)?;
    for number in 0..40 {
        volume.symbolic_link(b"target", format!("folder/many/{number}").as_bytes())?;
        volume.link(b"file", format!("folder/many/a rather long name of a file {number}").as_bytes())?;
        volume.remove(format!("folder/many/{number}").as_bytes(), false)?;
        if number % 8 == 0 {
            volume.commit()?;
        }
    }
    volume.symbolic_link(&[b'x'; 100], b"long")?;
    let file = volume.open(b"open", write)?;
    volume.write(&file, 0, &[7; 3000])?;
    volume.remove(b"open", false)?;
    volume.make_node(b"folder/link", 0o010600, 0)?;
    for path in [&b"file"[..], b"folder"] {
        volume.set_attribute(path, None, b"user.a", Some(&[b'a'; 20]), 0)?;
        volume.set_attribute(path, None, b"trusted.b", Some(&[b'b'; 400]), 0)?;
    }
    volume.commit()
}

fn volumes() -> &'static [(Vec<u8>, Vec<u64>)] {
    static MADE: OnceLock<Vec<(Vec<u8>, Vec<u64>)>> = OnceLock::new();
    MADE.get_or_init(|| {
        let made: Vec<_> = (0..VOLUMES.len()).filter_map(make).collect();
        if made.len() < VOLUMES.len() {
            eprintln!("ext4: no volumes without mke2fs, of Debian's package e2fsprogs");
        }
        made
    })
}

/// Alters a volume where something is written, and mounts and uses it.
pub fn ext4(bytes: &[u8]) {
    let mut bytes = Bytes(bytes);
    let number = bytes.below(VOLUMES.len());
    let Some((base, used)) = volumes().get(number) else { return };
    let mut disk = Overlay::new(base);
    for _ in 0..bytes.byte() % 32 {
        let (place, low) = (usize::from(bytes.byte()) | usize::from(bytes.byte()) << 8, bytes.byte());
        let at = used[place % used.len()] * PIECE + u64::from(low) * 4 + u64::from(bytes.byte() % 4);
        let value = bytes.of(&[0, 1, 2, 4, 0x7f, 0x80, 0xff, bytes.0.first().copied().unwrap_or(3)]);
        disk.piece(at)[(at % PIECE) as usize] = value;
    }
    let Ok(mut volume) = Volume::mount(disk, options()) else { return };
    let mut open = None;
    for _ in 0..64 {
        if bytes.is_over() {
            break;
        }
        operate(&mut volume, &mut bytes, &mut open);
    }
    drop(open);
    let _ = volume.close();
}

fn operate(volume: &mut Volume<Overlay>, bytes: &mut Bytes<'_>, open: &mut Option<Open>) {
    let kind = bytes.byte() % 16;
    let (path, other) = (bytes.of(&PATHS), bytes.of(&PATHS));
    let at = bytes.word();
    let flags = OpenFlags {
        reads: true,
        writes: at.is_multiple_of(2),
        truncates: at.is_multiple_of(5),
        creates: at.is_multiple_of(3).then_some(0o644),
        is_directory: false,
    };
    match (kind, &*open) {
        (0, _) => drop((volume.status(path), volume.attribute(path, None, b""), volume.attribute(path, None, b"user.a"))),
        (1 | 2, _) => *open = volume.open(path, flags).ok(),
        (3, Some(file)) => drop(volume.read(file, at, &mut [0; 5000])),
        (4, Some(file)) => drop(volume.write(file, at % (1 << 24), &[at as u8; 3000])),
        (5, Some(file)) if at.is_multiple_of(3) => drop(volume.write(file, at % (1 << 24), &[at as u8; 3000])),
        (5, Some(file)) => room(volume, file, at % (1 << 34)),
        (6, Some(file)) => list(volume, file),
        (7, file) => drop(volume.change(path, file.as_ref(), &Changes { size: Some(at), ..Changes::default() })),
        (8, _) => drop(volume.make_directory(path, 0o755)),
        (9, _) => drop(volume.symbolic_link(&[b'y'; 70][..at as usize % 70], path)),
        (10, _) => drop(volume.read_link(path)),
        (11, _) => drop(volume.link(path, other)),
        (12, _) => drop(volume.rename(path, other)),
        (13, _) => drop(volume.remove(path, at.is_multiple_of(2))),
        (14, _) => drop(volume.tick()),
        (15, file) => {
            let all = [at as u8; 900];
            let value = Some(&all[..at as usize % 900]).filter(|_| !at.is_multiple_of(3));
            let _ = (volume.file_system(), volume.set_attribute(path, file.as_ref(), b"user.a", value, at as u32 % 4));
        }
        _ => {}
    }
}

/// Takes room behind a place, and looks for data and a hole there; each step goes on.
fn room(volume: &mut Volume<Overlay>, file: &Open, at: u64) {
    if let Ok(next) = volume.allocate(file, at..at + (3 << 20), at.is_multiple_of(2)) {
        assert!(at < next && next <= at + (3 << 20));
    }
    if let Ok(next) = volume.punch(file, at / 2..at + 1) {
        assert!(at / 2 < next && next <= at + 1);
    }
    for part in [Part::Data, Part::Hole] {
        match volume.seek(file, at, part) {
            Ok(Sought::At(found)) => assert!(found >= at),
            Ok(Sought::Behind(next)) => assert!(next > at),
            Err(_) => {}
        }
    }
}

/// Lists a directory; each step goes on.
fn list(volume: &mut Volume<Overlay>, file: &Open) {
    let mut cookie = 0;
    for _ in 0..5000 {
        match volume.list(file, cookie, &mut |entry| assert!(entry.name.len() <= 255)) {
            Ok(next) if next > cookie => cookie = next,
            Ok(next) => return assert_eq!(next, 0),
            Err(_) => return,
        }
    }
}
