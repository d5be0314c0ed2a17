//! A tree around a directory that lies in a map.

use super::node::Id;
use super::outside::{Change, Changes, Found, New, Origin};
use super::{Time, Tree, format, open};
use crate::store::fake::Fake;
use crate::table::Key;
use nacre_9p::Capacity;
use nacre_proto::Errno;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::vec::Vec;

/// Files by number: where they lie and what they are. Directories have no bytes.
#[derive(Default)]
pub(super) struct World {
    pub(super) files: BTreeMap<Id, (u32, Vec<u8>)>,
    pub(super) names: BTreeMap<(Id, Vec<u8>), Id>,
    /// Numbers whose path leads to another file now, or to none.
    pub(super) elsewhere: BTreeMap<Id, Option<Id>>,
    /// Files that are opened only by what is open of them, and those that are open to be written.
    pub(super) lost: BTreeSet<Id>,
    /// Inodes of those whose number is another.
    pub(super) inodes: BTreeMap<Id, Id>,
    pub(super) written: BTreeSet<Id>,
    /// Files that this side made, and has open since.
    pub(super) made: BTreeSet<Id>,
    /// Names that are not to be looked at, and why.
    pub(super) refused: BTreeMap<Vec<u8>, Errno>,
    pub(super) says_twice: bool,
    pub(super) forgotten: Vec<Id>,
    pub(super) reads: usize,
    pub(super) finds: usize,
    pub(super) statuses: Cell<usize>,
    pub(super) has_one_client: bool,
    pub(super) now: i64,
    pub(super) attributes: BTreeMap<(Id, Vec<u8>), Vec<u8>>,
}

impl World {
    pub(super) fn add(&mut self, directory: Id, name: &[u8], mode: u32, bytes: &[u8]) -> Id {
        let id = self.files.keys().last().map_or(1, |last| last + 1);
        self.files.insert(id, (mode, bytes.to_vec()));
        self.names.insert((directory, name.to_vec()), id);
        id
    }

    /// Returns the file that a number's path leads to.
    fn leads(&self, id: Id) -> Result<Id, Errno> {
        self.elsewhere.get(&id).copied().unwrap_or(Some(id)).ok_or(Errno::ENOENT)
    }

    fn found(&self, id: Id) -> Result<Found, Errno> {
        let (mode, bytes) = self.files.get(&id).ok_or(Errno::ENOENT)?;
        let links = self.names.values().filter(|other| **other == id).count().max(1) as u32;
        let time = Time { seconds: self.now, nanoseconds: 0 };
        Ok(Found { id, inode: self.inodes.get(&id).copied().unwrap_or(id).into(), mode: *mode, owner: (0, 0), links, device: 0, size: bytes.len() as u64, blocks: bytes.len() as u64 / 512, times: [time; 3] })
    }
}

#[derive(Clone)]
pub(super) struct Other(pub(super) Rc<RefCell<World>>);

impl Origin for Other {
    fn root(&mut self) -> Result<Found, Errno> {
        self.0.borrow().found(0)
    }

