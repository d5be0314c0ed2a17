//! Changes that pass to a directory in a map, and changes that it makes by itself.

use super::outside::Changes;
use super::outside_tests::{FILE, NOW, Other, find, names, open_file, read, tree, world};
use super::{format, open};
use nacre_proto::Errno;
use std::vec::Vec;

#[test]
fn what_goes_on_the_other_side_goes_whole() {
    let other = world();
    let mut tree = tree(&other, Changes::Passed);
    let before = tree.nodes.iter_mut().count();
    for path in [&b"/usr/bin/tool"[..], b"/usr/bin"] {
        find(&mut tree, path).unwrap();
    }
    other.0.borrow_mut().names.remove(&(0, b"usr".to_vec()));
    assert!(!names(&mut tree, b"/").contains(&b"usr".to_vec()));
    // All others of the root are listed now; nothing is left of the directory.
    assert_eq!(tree.nodes.iter_mut().count(), before + 3);
}

#[test]
fn changes_that_are_passed_arrive() {
    let other = world();
    let mut tree = tree(&other, Changes::Passed);
    let key = open_file(&mut tree, b"/new", open::CREATE | open::READ_WRITE).unwrap();
    tree.write(key, 3, b"bytes", NOW).unwrap();
    assert_eq!(read(&mut tree, b"/new", 0, 20), b"\0\0\0bytes");
    tree.set_size(key, 4, NOW).unwrap();
    let root = tree.root();
    find(&mut tree, b"/usr/bin").unwrap();
    tree.rename((root, b"/new"), (root, b"/usr/bin/newer"), 0, NOW).unwrap();
    tree.make_directory(root, b"/directory", 0o755, NOW).unwrap();
    tree.make_link(root, b"target", b"/directory/link", NOW).unwrap();
    tree.remove(root, b"/directory/link", false, NOW).unwrap();
    tree.make_node(root, b"/directory/pipe", format::FIFO | 0o644, 0, NOW).unwrap();
    let world = other.0.borrow();
    let id = world.names[&(2, b"newer".to_vec())];
    assert_eq!(world.files[&id].1, b"\0\0\0b");
    let directory = world.names[&(0, b"directory".to_vec())];
    assert!(!world.names.contains_key(&(0, b"new".to_vec())));
    let left: Vec<_> = world.names.iter().filter(|((parent, _), _)| *parent == directory).map(|((_, name), id)| (&name[..], world.files[id].0)).collect();
    assert_eq!(left, [(&b"pipe"[..], format::FIFO | 0o644)]);
}

#[test]
fn files_are_opened_on_the_other_side_while_they_are_written() {
    let other = world();
    let mut tree = tree(&other, Changes::Passed);
    other.0.borrow_mut().add(0, b"locked", format::REGULAR | 0o444, b"");
    let key = open_file(&mut tree, b"/locked", open::READ_WRITE).unwrap();
    assert_eq!(tree.start_writing(key), Err(Errno::EACCES), "what cannot be written is not opened to be written");
    let key = open_file(&mut tree, b"/one", open::READ_WRITE).unwrap();
    assert_eq!((tree.start_writing(key), tree.start_writing(key)), (Ok(true), Ok(true)));
    tree.stop_writing(key);
    assert!(other.0.borrow().written.contains(&6));
    tree.stop_writing(key);
    assert!(other.0.borrow().written.is_empty());
    tree.prepare(tree.root(), b"/new", true).unwrap();
    let key = tree.open(tree.root(), b"/new", open::CREATE | open::EXCLUSIVE | open::READ_WRITE, 0o444, NOW).unwrap();
    assert_eq!((tree.start_writing(key), tree.write(key, 0, b"bytes", NOW)), (Ok(true), Ok(5)));
}

