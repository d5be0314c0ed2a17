//! Tests of files that take their place when they are whole.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

use crate::scratch::Folder;
use crate::whole_file::WholeFile;

#[test]
fn a_file_takes_its_place_when_it_is_whole() {
    let folder = Folder::new("whole").unwrap();
    let (place, link) = (folder.path().join("a"), folder.path().join("b"));
    fs::write(&place, "before").unwrap();
    symlink("a", &link).unwrap();
    let mut cut = WholeFile::create(&link).unwrap();
    cut.write_all(b"cut").unwrap();
    assert_eq!(fs::read(&place).unwrap(), b"before");
    drop(cut);
    let mut whole = WholeFile::create(&link).unwrap();
    whole.write_all(b"whole").unwrap();
    whole.sync().and_then(|()| whole.finish()).unwrap();
    assert_eq!((fs::read(&place).unwrap(), fs::read_link(&link).unwrap()), (b"whole".to_vec(), PathBuf::from("a")));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

#[test]
fn a_file_keeps_its_owner_and_permissions() {
    let folder = Folder::new("whole").unwrap();
    let place = folder.path().join("a");
    fs::write(&place, "before").unwrap();
    fs::set_permissions(&place, fs::Permissions::from_mode(0o604)).unwrap();
    // Nobody but root can give it away.
    let _ = chown(&place, Some(1234), Some(4321));
    let facts = |path: &Path| fs::metadata(path).map(|found| (found.mode(), found.uid(), found.gid())).unwrap();
    let before = facts(&place);
    WholeFile::create(&place).unwrap().finish().unwrap();
    assert_eq!((facts(&place), fs::read(&place).unwrap()), (before, Vec::new()));
}

#[test]
fn a_device_stays_one() {
    let mut whole = WholeFile::create(Path::new("/dev/null")).unwrap();
    whole.write_all(b"bytes").and_then(|()| whole.sync()).and_then(|()| whole.finish()).unwrap();
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
}
