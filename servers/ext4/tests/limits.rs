//! Many entries, many extents, full volumes, and files that are open without a name.

mod support;

use nacre_ext4::{Errno, Open, Tree, Volume};
use nacre_machine_9p::{Changes, OpenFlags, Part, Sought};
use std::collections::BTreeSet;
use support::*;

const WRITE: OpenFlags = OpenFlags { reads: true, writes: true, truncates: false, is_directory: false, creates: None };

fn create(volume: &mut Volume<Memory>, path: &str) -> Open {
    volume.open(path.as_bytes(), OpenFlags { creates: Some(0o644), ..WRITE }).unwrap()
}

fn directory(volume: &mut Volume<Memory>, path: &str) -> Open {
    let flags = OpenFlags { reads: true, is_directory: true, ..OpenFlags::default() };
    volume.open(path.as_bytes(), flags).unwrap()
}

/// Lists a directory, and calls `between` after each part.
fn list(
    volume: &mut Volume<Memory>, path: &str, mut between: impl FnMut(&mut Volume<Memory>, u32),
) -> BTreeSet<String> {
    let file = directory(volume, path);
    let (mut cookie, mut names, mut part) = (0, BTreeSet::new(), 0);
    loop {
        let each = &mut |entry: nacre_machine_9p::Entry<'_>| {
            assert!(names.insert(String::from_utf8(entry.name.to_vec()).unwrap()), "listed twice");
        };
        cookie = volume.list(&file, cookie, each).unwrap();
        if cookie == 0 {
            return names;
        }
        part += 1;
        between(volume, part);
    }
}

#[test]
fn a_directory_has_a_hundred_thousand_entries() {
    if !has_programs() {
        return;
    }
    let mut volume = mount(Memory::new(make("-t ext4 -b 1024", 64 << 10)));
    volume.make_directory(b"many", 0o755).unwrap();
    for number in 0..100_000 {
        if number % 50_000 == 0 {
            create(&mut volume, &format!("file {}", number / 50_000));
        }
        let from = format!("file {}", number / 50_000);
        volume.link(from.as_bytes(), format!("many/entry {number}").as_bytes()).unwrap();
    }
    assert_eq!(volume.status(b"file 1").unwrap().links, 50_001);
    let names = list(&mut volume, "many", |volume, part| {
        // Entries come and go; those that stay are listed once.
        volume.link(b"file 0", format!("many/new {part}").as_bytes()).unwrap();
        volume.remove(format!("many/entry {}", part * 16 + 1).as_bytes(), false).unwrap();
    });
    assert!((0..100_000).step_by(16).all(|number| names.contains(&format!("entry {number}"))));
    let disk = volume.close().unwrap();
    assert_clean(&disk.bytes);
    let mut volume = mount(disk);
    for name in list(&mut volume, "many", |_, _| {}) {
        volume.remove(format!("many/{name}").as_bytes(), false).unwrap();
    }
    volume.remove(b"many", true).unwrap();
    assert_clean(&volume.close().unwrap().bytes);
}

#[test]
fn a_file_has_thousands_of_extents() {
    if !has_programs() {
        return;
    }
    for kind in ["-t ext4 -b 1024", "-t ext2 -b 1024", "-t ext4 -b 1024 -O ^has_journal"] {
        let mut volume = mount(Memory::new(make(kind, 32 << 10)));
        let free = volume.file_system().unwrap().free;
        let file = create(&mut volume, "holes");
        // Backwards, so that entries come at the beginning of nodes, and then between.
        let order = (0..4000_u64).rev().step_by(2).chain((0..4000).step_by(8));
        for block in order {
            volume.write(&file, block * 2048, &[block as u8; 1024]).unwrap();
        }
        let mut back = [0; 1024];
        for block in (1..4000_u64).step_by(2) {
            assert_eq!(volume.read(&file, block * 2048, &mut back), Ok(1024));
            assert_eq!(back, [block as u8; 1024], "{block}");
        }
        volume.commit().unwrap();
        assert_clean(&volume.core_copy());
        for size in [6_000_000, 3_000_001, 1] {
            volume.change(b"holes", None, &Changes { size: Some(size), ..Changes::default() }).unwrap();
            volume.commit().unwrap();
            assert_clean(&volume.core_copy());
        }
        drop(file);
        volume.remove(b"holes", false).unwrap();
        volume.tick().unwrap();
        assert_eq!(volume.file_system().unwrap().free, free);
        assert_clean(&volume.close().unwrap().bytes);
    }
}

