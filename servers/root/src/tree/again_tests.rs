//! A side whose server ends, and has a successor.

use super::node::Id;
use super::outside::Changes;
use super::outside_tests::{Other, World, find, names, open_file, read, tree, world};
use super::{Tree, open};
use crate::store::fake::Fake;
use crate::table::Key;
use nacre_proto::Errno;
use std::boxed::Box;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Difference between numbers of a successor and those before.
const STEP: Id = 1000;

/// A server of the same files by other numbers; but the outermost directory keeps its own.
fn successor(other: &Other) -> Other {
    let old = other.0.borrow();
    let number = |id: Id| if id == 0 { 0 } else { id + STEP };
    let names = old.names.iter().map(|((directory, name), id)| ((number(*directory), name.clone()), number(*id))).collect();
    let files: BTreeMap<_, _> = old.files.iter().map(|(id, file)| (number(*id), file.clone())).collect();
    let inodes = files.keys().filter(|id| **id != 0).map(|id| (*id, *id - STEP)).collect();
    Other(Rc::new(RefCell::new(World { files, names, inodes, ..World::default() })))
}

fn mount(tree: &Tree<Fake>) -> Key {
    tree.root()
}

#[test]
fn files_are_found_again_by_their_names() {
    let first = world();
    let mut tree = tree(&first, Changes::Passed);
    let open = open_file(&mut tree, b"/usr/bin/tool", open::READ_WRITE).unwrap();
    let directory = find(&mut tree, b"/usr").unwrap();
    let second = successor(&first);
    let at = mount(&tree);
    tree.join_again(at, Box::new(second.clone()), true).unwrap();
    assert_eq!(find(&mut tree, b"/usr"), Ok(directory), "a directory that somebody is in stays");
    assert_eq!(find(&mut tree, b"/usr/bin/tool"), Ok(open), "so does an open file");
    assert!(first.0.borrow().forgotten.is_empty(), "nobody asks the old server");
    let reads = second.0.borrow().reads;
    assert!(!read(&mut tree, b"/usr/bin/tool", 0, 4).is_empty() && second.0.borrow().reads > reads, "it is read anew");
    assert!(tree.write(open, 0, b"new", super::outside_tests::NOW).is_ok());
    assert!(second.0.borrow().files.values().any(|(_, bytes)| bytes.starts_with(b"new")));
}

#[test]
fn names_that_are_gone_go_and_others_come() {
    let first = world();
    let mut tree = tree(&first, Changes::Passed);
    open_file(&mut tree, b"/usr/bin/tool", open::READ_WRITE).unwrap();
    let second = successor(&first);
    second.0.borrow_mut().names.remove(&(2 + STEP, b"tool".to_vec()));
    second.0.borrow_mut().add(0, b"other", super::format::REGULAR | 0o644, b"");
    let at = mount(&tree);
    tree.join_again(at, Box::new(second), true).unwrap();
    assert!(find(&mut tree, b"/usr/bin/tool").is_err());
    assert!(names(&mut tree, b"/").contains(&b"other".to_vec()));
}

#[test]
fn who_wrote_is_told_once_that_it_may_be_lost() {
    let first = world();
    let mut tree = tree(&first, Changes::Passed);
    let written = open_file(&mut tree, b"/usr/bin/tool", open::READ_WRITE).unwrap();
    tree.write(written, 0, b"new", super::outside_tests::NOW).unwrap();
    let second = successor(&first);
    let at = mount(&tree);
    tree.join_again(at, Box::new(second.clone()), true).unwrap();
    assert_eq!(tree.sync(written), Err(Errno::EIO));
    assert_eq!(tree.sync(written), Ok(()));
    tree.write(written, 0, b"more", super::outside_tests::NOW).unwrap();
    tree.sync(written).unwrap();
    tree.join_again(at, Box::new(successor(&first)), true).unwrap();
    assert_eq!(tree.sync(written), Ok(()), "what was synced lasts");
}

#[test]
fn another_volume_is_refused() {
    let first = world();
    let mut tree = tree(&first, Changes::Passed);
    let second = successor(&first);
    second.0.borrow_mut().inodes.insert(0, 77);
    let at = mount(&tree);
    assert_eq!(tree.join_again(at, Box::new(second), true), Err(Errno::ESTALE));
}

