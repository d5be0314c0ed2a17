//! Tests of records that touch files. They stand apart because the fuzz targets include `records`
//! without the rest of the command.

use super::records::Splitter;
use std::collections::BTreeSet;

#[test]
fn a_file_that_was_asked_for_is_written() {
    let folder = crate::scratch::Folder::new("records").unwrap();
    let path = folder.path().join("a;x");
    let mut splitter = Splitter::new(BTreeSet::from([path.clone()]), ());
    let record = format!("\x1b]nacre;file={};5\x07", path.display());
    let (text, records) = splitter.split(&[record.as_bytes(), b"\x1b]na\x07rest"].concat());
    assert_eq!((text, records), (b"rest".to_vec(), vec![]));
    assert_eq!(std::fs::read(&path).unwrap(), b"\x1b]na\x07");
}