/// A copy of the disk of a volume, with what is committed in place.
trait Copy {
    fn core_copy(&mut self) -> Vec<u8>;
}

impl Copy for Volume<Memory> {
    fn core_copy(&mut self) -> Vec<u8> {
        let bytes = self.disk().bytes.clone();
        // The journal is replayed first, as at a mount.
        mount(Memory::new(bytes)).close().unwrap().bytes
    }
}

#[test]
fn a_full_volume_takes_what_fits_and_harms_nothing() {
    if !has_programs() {
        return;
    }
    for (kind, size) in [("-t ext4 -b 1024", 32), ("-t ext4 -b 4096", 8), ("-t ext2 -b 1024", 8)] {
        let mut volume = mount(Memory::new(make(&format!("{kind} -N 256"), size << 10)));
        volume.make_directory(b"folder", 0o755).unwrap();
        let before = volume.file_system().unwrap();
        let file = create(&mut volume, "file");
        let mut at = 0;
        let error = loop {
            match volume.write(&file, at, &[3; 100_000]) {
                Ok(count) => at += count as u64,
                Err(error) => break error,
            }
        };
        assert_eq!(error, Errno(28));
        let full = volume.file_system().unwrap();
        assert!(full.free <= 4 && at / before.block_size > before.free * 9 / 10, "{kind}: {full:?} {at}");
        assert_eq!(volume.make_directory(b"folder/one", 0o755), Err(Errno(28)));
        assert_eq!(volume.symbolic_link(&[b'x'; 100], b"folder/two"), Err(Errno(28)));
        assert_eq!(volume.status_open(&file).unwrap().size, at);
        let made = (0..300).take_while(|number| volume.make_node(format!("folder/{number}").as_bytes(), 0o010600, 0).is_ok());
        assert!(made.count() > 20);
        drop(file);
        volume.remove(b"file", false).unwrap();
        let file = create(&mut volume, "again");
        // What was set free can be used at once, after a commit that comes by itself.
        assert_eq!(volume.write(&file, 0, &[4; 1_000_000]), Ok(1_000_000));
        drop(file);
        assert_clean(&volume.close().unwrap().bytes);
    }
}

#[test]
fn files_without_a_name_live_until_they_are_closed() {
    if !has_programs() {
        return;
    }
    let mut volume = mount(Memory::new(make("-t ext4", 16 << 10)));
    let free = volume.file_system().unwrap();
    let files: Vec<Open> = (0..5).map(|number| create(&mut volume, &format!("{number}"))).collect();
    for (number, file) in files.iter().enumerate() {
        volume.write(file, 0, &[number as u8; 50_000]).unwrap();
        volume.remove(format!("{number}").as_bytes(), false).unwrap();
    }
    volume.change(b"", Some(&files[2]), &Changes { size: Some(10), ..Changes::default() }).unwrap();
    let mut back = [0; 50_000];
    assert_eq!(volume.read(&files[3], 0, &mut back), Ok(50_000));
    assert_eq!((back, volume.status_open(&files[3]).unwrap().links), ([3; 50_000], 0));
    volume.commit().unwrap();
    let crashed = volume.disk().bytes.clone();
    let mut others = files.into_iter();
    drop((others.next(), others.nth(1)));
    volume.tick().unwrap();
    let kept = volume.file_system().unwrap();
    assert_eq!(free.files_free - kept.files_free, 2);
    drop(others);
    volume.tick().unwrap();
    assert_eq!(volume.file_system().unwrap(), free);
    assert_clean(&volume.close().unwrap().bytes);
    let mut volume = mount(Memory::new(crashed));
    assert_eq!(volume.file_system().unwrap(), free);
    assert_clean(&volume.close().unwrap().bytes);
}

#[test]
fn directories_have_more_links_than_can_be_counted() {
    if !has_programs() {
        return;
    }
    let mut volume = mount(Memory::new(make("-t ext4 -b 1024 -N 70000", 96 << 10)));
    for number in 0..65_010 {
        volume.make_directory(format!("{number}").as_bytes(), 0o755).unwrap();
    }
    assert_eq!(volume.status(b"").unwrap().links, 1);
    assert_clean(&volume.close().unwrap().bytes);
}

