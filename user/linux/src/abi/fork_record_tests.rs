//! What is written is read, and nothing that makes no sense.

use super::*;
use alloc::vec;

fn files() -> Files {
    let all = [
        File { stream: Some(0), flags: 2, ..File::default() },
        File { path: b"/proc/1/stat", position: 5, ..File::default() },
        File { reference: Some(0), mode: 0o100644, flags: 1, path: b"/tmp/file", ..File::default() },
    ];
    let mut files = Files::default();
    for (number, file) in all.iter().enumerate() {
        assert_eq!(files.add(file), Ok(number as u64));
    }
    files
}

fn inheritance() -> Inheritance {
    let copy = Copy {
        registers: core::array::from_fn(|number| number as u64),
        fs_base: 0x7000,
        alternate: [1, 2, 3],
        clear_number: 4,
        set_number: 0,
        actions: vec![[64, 5, 6, 7, 8], [2, 5, 0, 7, 8]],
        program_break: [0x1000, 0x1800, 0x2000],
        fpu: vec![9; 513],
        segments: vec![
            Segment { port: Some(2), region: 3, size: 0x4000, writable: true, paging: 2 },
            Segment { port: None, region: 1, size: 5, writable: false, paging: 0 },
        ],
        areas: vec![
            Area { start: 0x1000, end: 0x2000, rights: 3, fill: Fill::Own },
            Area { start: 0x2000, end: 0x3000, rights: 0, fill: Fill::Reserved },
            Area { start: 0x3000, end: 0x5000, rights: 1, fill: Fill::Part { segment: 1, offset: 0x1000, sharing: Sharing::Lent } },
            Area { start: 0x8000, end: 0x9000, rights: 3, fill: Fill::Fresh },
        ],
        services: [Some(2), None, Some(0)],
    };
    Inheritance {
        owner: [0, 1, 2, 3, 4, 5],
        umask: 0o22,
        limits: [[7, 8]; LIMITS],
        mask: 1 << 63,
        ignored: 4,
        name: *b"a name of a task",
        executable: b"/bin/sh".to_vec(),
        state: [9; STATE],
        groups: vec![4, 5],
        pending: vec![[1; SIGNAL]],
        files: files(),
        descriptors: vec![Descriptor { number: 0, file: 0, close_on_exec: false }, Descriptor { number: 9, file: 1, close_on_exec: true }],
        sets: vec![Set { file: 1, members: vec![Member { descriptor: 4, file: 2, wanted: 1 << 31, data: 5, told: 1, changes: [6, 7], is_used: true }] }],
        current: Some(1),
        root: Some(0),
        lock_owner: Some(3),
        keyed: Some(1),
        executing: Some(2),
        attached: vec![[0x1000, 0x2000, 3]],
        copy: Some(copy),
        ..Inheritance::default()
    }
}

#[test]
fn what_is_written_is_read() {
    let whole = inheritance();
    assert_eq!(Inheritance::from_bytes(&whole.to_bytes().unwrap(), 4), Some(whole.clone()));
    let program = Inheritance { copy: None, current: None, root: None, ..whole };
    assert_eq!(Inheritance::from_bytes(&program.to_bytes().unwrap(), 4), Some(program));
}

#[test]
fn references_that_did_not_come_are_refused() {
    let bytes = inheritance().to_bytes().unwrap();
    assert_eq!(Inheritance::from_bytes(&bytes, 3), None);
}

#[test]
fn every_end_that_comes_too_early_is_seen() {
    let bytes = inheritance().to_bytes().unwrap();
    for size in 0..bytes.len() {
        assert_eq!(Inheritance::from_bytes(&bytes[..size], 4), None, "{size}");
    }
}

#[test]
fn whatever_is_read_can_be_used() {
    let bytes = inheritance().to_bytes().unwrap();
    let mut state = 0x2545_f491_4f6c_dd1du64;
    let mut accepted = 0;
    for _ in 0..20_000 {
        let mut damaged = bytes.clone();
        for _ in 0..3 {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let at = (state >> 33) as usize % damaged.len();
            damaged[at] = if state & 0x100 == 0 { 0 } else { state as u8 };
        }
        let Some(read) = Inheritance::from_bytes(&damaged, 4) else { continue };
        accepted += 1;
        let files = read.files.count();
        assert!((0..files).all(|number| read.files.get(number).is_some_and(|file| file.has_server() || !file.path.is_empty())));
        assert!((0..files).filter_map(|number| read.files.get(number)?.reference).all(|number| number < 4));
        assert!(read.descriptors.iter().all(|one| one.file < files && one.number < MOST));
        assert!(read.copy.is_none_or(|copy| copy.areas.iter().all(|area| area.start < area.end)));
    }
    assert!(accepted > 100);
}

#[test]
fn each_file_is_found_by_its_number() {
    let read = Inheritance::from_bytes(&inheritance().to_bytes().unwrap(), 4).unwrap();
    assert_eq!(read.files, files());
    assert_eq!(read.files.get(1), Some(File { path: b"/proc/1/stat", position: 5, ..File::default() }));
    assert_eq!(read.files.get(2).map(|file| (file.reference, file.mode, file.flags, file.path)), Some((Some(0), 0o100644, 1, &b"/tmp/file"[..])));
    assert_eq!(read.files.get(3), None);
}
