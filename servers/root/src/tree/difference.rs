//! Changes of other sides' directories that are kept here: which files were added, changed, and
//! deleted. The other side is asked for each file that is known here, a directory at a time.

use super::node::{Node, format};
use super::outside::{Changes, Found};
use super::Tree;
use crate::store::Store;
use crate::table::Key;
use alloc::vec::Vec;
use nacre_proto::Errno;

/// Letters before a path: the file was added, changed, deleted.
const ADDED: u8 = b'A';
const CHANGED: u8 = b'C';
const DELETED: u8 = b'D';

/// Names that one step compares.
const NAMES: usize = 64;
/// Bytes of a path that is told.
const LONGEST: usize = 4096;

/// Place in a directory from which on it is looked at.
#[derive(Clone, Copy)]
enum From {
    /// Names that were removed, but for so many of them.
    Removed(usize),
    /// Names that are there, from this place in their order on.
    Names(u64),
}

/// A walk through directories whose changes are kept here.
pub struct Difference {
    /// Directories to look at, and where.
    left: Vec<(Key, From)>,
}

impl Difference {
    /// A walk through all of them. `ENODEV`: there is none.
    pub fn start<S: Store>(tree: &mut Tree<S>) -> Result<Difference, Errno> {
        let left: Vec<(Key, From)> = tree.sides.mounts().iter().rev().filter(|key| tree.is_kept_here(**key)).map(|key| (*key, From::Removed(0))).collect();
        if left.is_empty() { Err(Errno::ENODEV) } else { Ok(Difference { left }) }
    }

    /// Looks at some more names of a directory. Returns a letter, a space, a path and a zero for
    /// each file that is not as it is on the other side, unless its path is longer than paths may
    /// be; `None`: there are no more directories.
    pub fn step<S: Store>(&mut self, tree: &mut Tree<S>) -> Option<Vec<u8>> {
        let (key, from) = self.left.pop()?;
        let mut told = Vec::new();
        // It may have gone meanwhile.
        let (Ok(path), Ok(body)) = (tree.path_of(key), tree.directory(key)) else { return Some(told) };
        let path = if path == b"/" { Vec::new() } else { path };
        let mut tell = |letter: u8, name: &[u8]| {
            if path.len() + name.len() < LONGEST {
                told.extend([&[letter, b' '], &path[..], b"/", name, &[0]].concat());
            }
        };
        let cookie = match from {
            From::Names(cookie) => cookie,
            From::Removed(done) => {
                let removed: Vec<_> = body.removed().skip(done).take(NAMES).collect();
                removed.iter().filter(|name| !body.entries().contains_key(**name)).for_each(|name| tell(DELETED, name));
                let next = if removed.len() == NAMES { From::Removed(done + NAMES) } else { From::Names(0) };
                self.left.push((key, next));
                return Some(told);
            }
        };
        let entries: Vec<(u64, Vec<u8>, Key)> = body.from(cookie).take(NAMES).map(|(cookie, name, node)| (cookie, name.to_vec(), node)).collect();
        if let Some((last, ..)) = entries.last().filter(|_| entries.len() == NAMES) {
            self.left.push((key, From::Names(last + 1)));
        }
        for (_, name, node) in entries {
            if tree.sides.is_mount(node) || tree.sides.is_own(node) {
                continue;
            }
            if let Some(letter) = tree.compare(key, &name, node) {
                tell(letter, &name);
            }
            if tree.directory(node).is_ok() {
                self.left.push((node, From::Removed(0)));
            }
        }
        Some(told)
    }
}

impl<S: Store> Tree<S> {
    /// Notes which files are this side's before the first program runs: they are no changes.
    pub fn note_own(&mut self) {
        if self.sides.mounts().to_vec().into_iter().any(|key| self.is_kept_here(key)) {
            let own = self.nodes.iter().filter(|(_, node)| node.origin.is_none()).map(|(key, _)| key).collect();
            self.sides.set_own(own);
        }
    }

