//! Each operation once, on volumes of several kinds, judged by e2fsck and debugfs.

mod support;

use nacre_ext4::{Errno, Tree, Volume};
use nacre_machine_9p::{Changes, Lock, OpenFlags, Time, TimeChange};
use support::*;

const KINDS: [&str; 4] = ["-t ext4 -b 1024", "-t ext4 -b 4096", "-t ext2 -b 1024", "-t ext3 -b 4096"];
const WRITE: OpenFlags = OpenFlags { reads: true, writes: true, truncates: false, is_directory: false, creates: None };

/// A program can serve a volume by 9P, in a thread of its own.
const _: () = {
    const fn is_served<T: nacre_machine_virtio::FileServer + Send>() {}
    is_served::<nacre_machine_9p::Server<Volume<Memory>>>();
};

fn create(volume: &mut Volume<Memory>, path: &str) -> nacre_ext4::Open {
    volume.open(path.as_bytes(), OpenFlags { creates: Some(0o644), ..WRITE }).unwrap()
}

#[test]
fn files_are_written_and_read() {
    if !has_programs() {
        return;
    }
    for kind in KINDS {
        let mut volume = mount(Memory::new(make(kind, 64 << 10)));
        volume.make_directory(b"folder", 0o755).unwrap();
        let file = create(&mut volume, "folder/file");
        let text: Vec<u8> = (0..300_000_u32).map(|at| (at * 7 % 251) as u8).collect();
        assert_eq!(volume.write(&file, 5_000, &text), Ok(text.len()));
        let mut back = vec![1; 400_000];
        assert_eq!(volume.read(&file, 0, &mut back), Ok(305_000));
        assert!(back[..5000].iter().all(|byte| *byte == 0));
        assert!(back[5000..305_000] == text[..]);
        volume.symbolic_link(b"short", b"folder/link").unwrap();
        volume.symbolic_link(&[b'x'; 200], b"folder/long").unwrap();
        assert_eq!(volume.read_link(b"folder/long"), Ok(vec![b'x'; 200]));
        volume.make_node(b"tty", 0o020600, 0x401).unwrap();
        volume.make_node(b"pipe", 0o010600, 0).unwrap();
        volume.link(b"folder/file", b"other").unwrap();
        volume.rename(b"other", b"folder/another").unwrap();
        assert_eq!(volume.rename(b"folder", b"folder/below"), Err(Errno(22)));
        assert_eq!(volume.remove(b"folder", true), Err(Errno(39)));
        let modified = Some(TimeChange::Set(Time { seconds: 5_000_000_000, nanoseconds: 123 }));
        let changes = Changes { mode: Some(0o600), uid: Some(70_000), size: Some(100_000), modified, ..Changes::default() };
        volume.change(b"folder/file", None, &changes).unwrap();
        let status = volume.status(b"folder/another").unwrap();
        assert_eq!((status.mode, status.uid, status.size, status.links), (0o100600, 70_000, 100_000, 2));
        volume.lock(&file, Lock::Write, 0, 9).unwrap();
        drop(file);
        let bytes = volume.close().unwrap().bytes;
        assert_clean(&bytes);
        let image = Image::with(&bytes);
        let read = debugfs(&image, "cat /folder/another");
        assert!(read.len() == 100_000 && read[5000..] == text[..95_000], "{kind}: {}", read.len());
        let mut volume = mount(Memory::new(bytes));
        assert_eq!(volume.read_link(b"folder/link"), Ok(b"short".to_vec()));
        let before = volume.file_system().unwrap();
        for name in ["folder/file", "folder/another", "folder/link", "folder/long", "tty", "pipe"] {
            volume.remove(name.as_bytes(), false).unwrap();
        }
        volume.remove(b"folder", true).unwrap();
        let after = volume.file_system().unwrap();
        assert!(after.free > before.free + 90_000 / after.block_size, "{before:?} {after:?}");
        assert_clean(&volume.close().unwrap().bytes);
    }
}

/// Returns the value of an attribute as debugfs prints it.
fn debugfs_value(bytes: &[u8], path: &str, name: &str) -> Vec<u8> {
    let mut value = debugfs(&Image::with(bytes), &format!("ea_get -V {path} {name}"));
    assert_eq!(value.pop(), Some(b'\n'));
    value
}

