//! What happens in the tree, for those who watch it.

use super::Tree;
use super::node::Node;
use crate::notices::{FileEvent, event};
use crate::store::Store;
use crate::table::Key;
use alloc::vec::Vec;

/// Events since the log was taken last. Nothing is kept while nobody wants it.
#[derive(Default)]
pub struct Log {
    /// Somebody wants to hear of it.
    pub is_wanted: bool,
    all: Vec<FileEvent>,
    last_cookie: u64,
}

impl Log {
    /// Takes what there is.
    pub fn take(&mut self) -> Vec<FileEvent> {
        core::mem::take(&mut self.all)
    }
}

impl<S: Store> Tree<S> {
    fn kind_bit(&self, node: Key) -> u64 {
        if self.get(node).is_some_and(Node::is_directory) { event::IS_DIRECTORY } else { 0 }
    }

    /// Notes what happens to a node.
    pub fn note(&mut self, node: Key, mask: u64) {
        if self.happened.is_wanted {
            let kind = if mask & (event::DELETE_SELF | event::MOVE_SELF) != 0 { 0 } else { self.kind_bit(node) };
            self.happened.all.push(FileEvent { node, mask: mask | kind, name: Vec::new(), cookie: 0 });
        }
    }

    /// Notes what happens to a name, which leads to `node`.
    pub(super) fn note_name(&mut self, directory: Key, name: &[u8], node: Key, mask: u64, cookie: u64) {
        if self.happened.is_wanted {
            let mask = mask | self.kind_bit(node);
            self.happened.all.push(FileEvent { node: directory, mask, name: name.to_vec(), cookie });
        }
    }

    /// A number for both ends of a move.
    pub(super) fn cookie(&mut self) -> u64 {
        self.happened.last_cookie = self.happened.last_cookie % 0xffff_ffff + 1;
        self.happened.last_cookie
    }

    /// The directory of a node's last name, and that name, if `wanted` says that the directory is
    /// of interest.
    pub fn name_of(&self, node: Key, wanted: impl Fn(Key) -> bool) -> Option<(Key, Vec<u8>)> {
        let parent = self.get(node)?.parent.filter(|parent| wanted(*parent))?;
        let name = self.directory(parent).ok()?.name_of(node, self.get(node).filter(|node| node.links > 0)?.cookie)?;
        Some((parent, name.to_vec()))
    }
}
