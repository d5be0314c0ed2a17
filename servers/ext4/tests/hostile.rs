//! Volumes that an enemy altered: 10,000 random changes of bytes, each followed by operations.
//! Nothing panics, and nothing goes round for ever. `SEED=7 CHANGES=1000000` looks further.

mod support;

use nacre_ext4::{Disk, Errno, Open, Tree, Volume};
use nacre_machine_9p::{Changes, OpenFlags};
use std::collections::BTreeMap;
use std::sync::Arc;
use support::model::Seed;
use support::*;

const KINDS: [&str; 4] = [
    "-t ext4 -b 1024 -N 64 -O ^metadata_csum,^resize_inode",
    "-t ext4 -b 1024 -N 64 -O ^resize_inode",
    "-t ext2 -b 1024 -N 64 -O ^resize_inode",
    "-t ext4 -b 4096 -N 64 -O ^has_journal,^metadata_csum,^resize_inode",
];
const PATHS: [&[u8]; 9] = [
    b"", b"file", b"holes", b"folder", b"folder/many", b"folder/many/a rather long name of a file 17",
    b"long", b"new", b"folder/new",
];
const PIECE: usize = 1024;
/// Reads and writes after which a volume is taken to go round for ever.
const MAX_ACCESSES: u32 = 1_000_000;

/// A disk that shares what was not changed with others.
struct Overlay {
    base: Arc<Vec<u8>>,
    changed: BTreeMap<usize, Vec<u8>>,
    accesses: u32,
}

impl Overlay {
    fn piece(&self, number: usize) -> &[u8] {
        self.changed.get(&number).map_or(&self.base[number * PIECE..][..PIECE], |piece| piece)
    }

    fn set(&mut self, at: usize, value: u8) {
        let mut piece = self.piece(at / PIECE).to_vec();
        piece[at % PIECE] = value;
        self.changed.insert(at / PIECE, piece);
    }

    fn count(&mut self, at: u64, size: usize) -> Result<(), Errno> {
        self.accesses += 1;
        assert!(self.accesses < MAX_ACCESSES, "the volume goes round for ever");
        if at + size as u64 > self.size() { Err(Errno(5)) } else { Ok(()) }
    }
}

impl Disk for Overlay {
    fn size(&self) -> u64 {
        self.base.len() as u64
    }

