//! Tests of records that touch files. They stand apart because the fuzz targets include `records`
//! without the rest of the command.

use super::records::{Record, Splitter};
use std::collections::BTreeMap;

#[test]
fn a_file_that_was_asked_for_is_written() {
    let folder = crate::scratch::Folder::new("records").unwrap();
    let path = folder.path().join("a;x");
    let mut splitter = Splitter::new(BTreeMap::from([(path.clone(), path.clone())]), ());
    let record = format!("\x1b]nacre;file={};5\x07", path.display());
    let (text, records) = splitter.split(&[record.as_bytes(), b"\x1b]na\x07rest"].concat());
    assert_eq!((text, records), (b"rest".to_vec(), vec![]));
    assert_eq!(std::fs::read(&path).unwrap(), b"\x1b]na\x07");
}

#[test]
fn a_file_is_written_where_this_machine_wants_it() {
    let folder = crate::scratch::Folder::new("records").unwrap();
    let path = folder.path().join("here");
    let mut splitter = Splitter::new(BTreeMap::from([("/there".into(), path.clone())]), ());
    let (_, records) = splitter.split(b"\x1b]nacre;file=/there;3\x07abc\x1b]nacre;file=/there/../there;9\x07ab");
    // The second file is not whole yet: the first one is there.
    assert_eq!((records, std::fs::read(&path).unwrap()), (vec![], b"abc".to_vec()));
    let (rest, said) = splitter.finish();
    assert!(rest.is_empty() && matches!(said, Some(Record::Refused(text)) if text.contains("7 bytes")));
}

#[test]
fn a_file_that_is_cut_off_leaves_the_one_before() {
    let folder = crate::scratch::Folder::new("records").unwrap();
    let (path, link) = (folder.path().join("image"), folder.path().join("link"));
    std::fs::write(&path, b"older").unwrap();
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let mut splitter = Splitter::new(BTreeMap::from([("/image".into(), link)]), ());
    splitter.split(b"\x1b]nacre;file=/image;5\x07new");
    // A command that is killed here finishes nothing.
    assert_eq!(std::fs::read(&path).unwrap(), b"older");
    drop(splitter.finish());
    let there = || std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!((std::fs::read(&path).unwrap(), there()), (b"older".to_vec(), 2));
    let (_, records) = splitter.split(b"\x1b]nacre;file=/image;5\x07newer");
    assert_eq!((std::fs::read(&path).unwrap(), there(), records), (b"newer".to_vec(), 2, vec![]));
}

#[test]
fn what_is_no_plain_file_is_written_in_its_place() {
    let mut splitter = Splitter::new(BTreeMap::from([("/x".into(), "/dev/null".into())]), ());
    assert_eq!(splitter.split(b"\x1b]nacre;file=/x;3\x07abc!"), (b"!".to_vec(), vec![]));
    assert!(!std::path::Path::new("/dev/null.part").exists());
}

#[test]
fn so_many_files_stay_as_were_wanted() {
    let folder = crate::scratch::Folder::new("kept").unwrap();
    let path = |end: &str| folder.path().join(format!("f{end}"));
    let outputs = BTreeMap::from([("/f".into(), path(""))]);
    let mut splitter = Splitter::new(outputs, ()).keeping(BTreeMap::from([(path(""), 3)]));
    for number in 1..=4 {
        assert_eq!(splitter.split(format!("\x1b]nacre;file=/f;1\x07{number}").as_bytes()), (Vec::new(), Vec::new()));
    }
    let read = |end| std::fs::read_to_string(path(end)).ok();
    assert_eq!([read(""), read(".1"), read(".2"), read(".3")], [Some("4".into()), Some("3".into()), Some("2".into()), None]);
}
