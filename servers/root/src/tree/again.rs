//! A side whose server has ended, and has a successor: the files are the same, and have other
//! numbers.

use super::node::{Away, Lasting, NodeContent, format};
use super::outside::{Found, Origin};
use super::Tree;
use crate::store::Store;
use crate::table::Key;
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use nacre_proto::Errno;

impl<S: Store> Tree<S> {
    /// Puts a server in the place of the one that served a side before, and finds every file that
    /// is known here by its name again. What is there no more, as a file without a name, gives
    /// `EIO` from now on; and so does the next `sync` of a file that was written since the last
    /// one. `ESTALE`: it has other files.
    pub fn join_again(&mut self, mount: Key, mut origin: Box<dyn Origin>) -> Result<(), Errno> {
        let found = origin.root()?;
        let node = self.node(mount)?;
        let away = node.origin.ok_or(Errno::EIO)?;
        if found.inode != node.outside_inode || found.mode & format::MASK != format::DIRECTORY {
            return Err(Errno::ESTALE);
        }
        self.sides.of_mut(away).ok_or(Errno::EIO)?.replace(origin);
        self.take_again(mount, away.side, &found);
        let (mut directories, mut known) = (Vec::from([mount]), BTreeSet::new());
        while let Some(directory) = directories.pop() {
            let Ok(body) = self.directory(directory) else { continue };
            let names: Vec<(Vec<u8>, Key)> = body.entries().iter().map(|(name, entry)| (name.to_vec(), entry.node)).collect();
            for (name, key) in names {
                let is_its = self.node(key).is_ok_and(|node| node.origin.is_some_and(|its| its.side == away.side));
                if !is_its || self.sides.is_mount(key) {
                    continue;
                }
                if !self.find_by_name(directory, &name, key, &mut known)? {
                    self.drop_gone(directory, &name);
                } else if known.contains(&key) && self.directory(key).is_ok() {
                    directories.push(key);
                }
            }
        }
        // It may have ended on the way.
        self.sides.of_mut(away).ok_or(Errno::EIO)?.origin.root().map(drop)
    }

    /// Looks for a file by its name. False: the name leads to nothing, or to something else.
    fn find_by_name(&mut self, directory: Key, name: &[u8], key: Key, known: &mut BTreeSet<Key>) -> Result<bool, Errno> {
        let parent = self.node(directory)?.origin.ok_or(Errno::EIO)?;
        let outside = self.sides.of_mut(parent).ok_or(Errno::EIO)?;
        let found = match outside.origin.find(parent.id, name) {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(false),
            // What cannot be looked at keeps its old number, which leads to nothing.
            Err(_) => return Ok(true),
        };
        let node = self.nodes.get(key).ok_or(Errno::EIO)?;
        // A link is read anew: it may have had another target.
        let is_link = node.kind() == format::LINK;
        let is_same = !is_link && found.inode == node.outside_inode && found.mode & format::MASK == node.kind();
        if is_same && known.insert(key) {
            self.take_again(key, parent.side, &found);
        } else {
            // The file has its number by another name already.
            outside.origin.forget(found.id);
        }
        Ok(is_same)
    }

    /// A file has a new number, and what is known of it may not be so any more.
    fn take_again(&mut self, key: Key, side: u8, found: &Found) {
        let Some(node) = self.nodes.get_mut(key) else { return };
        node.origin = Some(Away { side, id: found.id });
        node.take_status(found);
        if node.lasting == Lasting::Unknown {
            node.lasting = Lasting::Lost;
        }
        if let NodeContent::File(content) = &mut node.body {
            content.renew(&mut self.store, found.size);
        }
        if node.writers > 0 {
            // Who may write no more is told so when he writes.
            let _ = self.start_passing_writes(key);
        }
    }
}
