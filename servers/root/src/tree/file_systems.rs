//! File systems, as `stat` and `df` tell them apart: the one in memory, and one for each other side
//! that gets changes, or refuses them. What a side's changes are kept of is in memory, too.

use super::node::{Away, Node, NodeContent};
use super::outside::Changes;
use super::Tree;
use crate::store::Store;
use crate::table::Key;
use alloc::vec::Vec;
use nacre_9p::Capacity;

/// Number of the one in memory.
const MEMORY: u64 = 1;
/// Number of that of the first side.
const SIDES: u64 = 32;

/// A file system.
#[derive(Debug, PartialEq, Eq)]
pub struct FileSystem {
    /// Number that all its files have in their status.
    pub device: u64,
    /// Kind, as Linux calls it.
    pub kind: &'static [u8],
    /// Set if it takes no changes.
    pub is_read_only: bool,
    /// Path of its outermost directory.
    pub path: Vec<u8>,
    /// Capacity; `None`: that of the memory for files.
    pub capacity: Option<Capacity>,
}

impl<S: Store> Tree<S> {
    /// Returns the number of the file system that a node is in.
    pub(super) fn file_system_of(&self, node: &Node) -> u64 {
        // A device of this side's own in a side's directory seems to be there.
        let parent = || node.parent.filter(|_| matches!(node.body, NodeContent::Special(_))).and_then(|parent| self.nodes.get(parent)?.origin);
        let apart = node.origin.or_else(parent).filter(|away| self.sides.of(*away).is_some_and(|outside| outside.changes != Changes::Kept));
        apart.map_or(MEMORY, |away| SIDES + u64::from(away.side))
    }

    /// Returns the number of a node in its file system: the other side's, if it keeps what it has.
    pub(super) fn inode_of(&self, key: Key, node: &Node) -> u64 {
        let is_apart = |away: &Away| self.sides.of(*away).is_some_and(|outside| outside.changes != Changes::Kept);
        node.origin.filter(is_apart).map_or(u64::from(key.index()) + 1, |_| node.outside_inode)
    }

    /// Returns the file system with this number, or that with the next higher one. One that cannot
    /// be asked has blocks of no bytes.
    pub fn file_system(&mut self, from: u64) -> Option<FileSystem> {
        if from <= MEMORY {
            let is_around = self.nodes.get(self.root).is_some_and(|node| self.file_system_of(node) == MEMORY);
            // Around it there may be a side, in which some directories are in memory.
            let path: &[u8] = if is_around { b"/" } else { b"/tmp" };
            return Some(FileSystem { device: MEMORY, kind: b"tmpfs", is_read_only: false, path: path.to_vec(), capacity: None });
        }
        let mut first = u8::try_from(from.saturating_sub(SIDES)).ok()?;
        let (side, mount, path) = loop {
            let side = self.sides.next_apart(first)?;
            let mount: Key = self.sides.mount(side)?;
            match self.path_of(mount) {
                Ok(path) => break (side, mount, path),
                // Somebody has moved it so deep that it has no path.
                Err(_) => first = side.checked_add(1)?,
            }
        };
        let outside = self.sides.of_mut(self.nodes.get(mount)?.origin?)?;
        let capacity = outside.origin.capacity().unwrap_or_default();
        Some(FileSystem { device: SIDES + u64::from(side), kind: outside.origin.kind(), is_read_only: outside.changes == Changes::Refused, path, capacity: Some(capacity) })
    }
}

#[cfg(test)]
mod tests {
    use super::super::outside::Changes;
    use super::super::format;
    use super::super::outside_tests::{NOW, find, tree, world};
    use super::{MEMORY, SIDES};

    #[test]
    fn a_side_that_gets_changes_is_a_file_system_of_its_own() {
        let mut tree = tree(&world(), Changes::Passed);
        let (usr, tmp) = (find(&mut tree, b"/usr").unwrap(), find(&mut tree, b"/tmp").unwrap());
        assert_eq!([usr, tmp].map(|key| tree.facts(key).unwrap().file_system), [SIDES, MEMORY]);
        let root = tree.root();
        tree.make_node(root, b"/usr/pipe", format::FIFO | 0o644, 0, NOW).unwrap();
        let pipe = find(&mut tree, b"/usr/pipe").unwrap();
        assert_eq!(tree.facts(pipe).unwrap().file_system, SIDES, "a pipe seems to be where its name is");
        let [memory, side] = [0, MEMORY + 1].map(|from| tree.file_system(from).unwrap());
        assert_eq!((memory.device, &memory.path[..], memory.capacity), (MEMORY, &b"/tmp"[..], None));
        assert_eq!((side.device, &side.path[..], side.capacity.map(|capacity| capacity.blocks)), (SIDES, &b"/"[..], Some(9)));
        assert_eq!([SIDES + 1, u64::MAX].map(|from| tree.file_system(from)), [None, None]);
    }

    #[test]
    fn what_is_kept_here_is_in_memory() {
        let mut tree = tree(&world(), Changes::Kept);
        let usr = find(&mut tree, b"/usr").unwrap();
        assert_eq!((tree.facts(usr).unwrap().file_system, tree.file_system(0).unwrap().path), (MEMORY, b"/".to_vec()));
        assert_eq!(tree.file_system(MEMORY + 1), None);
    }
}
