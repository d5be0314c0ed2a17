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
    assert_eq!((records, std::fs::read(&path).unwrap()), (vec![], b"ab".to_vec()));
    let (rest, said) = splitter.finish();
    assert!(rest.is_empty() && matches!(said, Some(Record::Refused(text)) if text.contains("7 bytes")));
}