#[test]
fn what_cannot_be_mounted_is_refused_and_not_written() {
    if !has_programs() {
        return;
    }
    use nacre_ext4::MountError;
    for (arguments, is_refused) in [
        ("-t ext4 -O inline_data", true),
        ("-t ext4 -O mmp", true),
        ("-t ext4 -O encrypt", true),
        ("-t ext4 -O meta_bg,^resize_inode", true),
        ("-t ext4 -O quota", false),
        ("-t ext4 -O bigalloc", true),
    ] {
        let bytes = make(arguments, 16 << 10);
        match Volume::mount(Memory::noted(bytes.clone()), options()) {
            Err(error) => assert!(is_refused && matches!(error, MountError::Features(_) | MountError::Missing(_)), "{arguments}: {error}"),
            Ok(mut volume) => {
                assert!(!is_refused && volume.read_only().is_some(), "{arguments}");
                assert_eq!(volume.make_directory(b"new", 0o755), Err(Errno(30)));
                volume.tick().unwrap();
                assert!(volume.close().unwrap().bytes == bytes);
            }
        }
    }
    let zeros = Volume::mount(Memory::new(vec![0; 1 << 20]), options());
    assert_eq!(zeros.err(), Some(MountError::NotExt4));
}

/// A disk in a file.
struct FileDisk(std::fs::File);

impl nacre_ext4::Disk for FileDisk {
    fn size(&self) -> u64 {
        self.0.metadata().unwrap().len()
    }

    fn read(&mut self, at: u64, into: &mut [u8]) -> Result<(), Errno> {
        std::os::unix::fs::FileExt::read_exact_at(&self.0, into, at).map_err(|_| Errno(5))
    }

    fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), Errno> {
        std::os::unix::fs::FileExt::write_all_at(&self.0, bytes, at).map_err(|_| Errno(5))
    }

    fn flush(&mut self) -> Result<(), Errno> {
        Ok(())
    }
}

#[test]
fn a_sparse_volume_of_four_gibibytes_is_used_in_all_places() {
    if !has_programs() {
        return;
    }
    let image = Image::new();
    std::fs::File::create(&image.0).unwrap().set_len(4 << 30).unwrap();
    format(&image, "-t ext4");
    let open = || FileDisk(std::fs::File::options().read(true).write(true).open(&image.0).unwrap());
    let mut volume = Volume::mount(open(), options()).unwrap();
    let free = volume.file_system().unwrap();
    let flags = OpenFlags { creates: Some(0o644), ..WRITE };
    for number in 0..40_u64 {
        let path = format!("folder {number}");
        volume.make_directory(path.as_bytes(), 0o755).unwrap();
        let file = volume.open(format!("{path}/file").as_bytes(), flags).unwrap();
        for part in [0, 3 << 30, number << 27, 15 << 40] {
            volume.write(&file, part, &[number as u8; 10_000]).unwrap();
        }
    }
    volume.close().unwrap();
    let (is_clean, text) = fsck(&image, "-fn");
    assert!(is_clean, "{text}");
    let mut volume = Volume::mount(open(), options()).unwrap();
    let file = volume.open(b"folder 7/file", OpenFlags { reads: true, ..OpenFlags::default() }).unwrap();
    let mut back = [1; 20_000];
    assert_eq!(volume.read(&file, (15 << 40) - 5000, &mut back), Ok(15_000));
    assert!(back[..5000].iter().all(|byte| *byte == 0) && back[5000..15_000].iter().all(|byte| *byte == 7));
    drop(file);
    for number in 0..40 {
        volume.remove(format!("folder {number}/file").as_bytes(), false).unwrap();
        volume.remove(format!("folder {number}").as_bytes(), true).unwrap();
    }
    assert_eq!(volume.file_system().unwrap().files_free, free.files_free);
    volume.close().unwrap();
    let (is_clean, text) = fsck(&image, "-fn");
    assert!(is_clean, "{text}");
}

/// Takes room for a part of a file, however many pieces that takes.
fn allocate(volume: &mut Volume<Memory>, file: &Open, start: u64, end: u64) -> Result<(), Errno> {
    let mut at = start;
    while at < end {
        at = volume.allocate(file, at..end, false)?;
    }
    Ok(())
}