#[test]
fn a_file_that_was_replaced_is_no_more_asked_about() {
    let other = world();
    let mut tree = tree(&other, Changes::Passed);
    let key = open_file(&mut tree, b"/one", open::READ_WRITE).unwrap();
    tree.start_writing(key).unwrap();
    let new = {
        let mut world = other.0.borrow_mut();
        world.names.retain(|_, id| *id != 6);
        let new = world.add(0, b"one", FILE, b"longer than the old one");
        world.elsewhere.insert(6, Some(new));
        new
    };
    tree.set_mode(key, 0o600, NOW).unwrap();
    tree.look_again(key).unwrap();
    assert_eq!(tree.facts(key).unwrap().size, 8, "who appends begins at the end of the old file");
    assert_eq!(tree.write(key, 8, b"!", NOW), Ok(1));
    {
        let world = other.0.borrow();
        assert_eq!((world.files[&new].0, &world.files[&6].1[..]), (FILE, &b"the same!"[..]));
        assert!(world.lost.contains(&6), "its path leads to another file");
    }
    // It is cut off here alone, and what is behind does not come back.
    tree.set_size(key, 3, NOW).unwrap();
    tree.write(key, 5, b"x", NOW).unwrap();
    let mut bytes = [1; 9];
    tree.fill(key, 0, 9, false).unwrap();
    let (content, store) = tree.content(key).unwrap();
    assert_eq!((content.read(store, 0, &mut bytes), &bytes[..6]), (6, &b"the\0\0x"[..]));
    assert_eq!(other.0.borrow().files[&new].1, b"longer than the old one");
    assert_eq!(read(&mut tree, b"/one", 0, 6), b"longer");
}

#[test]
fn a_file_that_was_removed_can_be_changed() {
    let other = world();
    let mut tree = tree(&other, Changes::Passed);
    let key = open_file(&mut tree, b"/large", open::READ_WRITE).unwrap();
    tree.remove(tree.root(), b"/large", false, NOW).unwrap();
    other.0.borrow_mut().elsewhere.insert(5, None);
    tree.look_again(key).unwrap();
    assert_eq!((tree.set_mode(key, 0o600, NOW), tree.set_size(key, 10, NOW)), (Ok(()), Ok(())));
    assert_eq!((tree.facts(key).unwrap().mode & 0o777, tree.facts(key).unwrap().size), (0o600, 10));
}

#[test]
fn a_file_is_found_again_by_another_name() {
    let other = world();
    let mut tree = tree(&other, Changes::Passed);
    let key = open_file(&mut tree, b"/one", open::READ_WRITE).unwrap();
    assert_eq!(find(&mut tree, b"/two"), Ok(key));
    // The number was that of the first name, which goes.
    tree.remove(tree.root(), b"/one", false, NOW).unwrap();
    let new = {
        let mut world = other.0.borrow_mut();
        let file = world.files[&6].clone();
        world.files.insert(60, file);
        world.names.insert((0, b"two".to_vec()), 60);
        world.inodes.insert(60, 6);
        world.elsewhere.insert(6, None);
        60
    };
    tree.set_mode(key, 0o600, NOW).unwrap();
    assert_eq!((other.0.borrow().files[&new].0 & 0o777, find(&mut tree, b"/two")), (0o600, Ok(key)));
}

#[test]
fn what_changes_by_itself_is_seen() {
    let other = world();
    let mut tree = tree(&other, Changes::Passed);
    assert_eq!(read(&mut tree, b"/one", 0, 20), b"the same");
    assert_eq!(find(&mut tree, b"/later"), Err(Errno::ENOENT));
    {
        let mut world = other.0.borrow_mut();
        world.add(0, b"later", FILE, b"");
        world.files.get_mut(&6).unwrap().1 = b"other".to_vec();
        world.names.remove(&(0, b"large".to_vec()));
        world.now += 1;
    }
    assert_eq!(read(&mut tree, b"/one", 0, 20), b"other");
    assert!(find(&mut tree, b"/later").is_ok());
    assert!(!names(&mut tree, b"/").contains(&b"large".to_vec()));
}

#[test]
fn shared_pages_are_written_back() {
    let other = world();
    let mut tree = tree(&other, Changes::Passed);
    let key = open_file(&mut tree, b"/one", open::READ_WRITE).unwrap();
    let (_, start, _) = tree.page(key, 0, true).unwrap();
    crate::store::Store::write(tree.store_mut(), start, b"THE");
    tree.write_back(key, true).unwrap();
    assert_eq!(other.0.borrow().files[&6].1, b"THE same");
    assert_eq!(read(&mut tree, b"/one", 0, 20), b"THE same");
}

