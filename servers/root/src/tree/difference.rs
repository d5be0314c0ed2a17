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

/// A walk through directories whose changes are kept here.
pub struct Difference {
    /// Directories to look at, and their paths.
    left: Vec<(Key, Vec<u8>)>,
}

impl Difference {
    /// A walk through all of them. `ENODEV`: there is none.
    pub fn start<S: Store>(tree: &mut Tree<S>) -> Result<Difference, Errno> {
        let mounts: Vec<Key> = tree.sides.mounts().iter().rev().copied().filter(|key| tree.is_kept_here(*key)).collect();
        if mounts.is_empty() {
            return Err(Errno::ENODEV);
        }
        let path = |key: Key| tree.path_of(key).map(|path| (key, if path == b"/" { Vec::new() } else { path }));
        Ok(Difference { left: mounts.into_iter().map(path).collect::<Result<_, _>>()? })
    }

    /// Looks at one more directory. Returns a letter, a space, a path and a zero for each file that
    /// is not as it is on the other side; `None`: there are no more directories.
    pub fn step<S: Store>(&mut self, tree: &mut Tree<S>) -> Option<Vec<u8>> {
        let (key, path) = self.left.pop()?;
        let mut told = Vec::new();
        // It may have gone meanwhile.
        let Ok(body) = tree.directory(key) else { return Some(told) };
        let entries: Vec<(Vec<u8>, Key)> = body.entries().iter().map(|(name, entry)| (name.to_vec(), entry.node)).collect();
        let deleted: Vec<Vec<u8>> = body.removed().filter(|name| !body.entries().contains_key(*name)).map(|name| name.to_vec()).collect();
        let whole = |name: &[u8]| [&path[..], b"/", name].concat();
        let mut tell = |letter: u8, name: &[u8]| told.extend([&[letter, b' '], &whole(name)[..], &[0]].concat());
        for (name, node) in entries {
            if tree.sides.is_mount(node) || tree.sides.is_own(node) {
                continue;
            }
            if let Some(letter) = tree.compare(key, &name, node) {
                tell(letter, &name);
            }
            if tree.directory(node).is_ok() {
                self.left.push((node, whole(&name)));
            }
        }
        deleted.iter().for_each(|name| tell(DELETED, name));
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
    fn where_changes_are_passed_none_are_kept() {
        assert_eq!(Difference::start(&mut tree(&world(), Changes::Passed)).err(), Some(Errno::ENODEV));
    }
}