    /// Returns true for a file of a side whose changes are kept here.
    fn is_kept_here(&self, key: Key) -> bool {
        let away = self.nodes.get(key).and_then(|node| node.origin);
        away.and_then(|away| self.sides.of(away)).is_some_and(|outside| outside.changes == Changes::Kept)
    }

    /// Compares what a name leads to here and on the other side. A side that cannot be asked says
    /// nothing.
    fn compare(&mut self, directory: Key, name: &[u8], key: Key) -> Option<u8> {
        if !self.is_kept_here(directory) {
            return Some(ADDED);
        }
        let away = self.nodes.get(directory)?.origin?;
        let outside = self.sides.of_mut(away)?;
        let Some(found) = outside.origin.find(away.id, name).ok()? else { return Some(ADDED) };
        outside.origin.forget(found.id);
        let node = self.nodes.get(key)?;
        let is_same = node.origin.is_some() && node.outside_inode == found.inode && is_as(node, &found);
        (!is_same).then_some(CHANGED)
    }
}

/// Returns true for a file that has not changed since it was found. Of a directory, names alone may
/// have.
fn is_as(node: &Node, found: &Found) -> bool {
    let is_content_same = node.kind() != format::REGULAR || (node.modified, node.size()) == (found.times[1], found.size);
    (node.mode, (node.uid, node.gid)) == (found.mode, found.owner) && is_content_same
}

#[cfg(test)]
mod tests {
    use super::super::outside::Changes;
    use super::super::outside_tests::{NOW, find, open_file, tree, world};
    use super::super::{Tree, open};
    use super::Difference;
    use crate::store::fake::Fake;
    use nacre_proto::Errno;
    use std::string::String;
    use std::vec::Vec;

    fn told(tree: &mut Tree<Fake>) -> Vec<String> {
        let mut difference = Difference::start(tree).unwrap();
        let bytes: Vec<u8> = core::iter::from_fn(|| difference.step(tree)).flatten().collect();
        let mut lines: Vec<String> = bytes.split(|byte| *byte == 0).filter(|line| !line.is_empty()).map(|line| String::from_utf8_lossy(line).into_owned()).collect();
        lines.sort();
        lines
    }

    #[test]
    fn changes_that_are_kept_are_told() {
        let other = world();
        let mut tree = tree(&other, Changes::Kept);
        tree.note_own();
        find(&mut tree, b"/usr/bin/tool").unwrap();
        assert_eq!(told(&mut tree), [""; 0], "what was read has not changed");
        let root = tree.root();
        let tool = open_file(&mut tree, b"/usr/bin/tool", open::READ_WRITE).unwrap();
        tree.write(tool, 0, b"changed", NOW).unwrap();
        tree.make_directory(root, b"/new", 0o755, NOW).unwrap();
        open_file(&mut tree, b"/new/file", open::CREATE | open::READ_WRITE).unwrap();
        open_file(&mut tree, b"/tmp/own", open::CREATE | open::READ_WRITE).unwrap();
        find(&mut tree, b"/large").unwrap();
        tree.remove(root, b"/large", false, NOW).unwrap();
        find(&mut tree, b"/one").unwrap();
        tree.rename((root, b"/one"), (root, b"/other"), 0, NOW).unwrap();
        assert_eq!(told(&mut tree), ["A /new", "A /new/file", "A /other", "C /usr/bin/tool", "D /large", "D /one"]);
        assert!(other.0.borrow().forgotten.len() > 2, "numbers are given back");
    }

    #[test]
    fn many_names_are_told_in_parts_and_each_once() {
        let mut tree = tree(&world(), Changes::Kept);
        tree.note_own();
        let root = tree.root();
        find(&mut tree, b"/usr/bin").unwrap();
        for number in 0..150 {
            tree.make_directory(root, std::format!("/usr/{number:03}").as_bytes(), 0o755, NOW).unwrap();
        }
        let expected: Vec<String> = (0..150).map(|number| std::format!("A /usr/{number:03}")).collect();
        assert_eq!(told(&mut tree), expected);
    }

    #[test]
    fn where_changes_are_passed_none_are_kept() {
        assert_eq!(Difference::start(&mut tree(&world(), Changes::Passed)).err(), Some(Errno::ENODEV));
    }
}