#[test]
fn a_file_that_cannot_be_looked_at_keeps_no_other_from_going_on() {
    let first = world();
    let mut tree = tree(&first, Changes::Passed);
    let large = open_file(&mut tree, b"/large", open::READ_WRITE).unwrap();
    let tool = open_file(&mut tree, b"/usr/bin/tool", open::READ_WRITE).unwrap();
    let second = successor(&first);
    second.0.borrow_mut().refused.insert(b"large".to_vec(), Errno::EIO);
    let at = mount(&tree);
    tree.join_again(at, Box::new(second.clone()), true).unwrap();
    assert_eq!(find(&mut tree, b"/usr/bin/tool"), Ok(tool));
    let stale = tree.node(large).unwrap().origin.unwrap().id;
    assert!(stale < STEP, "it has its old number, which leads to nothing");
}

#[test]
fn a_link_is_read_anew() {
    let first = world();
    let mut tree = tree(&first, Changes::Passed);
    assert!(find(&mut tree, b"/bin/tool").is_ok());
    let second = successor(&first);
    second.0.borrow_mut().files.values_mut().filter(|(_, bytes)| bytes == b"usr/bin").for_each(|(_, bytes)| *bytes = b"usr".to_vec());
    let at = mount(&tree);
    tree.join_again(at, Box::new(second), true).unwrap();
    assert!(find(&mut tree, b"/bin/tool").is_err() && find(&mut tree, b"/bin/bin/tool").is_ok());
}

#[test]
fn a_side_that_has_what_was_written_loses_nothing() {
    let first = world();
    let mut tree = tree(&first, Changes::Passed);
    let written = open_file(&mut tree, b"/usr/bin/tool", open::READ_WRITE).unwrap();
    tree.write(written, 0, b"new", super::outside_tests::NOW).unwrap();
    let at = mount(&tree);
    tree.join_again(at, Box::new(successor(&first)), false).unwrap();
    assert_eq!(tree.sync(written), Ok(()));
}

#[test]
fn changes_that_are_kept_here_outlive_the_server() {
    let (first, now) = (world(), super::outside_tests::NOW);
    let mut tree = tree(&first, Changes::Kept);
    let root = tree.root();
    let large = open_file(&mut tree, b"/large", open::READ_WRITE).unwrap();
    tree.write(large, 0, b"new", now).unwrap();
    tree.rename((root, b"/large"), (root, b"/tmp/moved"), 0, now).unwrap();
    let tool = open_file(&mut tree, b"/usr/bin/tool", open::READ_WRITE).unwrap();
    tree.rename((root, b"/usr"), (root, b"/tmp/usr"), 0, now).unwrap();
    assert!(find(&mut tree, b"/one").is_ok());
    tree.remove(root, b"/one", false, now).unwrap();
    let second = successor(&first);
    let at = mount(&tree);
    tree.join_again(at, Box::new(second.clone()), false).unwrap();
    assert_eq!((find(&mut tree, b"/tmp/moved"), find(&mut tree, b"/tmp/usr/bin/tool")), (Ok(large), Ok(tool)));
    assert!(find(&mut tree, b"/large").is_err() && find(&mut tree, b"/one").is_err() && find(&mut tree, b"/two").is_ok());
    assert_eq!(read(&mut tree, b"/tmp/moved", 0, 5), b"new\x07\x07");
    assert_eq!(read(&mut tree, b"/tmp/moved", 2 << 20, 2), b"\x07\x07");
    assert_eq!(read(&mut tree, b"/tmp/usr/bin/tool", 1, 2), [1, 2]);
    assert!(second.0.borrow().reads > 0);
    // What nobody here needs was given back: each number that is left is a file's of the tree.
    let kept = [large, tool].map(|key| tree.node(key).unwrap().origin.unwrap().id);
    assert!(kept.iter().all(|id| *id > STEP && !second.0.borrow().forgotten.contains(id)));
}

#[test]
fn a_successor_that_ends_on_the_way_leaves_all_as_it_was() {
    let first = world();
    let mut tree = tree(&first, Changes::Kept);
    let tool = open_file(&mut tree, b"/usr/bin/tool", open::READ_WRITE).unwrap();
    let (at, second) = (mount(&tree), successor(&first));
    second.0.borrow_mut().refused.insert(b"tool".to_vec(), Errno::EIO);
    assert_eq!(tree.join_again(at, Box::new(second), false), Err(Errno::EIO));
    assert!(tree.node(tool).unwrap().origin.unwrap().id < STEP);
    tree.join_again(at, Box::new(successor(&first)), false).unwrap();
    assert!(tree.node(tool).unwrap().origin.unwrap().id > STEP);
}