    fn kind(&self) -> &'static [u8] {
        b"9p"
    }

    fn names_to(&self, id: Id) -> Option<Vec<Rc<[u8]>>> {
        let (world, mut id, mut names) = (self.0.borrow(), id, Vec::new());
        while id != 0 {
            let ((directory, name), _) = world.names.iter().find(|(_, other)| **other == id)?;
            names.insert(0, Rc::from(&name[..]));
            id = *directory;
        }
        Some(names)
    }

    fn has_one_client(&self) -> bool {
        self.0.borrow().has_one_client
    }

    fn capacity(&mut self) -> Result<Capacity, Errno> {
        Ok(Capacity { block_size: 512, blocks: 9, free: 7, files: 5, files_free: 3 })
    }

    fn find(&mut self, directory: Id, name: &[u8]) -> Result<Option<Found>, Errno> {
        let mut world = self.0.borrow_mut();
        world.finds += 1;
        if let Some(errno) = world.refused.get(name) {
            return Err(*errno);
        }
        world.names.get(&(directory, name.to_vec())).map(|id| world.found(*id)).transpose()
    }

    fn names(&mut self, directory: Id) -> Result<Vec<Vec<u8>>, Errno> {
        let times = 1 + usize::from(self.0.borrow().says_twice);
        let world = self.0.borrow();
        Ok(world.names.keys().filter(|(parent, _)| *parent == directory).flat_map(|(_, name)| vec![name.clone(); times]).collect())
    }

    fn target(&mut self, link: Id) -> Result<Vec<u8>, Errno> {
        Ok(self.0.borrow().files[&link].1.clone())
    }

    fn read(&mut self, file: Id, offset: u64, into: &mut [u8]) -> Result<usize, Errno> {
        let mut world = self.0.borrow_mut();
        world.reads += 1;
        let bytes = &world.files[&file].1;
        let start = bytes.len().min(offset as usize);
        // In small parts, as a server may.
        let count = into.len().min(bytes.len() - start).min(5000);
        into[..count].copy_from_slice(&bytes[start..start + count]);
        Ok(count)
    }

    fn forget(&mut self, id: Id) {
        self.0.borrow_mut().forgotten.push(id);
    }

    fn status(&mut self, id: Id) -> Result<Found, Errno> {
        let world = self.0.borrow();
        world.statuses.update(|count| count + 1);
        world.found(world.leads(id)?)
    }

    fn make(&mut self, directory: Id, name: &[u8], new: &New<'_>) -> Result<Found, Errno> {
        let mut world = self.0.borrow_mut();
        let id = world.add(directory, name, new.mode, new.target);
        world.made.insert(id);
        world.found(id)
    }

    fn link(&mut self, file: Id, directory: Id, name: &[u8]) -> Result<(), Errno> {
        self.0.borrow_mut().names.insert((directory, name.to_vec()), file);
        Ok(())
    }

    fn rename(&mut self, from: (Id, &[u8]), to: (Id, &[u8])) -> Result<(), Errno> {
        let mut world = self.0.borrow_mut();
        let id = world.names.remove(&(from.0, from.1.to_vec())).ok_or(Errno::ENOENT)?;
        world.names.insert((to.0, to.1.to_vec()), id);
        Ok(())
    }

    fn hold(&mut self, file: Id) {
        self.lose(file);
    }

    fn lose(&mut self, file: Id) {
        self.0.borrow_mut().lost.insert(file);
    }

    fn renumber(&mut self, _: Id, _: Id) {}

    fn start_writing(&mut self, file: Id) -> Result<(), Errno> {
        let mut world = self.0.borrow_mut();
        if world.files.get(&file).ok_or(Errno::ENOENT)?.0 & 0o200 == 0 && !world.made.contains(&file) {
            return Err(Errno::EACCES);
        }
        world.written.insert(file);
        Ok(())
    }

    fn stop_writing(&mut self, file: Id) {
        self.0.borrow_mut().written.remove(&file);
    }

    fn remove(&mut self, directory: Id, name: &[u8], _: bool) -> Result<(), Errno> {
        self.0.borrow_mut().names.remove(&(directory, name.to_vec())).map(drop).ok_or(Errno::ENOENT)
    }

    fn change(&mut self, id: Id, change: Change) -> Result<(), Errno> {
        let mut world = self.0.borrow_mut();
        let id = world.leads(id)?;
        let file = world.files.get_mut(&id).ok_or(Errno::ENOENT)?;
        match change {
            Change::Mode(mode) => file.0 = file.0 & format::MASK | mode,
            Change::Size(size) => file.1.resize(size as usize, 0),
            _ => {}
        }
        Ok(())
    }

    fn write(&mut self, file: Id, offset: u64, bytes: &[u8]) -> Result<usize, Errno> {
        let mut world = self.0.borrow_mut();
        let file = &mut world.files.get_mut(&file).ok_or(Errno::EIO)?.1;
        let end = offset as usize + bytes.len();
        file.resize(file.len().max(end), 0);
        file[offset as usize..end].copy_from_slice(bytes);
        Ok(bytes.len())
    }

    fn sync(&mut self, _: Id) -> Result<(), Errno> {
        Ok(())
    }

    fn attribute(&mut self, id: Id, name: &[u8]) -> Result<Vec<u8>, Errno> {
        self.0.borrow().attributes.get(&(id, name.to_vec())).cloned().ok_or(Errno::ENODATA)
    }

    fn attributes(&mut self, id: Id) -> Result<Vec<u8>, Errno> {
        let world = self.0.borrow();
        Ok(world.attributes.keys().filter(|(file, _)| *file == id).flat_map(|(_, name)| [&name[..], &[0]].concat()).collect())
    }

    fn set_attribute(&mut self, id: Id, name: &[u8], value: Option<&[u8]>, _: u64) -> Result<(), Errno> {
        let (attributes, key) = (&mut self.0.borrow_mut().attributes, (id, name.to_vec()));
        match value {
            Some(value) => attributes.insert(key, value.to_vec()),
            None => attributes.remove(&key),
        };
        Ok(())
    }
}