#[test]
fn room_that_was_set_aside_is_there_when_the_volume_is_full() {
    if !has_programs() {
        return;
    }
    const MIB: u64 = 1 << 20;
    let mut volume = mount(Memory::new(make("-t ext4 -b 1024", 16 << 10)));
    let (file, other) = (create(&mut volume, "file"), create(&mut volume, "other"));
    let free = |volume: &mut Volume<Memory>| volume.file_system().unwrap().free;
    let before = free(&mut volume);
    assert_eq!(allocate(&mut volume, &file, 0, before * 1024 + 1), Err(Errno(28)));
    assert_eq!((free(&mut volume), volume.status(b"file").unwrap().size), (before, 0));
    allocate(&mut volume, &file, 0, 4 * MIB).unwrap();
    assert!(before - free(&mut volume) >= 4 << 10);
    assert_eq!(volume.seek(&file, 0, Part::Data), Err(Errno(6)));
    assert_eq!(volume.write(&file, MIB + 1000, &[7; 2000]), Ok(2000));
    assert_eq!((volume.seek(&file, 0, Part::Data), volume.seek(&file, MIB, Part::Hole)), (Ok(Sought::At(MIB)), Ok(Sought::At(MIB + 3072))));
    // Another file takes all the rest.
    let (mut at, bytes) = (0, vec![7; 64 << 10]);
    while let Ok(count) = volume.write(&other, at, &bytes) {
        at += count as u64;
    }
    assert!(free(&mut volume) < 64);
    for at in (0..4 * MIB).step_by(256 << 10) {
        assert_eq!(volume.write(&file, at + 1000, &bytes), Ok(bytes.len()));
    }
    let mut back = vec![1; 256 << 10];
    assert_eq!(volume.read(&file, 256 << 10, &mut back), Ok(back.len()));
    let is_right = |(place, byte): (usize, &u8)| *byte == if (1000..1000 + bytes.len()).contains(&place) { 7 } else { 0 };
    assert!(back.iter().enumerate().all(is_right));
    drop((file, other));
    let disk = volume.close().unwrap();
    assert_clean(&disk.bytes);
}

#[test]
fn a_large_file_of_many_holes_is_filled_in_pieces() {
    if !has_programs() {
        return;
    }
    let mut volume = mount(Memory::new(make("-t ext4 -b 1024", 32 << 10)));
    let file = create(&mut volume, "file");
    for number in 0..3000 {
        assert_eq!(volume.write(&file, number * 4096, b"x"), Ok(1));
    }
    let (mut at, mut pieces) = (0, 0);
    while at < 3000 * 4096 {
        at = volume.allocate(&file, at..3000 * 4096, true).unwrap();
        pieces += 1;
    }
    assert!(pieces > 1);
    assert_eq!(volume.status(b"file").unwrap().size, 2999 * 4096 + 1);
    assert_eq!(volume.seek(&file, 1024, Part::Data), Ok(Sought::At(4096)));
    drop(file);
    assert_clean(&volume.close().unwrap().bytes);
}

#[test]
fn a_file_is_emptied_from_its_middle() {
    if !has_programs() {
        return;
    }
    let mut volume = mount(Memory::new(make("-t ext4 -b 1024", 32 << 10)));
    let (file, before) = (create(&mut volume, "file"), volume.file_system().unwrap().free);
    for number in 0..3000 {
        assert_eq!(volume.write(&file, number * 4096, b"x"), Ok(1));
    }
    let mut at = 4097;
    while at < 2999 * 4096 {
        at = volume.punch(&file, at..2999 * 4096).unwrap();
    }
    assert_eq!(volume.seek(&file, 1024, Part::Data), Ok(Sought::At(4096)));
    assert_eq!(volume.seek(&file, 5 << 10, Part::Data), Ok(Sought::At(2999 * 4096)));
    volume.commit().unwrap();
    assert!(before - volume.file_system().unwrap().free < 10, "nodes of the tree have gone, too");
    // What lies behind the end, also by more blocks than can be counted, is nothing of the file's.
    let before = volume.status(b"file").unwrap().blocks;
    for start in [3000 * 4096, 1 << 42, (1 << 42) + 1, 1 << 62] {
        assert_eq!(volume.punch(&file, start..start + 8192), Ok(start + 8192));
    }
    assert_eq!(volume.status(b"file").unwrap().blocks, before);
    assert_eq!(volume.punch(&file, 0..1 << 40), Ok(1 << 40));
    assert_eq!((volume.status(b"file").unwrap().size, volume.status(b"file").unwrap().blocks), (2999 * 4096 + 1, 0));
    assert_eq!(volume.write(&file, 5 << 20, &[5; 5000]), Ok(5000));
    drop(file);
    assert_clean(&volume.close().unwrap().bytes);
}
