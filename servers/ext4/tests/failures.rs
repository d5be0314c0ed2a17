//! Disks that fail: an operation that fails changes nothing, and a commit that fails is the last.

mod support;

use nacre_ext4::{Disk, Errno, Open, Options, Tree, Volume};
use nacre_machine_9p::{Changes, OpenFlags};
use support::model::Seed;
use support::*;

/// A disk of which some accesses fail.
struct Failing {
    inner: Memory,
    /// Number of reads from one failure to the next; 0: none fail.
    each_read: u32,
    /// Number of writes after which all fail.
    writes: u32,
    reads: u32,
}

impl Disk for Failing {
    fn size(&self) -> u64 {
        self.inner.size()
    }

    fn read(&mut self, at: u64, into: &mut [u8]) -> Result<(), Errno> {
        self.reads += 1;
        if self.each_read > 0 && self.reads.is_multiple_of(self.each_read) {
            return Err(Errno(5));
        }
        self.inner.read(at, into)
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), Errno> {
        self.writes = self.writes.saturating_sub(1);
        if self.writes == 0 { Err(Errno(5)) } else { self.inner.write(at, bytes) }
    }

    fn flush(&mut self) -> Result<(), Errno> {
        Ok(())
    }
}

fn operate(volume: &mut Volume<Failing>, seed: &mut Seed, open: &mut Vec<Open>) -> Result<(), Errno> {
    let path = |seed: &mut Seed| format!("{}{}", ["", "a/", "b/"][seed.below(3) as usize], seed.below(90));
    let (from, to) = (path(seed), path(seed));
    let (from, to) = (from.as_bytes(), to.as_bytes());
    let flags = OpenFlags { reads: true, writes: true, creates: Some(0o600), ..OpenFlags::default() };
    match seed.below(10) {
        0..=2 => open.push(volume.open(from, flags)?),
        3 => drop(open.pop()),
        4 | 5 => {
            let at = seed.below(100_000);
            open.last().map_or(Ok(0), |file| volume.write(file, at, &[7; 9000]))?;
        }
        6 => volume.rename(from, to)?,
        7 => volume.remove(from, false)?,
        8 => volume.change(from, None, &Changes { size: Some(seed.below(90_000)), ..Changes::default() })?,
        _ => volume.link(from, to)?,
    }
    Ok(())
}

#[test]
fn an_operation_that_fails_changes_nothing() {
    if !has_programs() {
        return;
    }
    for (kind, each_read) in [("-t ext4 -b 1024", 7), ("-t ext2 -b 1024", 13), ("-t ext3 -b 1024", 3)] {
        let inner = Memory::new(make(kind, 32 << 10));
        let disk = Failing { inner, each_read: 0, writes: u32::MAX, reads: 0 };
        let mut volume = Volume::mount(disk, Options { cache: 1, ..options() }).unwrap();
        volume.make_directory(b"a", 0o755).unwrap();
        volume.make_directory(b"b", 0o755).unwrap();
        volume.disk().each_read = each_read;
        let (mut seed, mut open, mut failed) = (Seed(77), Vec::new(), 0);
        for _ in 0..1500 {
            let result = operate(&mut volume, &mut seed, &mut open);
            failed += u32::from(result == Err(Errno(5)));
            if seed.below(3) == 0 {
                // Blocks that are clean leave the cache, so that they are read again.
                volume.disk().each_read = 0;
                volume.commit().unwrap();
                volume.disk().each_read = each_read;
            }
        }
        assert!(failed > 10, "{kind}: only {failed} operations failed");
        volume.disk().each_read = 0;
        open.clear();
        volume.tick().unwrap();
        // A file that could not be given back goes with the next mount.
        let disk = volume.close().unwrap();
        let volume = Volume::mount(disk, options()).unwrap();
        assert_clean(&volume.close().unwrap().inner.bytes);
    }
}

#[test]
fn a_commit_that_fails_is_the_last() {
    if !has_programs() {
        return;
    }
    for writes in [1, 2, 3, 10, 40, 41, 42, 43, 90] {
        let inner = Memory::new(make("-t ext4 -b 1024", 8 << 10));
        let disk = Failing { inner, each_read: 0, writes, reads: 0 };
        let mut volume = Volume::mount(disk, options()).unwrap();
        let (mut seed, mut open) = (Seed(78), Vec::new());
        while volume.read_only().is_none() {
            let _ = operate(&mut volume, &mut seed, &mut open);
            if seed.below(10) == 0 {
                let _ = volume.tick();
            }
        }
        assert_eq!(volume.make_directory(b"new", 0o755), Err(Errno(30)));
        let bytes = volume.into_disk().inner.bytes;
        assert_clean(&mount(Memory::new(bytes)).close().unwrap().bytes);
    }
}