pub(super) const NOW: Time = Time { seconds: 5, nanoseconds: 0 };
pub(super) const FILE: u32 = format::REGULAR | 0o644;

pub(super) fn world() -> Other {
    let mut world = World::default();
    world.files.insert(0, (format::DIRECTORY | 0o755, Vec::new()));
    let usr = world.add(0, b"usr", format::DIRECTORY | 0o755, b"");
    let bin = world.add(usr, b"bin", format::DIRECTORY | 0o755, b"");
    world.add(0, b"bin", format::LINK | 0o777, b"usr/bin");
    world.add(bin, b"tool", FILE, &(0..=255).cycle().take(20_000).collect::<Vec<u8>>());
    world.add(0, b"large", FILE, &vec![7; 3 << 20]);
    let two = world.add(0, b"one", FILE, b"the same");
    world.names.insert((0, b"two".to_vec()), two);
    Other(Rc::new(RefCell::new(world)))
}

pub(super) fn tree(other: &Other, changes: Changes) -> Tree<Fake> {
    tree_of(other, changes, 16 << 20)
}

pub(super) fn tree_of(other: &Other, changes: Changes, memory: u64) -> Tree<Fake> {
    let mut tree = Tree::new(Fake::new(memory), NOW);
    tree.make_directory(tree.root(), b"/tmp", 0o1777, NOW).unwrap();
    tree.join(tree.root(), Box::new(other.clone()), changes).unwrap();
    tree
}

pub(super) fn find(tree: &mut Tree<Fake>, path: &[u8]) -> Result<Key, Errno> {
    tree.prepare(tree.root(), path, true)?;
    tree.resolve(tree.root(), path, true)?.existing()
}

pub(super) fn read(tree: &mut Tree<Fake>, path: &[u8], offset: u64, size: usize) -> Vec<u8> {
    let key = find(tree, path).unwrap();
    tree.fill(key, offset, size as u64, false).unwrap();
    let mut bytes = vec![0; size];
    let (content, store) = tree.content(key).unwrap();
    let count = content.read(store, offset, &mut bytes);
    bytes.truncate(count);
    bytes
}

pub(super) fn open_file(tree: &mut Tree<Fake>, path: &[u8], flags: u64) -> Result<Key, Errno> {
    tree.prepare(tree.root(), path, true)?;
    tree.open(tree.root(), path, flags, 0o644, NOW)
}

pub(super) fn names(tree: &mut Tree<Fake>, path: &[u8]) -> Vec<Vec<u8>> {
    let key = find(tree, path).unwrap();
    tree.prepare_listing(key).unwrap();
    tree.directory(key).unwrap().entries().keys().map(|name| name.to_vec()).collect()
}

#[test]
fn a_path_fetches_what_it_leads_through() {
    let other = world();
    let mut tree = tree(&other, Changes::Kept);
    let key = find(&mut tree, b"/bin/tool").unwrap();
    assert_eq!(tree.facts(key).unwrap().size, 20_000);
    assert_eq!(find(&mut tree, b"/usr/bin/tool"), Ok(key));
    assert_eq!(find(&mut tree, b"/bin/none/x"), Err(Errno::ENOENT));
    let finds = other.0.borrow().finds;
    assert_eq!(find(&mut tree, b"/bin/none/x"), Err(Errno::ENOENT));
    assert_eq!(other.0.borrow().finds, finds, "what is known is not asked for again");
    assert_eq!(other.0.borrow().reads, 0);
}

