//! Journals: those that Linux's tools wrote are replayed here as by e2fsck, and the other way
//! round.

mod support;

use nacre_ext4::{Disk, MountError, Options, Tree, Volume};
use nacre_machine_9p::OpenFlags;
use support::*;

const KINDS: [&str; 3] = ["-t ext4 -b 1024", "-t ext4 -b 4096", "-t ext3 -b 1024"];
/// First bytes of each block of a journal, which copies of other blocks must not have.
const MAGIC: [u8; 4] = [0xc0, 0x3b, 0x39, 0x98];

/// Runs a script of debugfs on an image.
fn script(image: &Image, lines: &str) {
    let file = Image::new();
    std::fs::write(&file.0, lines).unwrap();
    let mut debugfs = std::process::Command::new("/usr/sbin/debugfs");
    let output = debugfs.args(["-w", "-f"]).arg(&file.0).arg(&image.0).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && text.lines().count() <= 1, "{text}");
}

#[test]
fn a_journal_that_debugfs_wrote_is_replayed() {
    if !has_programs() {
        return;
    }
    for kind in KINDS {
        for (number, options) in ["", "-c"].into_iter().enumerate() {
            if number == 1 && kind.contains("ext3") {
                continue;
            }
            let image = Image::with(&make(kind, 16 << 10));
            let size = if kind.contains("4096") { 4096 } else { 1024 };
            let blocks = Image::with(&[vec![0xab; size], [&MAGIC[..], &vec![5; size - 4]].concat(), vec![1; size]].concat());
            let other = Image::with(&vec![0xcd; size]);
            let base = 12 << 20 >> if size == 4096 { 12 } else { 10 };
            let (a, b, c) = (base, base + 1, base + 5);
            let lines = format!(
                "jo {options}\njw -b {a},{b},{c} {}\njw -b {a} {}\njw -r {b}\njw -b {b} {}\njw -r {c}\njc\n",
                blocks.0.display(), other.0.display(), other.0.display(),
            );
            script(&image, &lines);
            let bytes = image.bytes();
            let volume = mount(Memory::new(bytes));
            let ours = volume.close().unwrap().bytes;
            let (_, text) = fsck(&image, "-fy");
            assert!(text.contains("recovering journal"), "{text}");
            let theirs = image.bytes();
            let part = |bytes: &[u8], block: usize| bytes[block * size..][..size].to_vec();
            for block in [a, b, c] {
                assert!(part(&ours, block) == part(&theirs, block), "{kind} {options} {block}");
            }
            assert_eq!((part(&ours, a)[0], part(&ours, b)[0], part(&ours, c)[0]), (0xcd, 0xcd, 0));
            let _ = size;
        }
    }
}

#[test]
fn a_copy_that_looks_like_the_journal_is_escaped() {
    if !has_programs() {
        return;
    }
    for kind in KINDS {
        let mut volume = mount(Memory::new(make(kind, 16 << 10)));
        let target = [&MAGIC[..], &[b'x'; 100]].concat();
        volume.symbolic_link(&target, b"link").unwrap();
        let before = volume.disk().bytes.clone();
        volume.commit().unwrap();
        let after = volume.into_disk().bytes;
        // All writes in place are lost, those to the journal are there.
        let journal = mixed(&before, &after, kind);
        let mut ours = mount(Memory::new(journal.clone()));
        assert_eq!(ours.read_link(b"link").as_ref(), Ok(&target));
        assert_clean(&ours.close().unwrap().bytes);
        let image = Image::with(&journal);
        fsck(&image, "-p");
        let replayed = image.bytes();
        assert_clean(&replayed);
        assert_eq!(mount(Memory::new(replayed)).read_link(b"link"), Ok(target));
    }
}

