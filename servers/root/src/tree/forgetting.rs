//! Names of other sides that nobody uses are forgotten when many files of a side are known: they
//! are found again by whoever asks for them. So neither this side's memory nor the other's numbers
//! for files grow with all that was ever looked at.
//!
//! What is open, run, watched, locked or changed stays, and so does what is in a directory that
//! somebody has open, since a listing of it goes on where it stopped.

use super::node::{Away, Lasting, Node, NodeContent};
use super::outside::Changes;
use super::Tree;
use crate::store::Store;
use crate::table::Key;
use alloc::vec::Vec;

/// Files that are forgotten between two requests, at most: each costs a question to the other side.
const AT_ONCE: usize = 32;

impl<S: Store> Tree<S> {
    /// Returns true if there are files to be forgotten.
    pub fn has_idle(&self) -> bool {
        self.forgetting.is_due || !self.forgetting.left.is_empty()
    }

    /// Forgets some files that nobody uses, if there are too many. Those that are watched stay.
    pub fn forget_idle(&mut self, is_watched: impl Fn(Key) -> bool) {
        if self.forgetting.left.is_empty() && core::mem::take(&mut self.forgetting.is_due) {
            self.look_for_idle();
        }
        for _ in 0..AT_ONCE {
            let Some(key) = self.forgetting.left.pop_front() else { return };
            if self.is_idle(key) && !is_watched(key) {
                self.forget_name(key);
            }
            if self.forgetting.left.is_empty() {
                self.forgetting.settle();
            }
        }
    }

    /// Finds the idle files of sides that have too many. Those whose content is here go only if the
    /// others are less than half.
    fn look_for_idle(&mut self) {
        let is_crowded = |node: &Node| node.origin.is_some_and(|away| self.forgetting.is_crowded(away.side));
        let all: Vec<(Key, bool)> = self.nodes.iter().filter(|(key, node)| is_crowded(node) && self.is_idle(*key)).map(|(key, node)| (key, node.has_content())).collect();
        let empty = all.iter().filter(|(_, has_content)| !has_content).count();
        let wanted = all.iter().filter(|(_, has_content)| empty < all.len() / 2 || !has_content);
        self.forgetting.left = wanted.map(|(key, _)| *key).collect();
        if self.forgetting.left.is_empty() {
            self.forgetting.settle();
        }
    }

    /// Returns true for a file that can be found again as it is, and that nobody uses.
    fn is_idle(&self, key: Key) -> bool {
        let Some((node, away)) = self.nodes.get(key).and_then(|node| Some((node, node.origin?))) else { return false };
        let is_live = self.sides.of(away).is_some_and(|outside| outside.changes != Changes::Kept);
        let is_used = node.opens > 0 || node.writers > 0 || node.runners > 0 || node.is_detached || node.seals.is_some() || node.lasting != Lasting::Whole;
        let has_one_name = match &node.body {
            NodeContent::Directory(body) => body.entries().is_empty() && body.removed().next().is_none(),
            NodeContent::File(content) => node.links == 1 && node.outside_links <= 1 && content.is_all_outside(),
            _ => node.links == 1 && node.outside_links <= 1,
        };
        is_live && !is_used && has_one_name && !self.sides.is_on_way(key) && self.is_in_idle_directory(node, away)
    }

    /// Returns true if nobody has the directory of a file open, and it is of the same side.
    fn is_in_idle_directory(&self, node: &Node, away: Away) -> bool {
        let parent = node.parent.and_then(|parent| self.nodes.get(parent));
        parent.is_some_and(|parent| parent.opens == 0 && parent.lasting == Lasting::Whole && parent.origin.is_some_and(|other| other.side == away.side))
    }

