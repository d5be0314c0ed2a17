//! Files without names, and what concerns the memory of a file: pages that are shared, and seals.

use super::node::{NodeContent, Node, format};
use super::{Content, Start, Time, Tree, open};
use crate::store::Store;
use crate::table::Key;
use nacre_proto::Errno;
use nacre_proto::flags::{F_SEAL_SEAL, F_SEAL_WRITE};

/// All seals that there are.
const SEALS: u64 = 0x1f;
/// Permissions of a file that is memory.
const MEMORY_MODE: u32 = 0o777;

impl<S: Store> Tree<S> {
    /// A regular file without a name, which `open` with `O_TMPFILE` makes in a directory.
    pub(super) fn make_unnamed(&mut self, start: impl Into<Start>, path: &[u8], flags: u64, mode: u32, now: Time) -> Result<Key, Errno> {
        if flags & open::ACCESS == 0 || flags & open::DIRECTORY == 0 {
            return Err(Errno::EINVAL);
        }
        let directory = self.resolve(start, path, flags & open::NOFOLLOW == 0)?.existing()?;
        self.directory(directory)?;
        self.check_change(directory)?;
        if self.is_passed(directory) {
            return Err(Errno::EOPNOTSUPP);
        }
        let mut node = Node::new(format::REGULAR | mode & 0o7777, NodeContent::File(Content::default()), now);
        self.inherit_group(directory, &mut node)?;
        let key = self.add_unnamed(node)?;
        self.node_mut(key)?.is_linkable = flags & open::EXCLUSIVE == 0;
        Ok(key)
    }

    /// A file for memory that is shared. It counts one open file.
    pub fn make_memory(&mut self, takes_seals: bool, now: Time) -> Result<Key, Errno> {
        let key = self.add_unnamed(Node::new(format::REGULAR | MEMORY_MODE, NodeContent::File(Content::default()), now))?;
        let node = self.node_mut(key)?;
        node.opens += 1;
        node.seals = Some(if takes_seals { 0 } else { F_SEAL_SEAL });
        Ok(key)
    }

    fn add_unnamed(&mut self, node: Node) -> Result<Key, Errno> {
        if !self.store.has_room() {
            return Err(Errno::ENOSPC);
        }
        self.nodes.reserve()?;
        Ok(self.insert(node))
    }

    /// Memory for a page of a file that is shared; see [`Content::page`].
    pub fn page(&mut self, key: Key, offset: u64, writable: bool) -> Option<(u64, u64, u64)> {
        self.fill(key, offset, 1, false).ok()?;
        let is_passed = self.is_passed(key);
        match &mut self.nodes.get_mut(key)?.body {
            NodeContent::File(content) => {
                let piece = content.page(&mut self.store, offset, writable)?;
                if writable && is_passed {
                    // What is written to the page is written to the other side later on.
                    if !self.store.spend(piece.2) {
                        return None;
                    }
                    content.note_shared(piece.0, piece.2);
                }
                Some(piece)
            }
            _ => None,
        }
    }

    /// Puts seals on a file; those that it has then. `is_written`: somebody has its memory to
    /// write.
    pub fn seal(&mut self, key: Key, add: u64, is_written: bool) -> Result<u64, Errno> {
        let node = self.node_mut(key)?;
        let seals = node.seals.ok_or(Errno::EINVAL)?;
        match () {
            () if add == 0 => return Ok(seals),
            () if add & !SEALS != 0 => return Err(Errno::EINVAL),
            () if seals & F_SEAL_SEAL != 0 => return Err(Errno::EPERM),
            () if add & !seals & F_SEAL_WRITE != 0 && is_written => return Err(Errno::EBUSY),
            () => {}
        }
        node.seals = Some(seals | add);
        Ok(seals | add)
    }
}