/// Returns a volume before a commit with the journal and the superblock after it.
fn mixed(before: &[u8], after: &[u8], kind: &str) -> Vec<u8> {
    let size = if kind.contains("4096") { 4096 } else { 1024 };
    let image = Image::with(before);
    let text = String::from_utf8(debugfs(&image, "blocks <8>")).unwrap();
    let mut bytes = before.to_vec();
    for block in text.split_whitespace().map(|number| number.parse::<usize>().unwrap()) {
        bytes[block * size..][..size].copy_from_slice(&after[block * size..][..size]);
    }
    // The superblock says that there is something in the journal.
    bytes[1024..2048].copy_from_slice(&after[1024..2048]);
    bytes
}

#[test]
fn a_block_that_becomes_data_is_not_written_over_by_a_replay() {
    if !has_programs() {
        return;
    }
    for kind in KINDS {
        let mut volume = mount(Memory::new(make(kind, 8 << 10)));
        volume.make_directory(b"folder", 0o755).unwrap();
        volume.make_node(b"folder/pipe", 0o010600, 0).unwrap();
        volume.commit().unwrap();
        volume.remove(b"folder/pipe", false).unwrap();
        volume.remove(b"folder", true).unwrap();
        volume.commit().unwrap();
        // The file takes all blocks that are free, that of the directory among them.
        let flags = OpenFlags { reads: true, writes: true, creates: Some(0o644), ..OpenFlags::default() };
        let file = volume.open(b"file", flags).unwrap();
        let mut size = 0;
        while let Ok(count) = volume.write(&file, size, &[0x77; 50_000]) {
            size += count as u64;
        }
        volume.commit().unwrap();
        let bytes = volume.into_disk().bytes;
        let image = Image::with(&bytes);
        fsck(&image, "-p");
        for bytes in [bytes, image.bytes()] {
            let mut volume = mount(Memory::new(bytes));
            let content = model::read(&mut volume, "file");
            assert!(content.len() as u64 == size && content.iter().all(|byte| *byte == 0x77), "{kind}");
            assert_clean(&volume.close().unwrap().bytes);
        }
    }
}

#[test]
fn a_volume_that_is_only_read_is_not_replayed() {
    if !has_programs() {
        return;
    }
    let mut volume = mount(Memory::new(make("-t ext4", 16 << 10)));
    volume.make_directory(b"folder", 0o755).unwrap();
    volume.commit().unwrap();
    let disk = Memory::noted(volume.into_disk().bytes);
    let log = disk.log.clone().unwrap();
    let refused = Volume::mount(disk.clone(), Options { read_only: true, ..options() });
    assert_eq!(refused.err(), Some(MountError::NeedsRecovery));
    assert!(log.lock().unwrap().is_empty());
    let closed = mount(disk).close().unwrap();
    let mut volume = Volume::mount(closed, Options { read_only: true, ..options() }).unwrap();
    assert_eq!((volume.read_only(), volume.status(b"folder").is_ok()), (Some("asked for"), true));
    assert!(volume.disk().size() > 0);
}

#[test]
fn blocks_that_linux_took_and_did_not_write_read_as_zeros() {
    if !has_programs() {
        return;
    }
    let image = Image::with(&make("-t ext4 -b 1024", 16 << 10));
    let empty = Image::with(&[9; 100]);
    script(&image, &format!("write {} file\nfallocate file 0 199\nset_inode_field file size 204800\n", empty.0.display()));
    let mut volume = mount(Memory::new(image.bytes()));
    let mut expected = model::read(&mut volume, "file");
    assert!(expected.len() == 204_800 && expected[1024..].iter().all(|byte| *byte == 0));
    let flags = OpenFlags { reads: true, writes: true, ..OpenFlags::default() };
    let file = volume.open(b"file", flags).unwrap();
    for at in [150_000, 50_500, 51_000, 3000, 203_000, 100_000] {
        volume.write(&file, at, &[at as u8; 1500]).unwrap();
        expected[at as usize..at as usize + 1500].fill(at as u8);
    }
    drop(file);
    assert!(model::read(&mut volume, "file") == expected);
    let bytes = volume.close().unwrap().bytes;
    assert_clean(&bytes);
    assert!(debugfs(&Image::with(&bytes), "cat file") == expected);
}