    /// Takes the one name of a file out, and the file with it. Its directory may be idle then.
    fn forget_name(&mut self, key: Key) {
        let Some((parent, cookie)) = self.nodes.get(key).and_then(|node| Some((node.parent?, node.cookie))) else { return };
        let Ok(body) = self.directory_mut(parent) else { return };
        let Some(name) = body.name_of(key, cookie).cloned() else { return };
        body.is_listed = false;
        let Some(entry) = body.remove(&name) else { return };
        self.store.give_name(entry.payer, name.len());
        let is_directory = self.nodes.get(key).is_some_and(Node::is_directory);
        self.change_links(parent, -i32::from(is_directory));
        self.change_links(key, -1 - i32::from(is_directory));
        self.drop_unused(key);
        self.forgetting.left.push_back(parent);
    }
}

#[cfg(test)]
mod tests {
    use super::super::outside::Changes;
    use super::super::outside_tests::{Other, World, find, tree};
    use super::super::{Tree, format};
    use super::super::known::MANY;
    use super::AT_ONCE;
    use crate::store::fake::Fake;
    use std::cell::RefCell;
    use std::format;
    use std::rc::Rc;

    fn many(count: usize) -> Other {
        let mut world = World::default();
        world.files.insert(0, (format::DIRECTORY | 0o755, Vec::new()));
        let folder = world.add(0, b"folder", format::DIRECTORY | 0o755, b"");
        (0..count).for_each(|number| {
            world.add(folder, format!("{number}").as_bytes(), format::REGULAR | 0o644, b"text");
        });
        Other(Rc::new(RefCell::new(world)))
    }

    fn look_at_all(tree: &mut Tree<Fake>, count: usize) {
        (0..count).for_each(|number| assert!(find(tree, format!("/folder/{number}").as_bytes()).is_ok(), "{number}"));
    }

    fn forget_all(tree: &mut Tree<Fake>) {
        while tree.has_idle() {
            tree.forget_idle(|_| false);
        }
    }

    #[test]
    fn what_nobody_uses_is_forgotten_and_found_again() {
        for changes in [Changes::Passed, Changes::Refused] {
            let world = many(3 * MANY);
            let mut tree = tree(&world, changes);
            look_at_all(&mut tree, 3 * MANY);
            let seventh = find(&mut tree, b"/folder/7").unwrap();
            let number = tree.facts(seventh).unwrap().inode;
            assert!(tree.has_idle());
            tree.forget_idle(|_| false);
            assert!(world.0.borrow().forgotten.len() <= AT_ONCE, "root does not stand still meanwhile");
            forget_all(&mut tree);
            assert!(world.0.borrow().forgotten.len() >= 3 * MANY);
            assert!(tree.forgetting.known.iter().sum::<usize>() <= 2);
            let again = find(&mut tree, b"/folder/7").unwrap();
            assert_eq!(tree.facts(again).unwrap().inode, number);
        }
    }

    #[test]
    fn what_is_used_stays() {
        let world = many(3 * MANY);
        let mut tree = tree(&world, Changes::Passed);
        look_at_all(&mut tree, 2 * MANY);
        let [open, watched] = [&b"/folder/1"[..], b"/folder/2"].map(|path| find(&mut tree, path).unwrap());
        tree.opened(open);
        while tree.has_idle() {
            tree.forget_idle(|key| key == watched);
        }
        assert_eq!([b"/folder/1", b"/folder/2"].map(|path| find(&mut tree, path).unwrap()), [open, watched]);
        // A listing goes on where it stopped.
        let folder = find(&mut tree, b"/folder").unwrap();
        tree.opened(folder);
        look_at_all(&mut tree, 3 * MANY);
        let before = world.0.borrow().forgotten.len();
        forget_all(&mut tree);
        assert_eq!(world.0.borrow().forgotten.len(), before);
        tree.closed(folder);
    }

    #[test]
    fn what_is_kept_here_stays() {
        let world = many(3 * MANY);
        let mut tree = tree(&world, Changes::Kept);
        look_at_all(&mut tree, 3 * MANY);
        forget_all(&mut tree);
        assert!(world.0.borrow().forgotten.is_empty());
    }
}