#[test]
fn bytes_come_when_they_are_read() {
    let other = world();
    let mut tree = tree(&other, Changes::Kept);
    assert_eq!(read(&mut tree, b"/usr/bin/tool", 19_998, 10), [30, 31]);
    assert_eq!(read(&mut tree, b"/large", (1 << 20) + 5, 3), [7; 3]);
    let reads = other.0.borrow().reads;
    assert_eq!(read(&mut tree, b"/large", (1 << 20) + 9, 3), [7; 3]);
    assert_eq!(other.0.borrow().reads, reads);
}

#[test]
fn two_names_of_a_file_are_one_node() {
    let other = world();
    let mut tree = tree(&other, Changes::Kept);
    let key = find(&mut tree, b"/one").unwrap();
    assert_eq!(find(&mut tree, b"/two"), Ok(key));
    assert_eq!(tree.facts(key).unwrap().links, 2);
}

#[test]
fn changes_that_are_kept_do_not_leave() {
    let other = world();
    let mut tree = tree(&other, Changes::Kept);
    let key = open_file(&mut tree, b"/one", open::READ_WRITE).unwrap();
    tree.write(key, 4, b"SAME", NOW).unwrap();
    assert_eq!(read(&mut tree, b"/one", 0, 20), b"the SAME");
    open_file(&mut tree, b"/new", open::CREATE | open::READ_WRITE).unwrap();
    find(&mut tree, b"/usr/bin/tool").unwrap();
    tree.remove(tree.root(), b"/usr/bin/tool", false, NOW).unwrap();
    assert_eq!(find(&mut tree, b"/usr/bin/tool"), Err(Errno::ENOENT));
    assert_eq!(names(&mut tree, b"/usr/bin"), [] as [&[u8]; 0]);
    assert_eq!(names(&mut tree, b"/"), [&b"bin"[..], b"large", b"new", b"one", b"tmp", b"two", b"usr"]);
    let (_, bytes) = &other.0.borrow().files[&6];
    assert_eq!((&bytes[..], other.0.borrow().names.len()), (&b"the same"[..], 7));
}

#[test]
fn a_file_that_is_cut_off_gets_nothing_back() {
    let other = world();
    let mut tree = tree(&other, Changes::Kept);
    let key = open_file(&mut tree, b"/large", open::READ_WRITE).unwrap();
    tree.set_size(key, 10, NOW).unwrap();
    tree.set_size(key, 9000, NOW).unwrap();
    let bytes = read(&mut tree, b"/large", 0, 9000);
    assert_eq!((&bytes[..10], bytes[10..].iter().all(|byte| *byte == 0)), (&[7; 10][..], true));
}

#[test]
fn a_hole_reads_as_zeros() {
    let other = world();
    let mut tree = tree(&other, Changes::Kept);
    let key = open_file(&mut tree, b"/large", open::READ_WRITE).unwrap();
    let mut at = Some(100);
    while let Some(start) = at {
        at = tree.punch(key, start, (1 << 20) + 8, NOW).unwrap();
    }
    let bytes = read(&mut tree, b"/large", 0, (1 << 20) + 20);
    assert!(bytes[..100].iter().chain(&bytes[(1 << 20) + 8..]).all(|byte| *byte == 7));
    assert!(bytes[100..(1 << 20) + 8].iter().all(|byte| *byte == 0));
}