    fn read(&mut self, at: u64, into: &mut [u8]) -> Result<(), Errno> {
        self.count(at, into.len())?;
        for (number, piece) in into.chunks_mut(PIECE).enumerate() {
            piece.copy_from_slice(self.piece(at as usize / PIECE + number));
        }
        Ok(())
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), Errno> {
        self.count(at, bytes.len())?;
        for (number, piece) in bytes.chunks(PIECE).enumerate() {
            self.changed.insert(at as usize / PIECE + number, piece.to_vec());
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Errno> {
        Ok(())
    }
}

fn fill(volume: &mut Volume<Memory>) -> Result<(), Errno> {
    let write = OpenFlags { reads: true, writes: true, creates: Some(0o644), ..OpenFlags::default() };
    for (path, step) in [(&b"file"[..], 1000), (b"holes", 5000)] {
        let file = volume.open(path, write)?;
        for part in 0..20 {
            volume.write(&file, part * step, &[part as u8 + 1; 1000])?;
        }
    }
    volume.make_directory(b"folder", 0o755)?;
    volume.make_directory(b"folder/many", 0o755)?;
    for number in 0..120 {
        volume.link(b"file", format!("folder/many/a rather long name of a file {number}").as_bytes())?;
        if number % 16 == 0 {
            volume.commit()?;
        }
    }
    volume.symbolic_link(&[b'x'; 100], b"long")?;
    for path in [&b"file"[..], b"folder"] {
        volume.set_attribute(path, None, b"user.a", Some(&[b'a'; 20]), 0)?;
        volume.set_attribute(path, None, b"trusted.b", Some(&[b'b'; 400]), 0)?;
    }
    let file = volume.open(b"open", write)?;
    volume.write(&file, 0, &[7; 3000])?;
    volume.remove(b"open", false)?;
    volume.commit()
}

#[test]
fn no_change_of_bytes_does_harm() {
    if !has_programs() {
        return;
    }
    let number = |name: &str| std::env::var(name).ok().and_then(|value| value.parse().ok());
    let count: usize = number("CHANGES").map_or(10_000, |count| count as usize);
    let mut seed = Seed(number("SEED").unwrap_or(12345));
    let mut mounted = 0;
    for kind in KINDS {
        let mut volume = mount(Memory::new(make(kind, 2048)));
        fill(&mut volume).unwrap();
        let base = Arc::new(volume.into_disk().bytes);
        let is_used = |number: &usize| base[number * PIECE..][..PIECE].iter().any(|byte| *byte != 0);
        let used: Vec<usize> = (1..base.len() / PIECE).filter(is_used).collect();
        for _ in 0..count / KINDS.len() {
            let mut disk = Overlay { base: base.clone(), changed: BTreeMap::new(), accesses: 0 };
            for _ in 0..1 + seed.below(3) {
                let at = used[seed.below(used.len() as u64) as usize] * PIECE;
                // Most structures stand at the beginning of their block.
                let low = if seed.below(2) == 0 { seed.below(64) } else { seed.below(PIECE as u64) };
                let value = [0, 1, 0x7f, 0x80, 0xff, seed.below(256) as u8][seed.below(6) as usize];
                disk.set(at + low as usize, value);
            }
            let Ok(mut volume) = Volume::mount(disk, options()) else { continue };
            mounted += 1;
            let mut open = None;
            (0..30).for_each(|_| operate(&mut volume, &mut seed, &mut open));
            drop(open);
            let _ = volume.close();
        }
    }
    assert!(mounted > count / 2, "only {mounted} volumes were mounted");
}

fn operate(volume: &mut Volume<Overlay>, seed: &mut Seed, open: &mut Option<Open>) {
    let (path, other) = (PATHS[seed.below(9) as usize], PATHS[seed.below(9) as usize]);
    let bits = seed.below(40);
    let at = seed.below(1 << bits);
    let creates = (seed.below(3) == 0).then_some(0o644);
    let flags = OpenFlags { reads: true, writes: at.is_multiple_of(2), creates, ..OpenFlags::default() };
    match (seed.below(14), &*open) {
        (0, file) => {
            drop((volume.status(path), volume.attribute(path, file.as_ref(), b""), volume.attribute(path, None, b"user.a")));
            let bytes = [at as u8; 900];
            let value = Some(&bytes[..at as usize % 900]).filter(|_| !at.is_multiple_of(3));
            let _ = volume.set_attribute(path, file.as_ref(), b"user.a", value, at as u32 % 4);
        }
        (1..=3, _) => *open = volume.open(path, flags).ok(),
        (4, Some(file)) => drop(volume.read(file, at, &mut [0; 5000])),
        (5, Some(file)) => drop(volume.write(file, at % (1 << 24), &[at as u8; 3000])),
        (6, Some(file)) => list(volume, file),
        (7, file) => drop(volume.change(path, file.as_ref(), &Changes { size: Some(at), ..Changes::default() })),
        (8, _) => drop(volume.make_directory(path, 0o755)),
        (9, _) => drop(volume.symbolic_link(&[b'y'; 70], path)),
        (10, _) => drop(volume.link(path, other)),
        (11, _) => drop(volume.rename(path, other)),
        (12, _) => drop(volume.remove(path, at.is_multiple_of(2))),
        (13, _) => drop(volume.tick()),
        _ => {}
    }
}

/// Lists a directory; each step goes on.
fn list(volume: &mut Volume<Overlay>, file: &Open) {
    let mut cookie = 0;
    while let Ok(next) = volume.list(file, cookie, &mut |entry| assert!(entry.name.len() <= 255)) {
        assert!(next == 0 || next > cookie);
        if next == 0 {
            break;
        }
        cookie = next;
    }
}