#[test]
fn a_side_with_one_client_is_not_asked_what_is_known() {
    let other = world();
    other.0.borrow_mut().has_one_client = true;
    let mut tree = tree(&other, Changes::Passed);
    let asked = || {
        let world = other.0.borrow();
        (world.finds, world.statuses.get(), world.reads)
    };
    assert_eq!(read(&mut tree, b"/one", 0, 20), b"the same");
    let (finds, statuses, reads) = asked();
    assert_eq!(read(&mut tree, b"/one", 0, 20), b"the same");
    assert_eq!(asked(), (finds, statuses, reads));
    // After a change it is asked once, and what is here of the content stays.
    let key = open_file(&mut tree, b"/one", open::READ_WRITE).unwrap();
    tree.write(key, 0, b"THE", NOW).unwrap();
    tree.look_again(key).unwrap();
    assert_eq!(read(&mut tree, b"/one", 0, 20), b"THE same");
    assert_eq!(asked(), (finds, statuses + 1, reads));
    // A new directory has only what was made there.
    tree.make_directory(tree.root(), b"/new", 0o755, NOW).unwrap();
    let (finds, statuses, _) = asked();
    assert_eq!(find(&mut tree, b"/new/file"), Err(Errno::ENOENT));
    let key = open_file(&mut tree, b"/new/file", open::CREATE | open::READ_WRITE).unwrap();
    assert_eq!(find(&mut tree, b"/new/file"), Ok(key));
    let folder = find(&mut tree, b"/new").unwrap();
    tree.prepare_listing(folder).unwrap();
    assert_eq!(asked(), (finds, statuses + 1, reads), "the directory has changed, and is looked at");
    // A second name changes the file, too.
    tree.link((tree.root(), b"/new/file"), (tree.root(), b"/new/other"), false, NOW).unwrap();
    assert_eq!(find(&mut tree, b"/new/file"), Ok(key));
    assert_eq!(tree.get(key).unwrap().outside_links, 2);
    tree.remove(tree.root(), b"/new/file", false, NOW).unwrap();
    assert_eq!(find(&mut tree, b"/new/other"), Ok(key));
    assert_eq!(tree.get(key).unwrap().outside_links, 1);
}

#[test]
fn a_name_that_may_have_been_made_is_looked_for() {
    let other = world();
    other.0.borrow_mut().has_one_client = true;
    let mut tree = tree(&other, Changes::Passed);
    let folder = tree.make_directory(tree.root(), b"/new", 0o755, NOW).unwrap();
    assert!(tree.directory(folder).unwrap().is_listed);
    // A new server may have names again that were removed.
    tree.join_again(tree.root(), Box::new(other.clone()), true).unwrap();
    assert!(!tree.directory(folder).unwrap().is_listed);
}

/// The other side's `/two`, which was another name of `/one`, has a number of its own from now on,
/// and that of `/one` leads nowhere.
fn leave_second_name(other: &Other) {
    let mut world = other.0.borrow_mut();
    let file = world.files[&6].clone();
    world.files.insert(60, file);
    world.names.insert((0, b"two".to_vec()), 60);
    world.inodes.insert(60, 6);
    world.elsewhere.insert(6, None);
}

#[test]
fn a_side_with_one_client_is_asked_which_file_a_number_leads_to_when_its_name_has_gone() {
    let other = world();
    other.0.borrow_mut().has_one_client = true;
    let mut tree = tree(&other, Changes::Passed);
    let key = open_file(&mut tree, b"/one", open::READ_WRITE).unwrap();
    assert_eq!(find(&mut tree, b"/two"), Ok(key));
    tree.remove(tree.root(), b"/one", false, NOW).unwrap();
    leave_second_name(&other);
    tree.set_mode(key, 0o600, NOW).unwrap();
    assert_eq!((other.0.borrow().files[&60].0 & 0o777, find(&mut tree, b"/two")), (0o600, Ok(key)));
}

#[test]
fn an_open_file_whose_known_name_has_gone_is_the_one_of_its_other_name() {
    let other = world();
    other.0.borrow_mut().has_one_client = true;
    let mut tree = tree(&other, Changes::Passed);
    let key = open_file(&mut tree, b"/one", open::READ_WRITE).unwrap();
    tree.remove(tree.root(), b"/one", false, NOW).unwrap();
    leave_second_name(&other);
    assert_eq!(find(&mut tree, b"/two"), Ok(key));
}