#[test]
fn attributes_are_kept_in_inodes_and_blocks() {
    if !has_programs() {
        return;
    }
    for kind in KINDS {
        let mut volume = mount(Memory::new(make(kind, 64 << 10)));
        volume.make_directory(b"folder", 0o755).unwrap();
        volume.make_node(b"pipe", 0o010600, 0).unwrap();
        let file = create(&mut volume, "file");
        for path in [&b"file"[..], b"folder", b"pipe"] {
            let mut set = |name: &[u8], value: &[u8]| volume.set_attribute(path, None, name, Some(value), 0);
            assert_eq!([set(b"user.small", b"1"), set(b"user.empty", b""), set(b"trusted.other", &[b'o'; 300])], [Ok(()); 3]);
            assert_eq!(set(b"security.capability", &[0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]), Ok(()));
            assert_eq!(set(b"user.large", &[0; 5000]), Err(Errno(28)));
            assert_eq!(set(b"system.posix_acl_access", b"1"), Err(Errno(95)));
        }
        assert_eq!(volume.set_attribute(b"file", None, b"user.small", Some(b"2"), 1), Err(Errno(17)));
        assert_eq!(volume.set_attribute(b"file", Some(&file), b"user.small", Some(b"changed"), 2), Ok(()));
        assert_eq!(volume.set_attribute(b"file", None, b"user.none", Some(b""), 2), Err(Errno(61)));
        assert_eq!(volume.attribute(b"file", None, b"user.none"), Err(Errno(61)));
        let names = volume.attribute(b"file", None, b"").unwrap();
        assert_eq!((names.split(|byte| *byte == 0).count(), volume.attribute(b"file", None, b"user.empty")), (5, Ok(Vec::new())));
        drop(file);
        let bytes = volume.close().unwrap().bytes;
        assert_clean(&bytes);
        assert_eq!(debugfs_value(&bytes, "/file", "user.small"), b"changed");
        assert_eq!(debugfs_value(&bytes, "/folder", "trusted.other"), [b'o'; 300]);
        let mut volume = mount(Memory::new(bytes));
        let before = volume.file_system().unwrap().free;
        for name in [&b"user.small"[..], b"user.empty", b"trusted.other"] {
            assert_eq!(volume.set_attribute(b"file", None, name, None, 0), Ok(()));
        }
        assert_eq!(volume.attribute(b"file", None, b""), Ok(b"security.capability\0".to_vec()));
        [&b"file"[..], b"pipe"].iter().for_each(|path| volume.remove(path, false).unwrap());
        volume.remove(b"folder", true).unwrap();
        assert!(volume.file_system().unwrap().free >= before + 3, "{kind}");
        assert_clean(&volume.close().unwrap().bytes);
    }
}

#[test]
fn attributes_that_debugfs_wrote_are_read_and_kept() {
    if !has_programs() {
        return;
    }
    for kind in KINDS {
        let mut volume = mount(Memory::new(make(kind, 64 << 10)));
        drop(create(&mut volume, "file"));
        let image = Image::with(&volume.close().unwrap().bytes);
        for (name, size) in [("user.a", 10), ("user.long", 700), ("trusted.b", 3)] {
            let value = Image::with(&vec![b'd'; size]);
            let command = format!("ea_set -f {} /file {name}", value.0.display());
            debugfs_writing(&image, &command);
        }
        let mut volume = mount(Memory::new(image.bytes()));
        assert_eq!(volume.attribute(b"file", None, b"user.long"), Ok(vec![b'd'; 700]), "{kind}");
        assert_eq!(volume.attribute(b"file", None, b"trusted.b"), Ok(vec![b'd'; 3]));
        assert_eq!(volume.set_attribute(b"file", None, b"user.a", Some(b"ours"), 0), Ok(()));
        assert_eq!(volume.attribute(b"file", None, b"user.long"), Ok(vec![b'd'; 700]));
        let bytes = volume.close().unwrap().bytes;
        assert_clean(&bytes);
        assert_eq!(debugfs_value(&bytes, "/file", "user.a"), b"ours");
    }
}