#[test]
fn changes_that_are_refused_change_nothing() {
    let other = world();
    let mut tree = tree(&other, Changes::Refused);
    assert_eq!(open_file(&mut tree, b"/one", open::READ_WRITE), Err(Errno::EROFS));
    assert_eq!(open_file(&mut tree, b"/new", open::CREATE | open::READ_WRITE), Err(Errno::EROFS));
    assert_eq!(open_file(&mut tree, b"/", open::TEMPORARY | open::DIRECTORY | open::READ_WRITE), Err(Errno::EROFS));
    assert!(open_file(&mut tree, b"/one", 0).is_ok());
    assert_eq!(tree.remove(tree.root(), b"/one", false, NOW), Err(Errno::EROFS));
    find(&mut tree, b"/usr").unwrap();
    let root = tree.root();
    assert_eq!(tree.rename((root, b"/usr"), (root, b"/tmp/usr"), 0, NOW), Err(Errno::EROFS));
    assert!(open_file(&mut tree, b"/tmp/new", open::CREATE | open::READ_WRITE).is_ok());
}

#[test]
fn nothing_takes_the_place_of_what_is_refused() {
    let other = world();
    let mut tree = tree(&other, Changes::Refused);
    let root = tree.root();
    open_file(&mut tree, b"/tmp/mine", open::CREATE | open::READ_WRITE).unwrap();
    find(&mut tree, b"/one").unwrap();
    for flags in [0, 2] {
        assert_eq!(tree.rename((root, b"/tmp/mine"), (root, b"/one"), flags, NOW), Err(Errno::EROFS), "{flags}");
    }
    assert_eq!(read(&mut tree, b"/one", 0, 20), b"the same");
}

#[test]
fn memory_of_what_can_be_read_again_is_given_back() {
    let other = world();
    for number in 0..8u8 {
        other.0.borrow_mut().add(0, &[b'f', b'0' + number], FILE, &vec![number; 1 << 20]);
    }
    let mut tree = tree_of(&other, Changes::Kept, 4 << 20);
    for number in 0..8u8 {
        assert_eq!(read(&mut tree, &[b'/', b'f', b'0' + number], 77, 1000), [number; 1000]);
    }
    let key = open_file(&mut tree, b"/f0", open::READ_WRITE).unwrap();
    tree.write(key, 0, b"mine", NOW).unwrap();
    for number in (1..8u8).rev() {
        assert_eq!(read(&mut tree, &[b'/', b'f', b'0' + number], 0, 10), [number; 10]);
    }
    assert_eq!(read(&mut tree, b"/f0", 0, 5), b"mine\0");
}

#[test]
fn what_finds_no_room_takes_nobodys_memory() {
    let other = world();
    for number in 0..3u8 {
        other.0.borrow_mut().add(0, &[b'f', b'0' + number], FILE, &vec![number; 1 << 20]);
    }
    other.0.borrow_mut().add(0, b"huge", FILE, &vec![1; 5 << 20]);
    let mut tree = tree_of(&other, Changes::Kept, 4 << 20);
    let read_all = |tree: &mut Tree<Fake>| (0..3u8).for_each(|number| assert_eq!(read(tree, &[b'/', b'f', b'0' + number], 9, 3), [number; 3]));
    read_all(&mut tree);
    let reads = other.0.borrow().reads;
    let huge = find(&mut tree, b"/huge").unwrap();
    assert_eq!(tree.fill(huge, 0, u64::MAX, true), Err(Errno::ENOMEM));
    read_all(&mut tree);
    assert_eq!(other.0.borrow().reads, reads, "contents are there that made no room");
    // What finds room takes no more than it needs.
    let before = tree.store().free_bytes();
    assert_eq!(read(&mut tree, b"/huge", 2 << 20, 3), [1; 3]);
    let large = find(&mut tree, b"/large").unwrap();
    tree.fill(large, 0, 1 << 20, false).unwrap();
    assert!(tree.store().free_bytes() < before);
    read_all(&mut tree);
    assert!(other.0.borrow().reads < 2 * reads + 1000, "not all contents were thrown away");
    assert_eq!(read(&mut tree, b"/huge", 0, 2), [1; 2]);
}

