//! Tests of what targets of symbolic links cost.

use super::outside::Changes;
use super::outside_tests::{Other, World, find, tree};
use super::{Start, Time, Tree, format};
use crate::store::fake::Fake;
use nacre_proto::Errno;
use std::cell::RefCell;
use std::format;
use std::rc::Rc;
use std::vec;
use std::vec::Vec;

#[test]
fn the_target_of_a_link_is_paid_for_until_it_goes() {
    let mut tree = Tree::new(Fake::new(1 << 20), Time::default());
    let root = tree.root();
    tree.store_mut().payers.0.now.set([(7, u64::MAX)].into_iter());
    let before = tree.store().payers.0.names();
    tree.make_link(root, &[b'x'; 4000], b"/link", Time::default()).unwrap();
    assert!(tree.store().payers.0.names() - before >= 4000);
    assert_eq!(tree.make_link(root, &[b'x'; 4000], b"/link", Time::default()), Err(Errno::EEXIST));
    tree.remove(root, b"/link", false, Time::default()).unwrap();
    assert_eq!(tree.store().payers.0.names(), before);
    tree.store_mut().payers.0.now.set([(7, 20_000)].into_iter());
    let made = (0..10).filter(|number| tree.make_link(root, &[b'x'; 4000], format!("/{number}").as_bytes(), Time::default()).is_ok()).count();
    assert_eq!(made, 2, "a limit of storage holds for targets");
}

#[test]
fn long_targets_of_the_other_side_are_few() {
    let mut world = World::default();
    world.files.insert(0, (format::DIRECTORY | 0o755, Vec::new()));
    let folder = world.add(0, b"folder", format::DIRECTORY | 0o755, b"");
    (0..1200).for_each(|number| {
        world.add(folder, format!("{number}").as_bytes(), format::LINK | 0o777, &vec![b'x'; 4000]);
    });
    let short = world.add(folder, b"short", format::LINK | 0o777, b"x");
    let mut tree = tree(&Other(Rc::new(RefCell::new(world))), Changes::Passed);
    let directory = find(&mut tree, b"/folder").unwrap();
    tree.prepare_listing(directory).unwrap();
    let count = tree.directory(directory).unwrap().entries().len();
    assert!((1000..1200).contains(&count), "{count}");
    let status = |tree: &mut Tree<Fake>, path: &[u8]| tree.prepare(Start { at: tree.root(), root: None }, path, false);
    assert_eq!(status(&mut tree, b"/folder/short"), Ok(()));
    assert!(short > 0);
    let lost = (0..1200).find(|number| !tree.directory(directory).unwrap().entries().contains_key(format!("{number}").as_bytes())).unwrap();
    assert_eq!(status(&mut tree, format!("/folder/{lost}").as_bytes()), Err(Errno::ENAMETOOLONG));
}