#[test]
fn a_listing_goes_without_what_cannot_be_looked_at() {
    for (changes, errno) in [(Changes::Kept, Errno::EACCES), (Changes::Passed, Errno::ELOOP)] {
        let other = world();
        let mut tree = tree(&other, changes);
        other.0.borrow_mut().refused.insert(b"two".to_vec(), errno);
        assert_eq!(names(&mut tree, b"/"), [&b"bin"[..], b"large", b"one", b"tmp", b"usr"]);
        assert_eq!(find(&mut tree, b"/two"), Err(errno), "the name is not taken for absent");
        other.0.borrow_mut().refused.insert(b"two".to_vec(), Errno::EIO);
        let root = tree.root();
        assert_eq!(tree.prepare_listing(root), Err(Errno::EIO), "a server that is broken is not");
    }
}

#[test]
fn a_name_that_is_told_twice_makes_one_node() {
    let other = world();
    let mut tree = tree(&other, Changes::Kept);
    other.0.borrow_mut().says_twice = true;
    names(&mut tree, b"/");
    let world = other.0.borrow();
    assert_eq!(tree.len(), 2 + 5 - 1, "the root, tmp, and each file once");
    assert_eq!(world.forgotten, [3, 5, 6, 6, 1], "numbers that are not used are given back");
}

#[test]
fn a_directory_of_another_side_lies_in_the_tree() {
    let (root, inner) = (world(), world());
    let mut tree = tree(&root, Changes::Kept);
    let start = tree.root();
    // One hides what is there already, another comes where nothing is.
    for path in [&b"/usr/bin"[..], b"/mnt/deep/inner"] {
        let key = tree.make_mount(path, NOW).unwrap();
        tree.join(key, Box::new(inner.clone()), Changes::Passed).unwrap();
    }
    assert_eq!(names(&mut tree, b"/usr"), [b"bin"]);
    assert_eq!(names(&mut tree, b"/mnt/deep/inner"), names(&mut tree, b"/usr/bin"));
    assert_eq!(read(&mut tree, b"/mnt/deep/inner/usr/bin/tool", 19_998, 10), [30, 31]);
    assert_eq!(find(&mut tree, b"/usr/bin/tool"), Err(Errno::ENOENT));
    assert_eq!(find(&mut tree, b"/mnt/deep/inner/../inner/one"), find(&mut tree, b"/mnt/deep/inner/two"));
    // Changes arrive there, and there alone.
    let key = open_file(&mut tree, b"/mnt/deep/inner/new", open::CREATE | open::READ_WRITE).unwrap();
    tree.write(key, 0, b"bytes", NOW).unwrap();
    assert!(inner.0.borrow().names.contains_key(&(0, b"new".to_vec())) && !root.0.borrow().names.contains_key(&(0, b"new".to_vec())));
    // Nothing moves from one side to the other, or from memory to one that gets changes.
    open_file(&mut tree, b"/tmp/mine", open::CREATE | open::READ_WRITE).unwrap();
    for (from, to) in [(&b"/mnt/deep/inner/new"[..], &b"/new"[..]), (b"/mnt/deep/inner/new", b"/usr/bin/new"), (b"/one", b"/usr/bin/one2"), (b"/tmp/mine", b"/usr/bin/mine")] {
        find(&mut tree, from).unwrap();
        assert_eq!(tree.rename((start, from), (start, to), 0, NOW), Err(Errno::EXDEV), "{from:?}");
        assert_eq!(tree.link((start, from), (start, to), false, NOW), Err(Errno::EXDEV), "{from:?}");
    }
    // Its outermost directory stays where it is, whatever the other side does.
    assert_eq!(tree.remove(start, b"/usr/bin", true, NOW), Err(Errno::EBUSY));
    assert_eq!(tree.rename((start, b"/usr/bin"), (start, b"/tmp/bin"), 0, NOW), Err(Errno::EBUSY));
    inner.0.borrow_mut().files.remove(&0);
    assert!(find(&mut tree, b"/usr/bin").is_ok() && tree.facts(start).unwrap().links > 2);
    // Nor do directories that lead there go.
    root.0.borrow_mut().names.remove(&(0, b"usr".to_vec()));
    assert!(find(&mut tree, b"/usr/bin/../bin").is_ok());
    assert_eq!(tree.make_mount(b"/", NOW), Err(Errno::EBUSY));
    assert_eq!(tree.make_mount(b"/a/../b", NOW), Err(Errno::EINVAL));
}
