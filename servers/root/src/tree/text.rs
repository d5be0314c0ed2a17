//! Programs that run from files. A file is written or run, never both: Linux's `ETXTBSY`.
//!
//! `writers` and `runners` of a node are never both above 0, but for files without names: their
//! first open file is no writer, as on Linux.

use super::Tree;
use super::node::{NodeContent, Node};
use crate::store::Store;
use crate::table::Key;
use nacre_proto::Errno;

/// Bits of a mode: somebody may execute the file.
const MAY_EXECUTE: u32 = 0o111;

impl<S: Store> Tree<S> {
    /// A regular file, or `EACCES`.
    fn text(&mut self, key: Key) -> Result<&mut Node, Errno> {
        let node = self.node_mut(key)?;
        if matches!(node.body, NodeContent::File(_)) { Ok(node) } else { Err(Errno::EACCES) }
    }

    /// Counts one more way to write a file; returns false if the node is no regular file.
    /// `ETXTBSY`: a program runs it. Other errors are the other side's, which refuses writes.
    pub fn start_writing(&mut self, key: Key) -> Result<bool, Errno> {
        match self.text(key) {
            Ok(node) if node.runners != 0 => Err(Errno::ETXTBSY),
            Ok(Node { body: NodeContent::File(content), .. }) if content.is_read_only() => Err(Errno::EACCES),
            Ok(node) => {
                if node.writers == 0 {
                    self.start_passing_writes(key)?;
                }
                self.node_mut(key)?.writers += 1;
                Ok(true)
            }
            Err(_) => Ok(false),
        }
    }

    /// Takes back what [`Tree::start_writing`] counted.
    pub fn stop_writing(&mut self, key: Key) {
        if let Ok(node) = self.text(key) {
            node.writers = node.writers.saturating_sub(1);
            if node.writers == 0 {
                self.stop_passing_writes(key);
            }
        }
    }

    /// Counts one more program that runs a file. `ETXTBSY`: the file can be written. `EACCES`:
    /// nobody may execute it.
    pub fn start_running(&mut self, key: Key) -> Result<(), Errno> {
        let node = self.text(key)?;
        match node {
            Node { mode, .. } if *mode & MAY_EXECUTE == 0 => Err(Errno::EACCES),
            Node { writers: 0, runners, .. } => {
                *runners += 1;
                Ok(())
            }
            _ => Err(Errno::ETXTBSY),
        }
    }

    /// Takes back what [`Tree::start_running`] counted.
    pub fn stop_running(&mut self, key: Key) {
        if let Ok(node) = self.text(key) {
            node.runners = node.runners.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Time, open};
    use super::*;
    use crate::store::fake::Fake;

    #[test]
    fn a_file_is_written_or_run() {
        let now = Time::default();
        let mut tree = Tree::new(Fake::new(1 << 20), now);
        let root = tree.root();
        let key = tree.open(root, b"/program", open::CREATE | open::WRITE_ONLY, 0o755, now).unwrap();
        assert_eq!(tree.start_writing(key), Ok(true));
        assert_eq!(tree.start_running(key), Err(Errno::ETXTBSY));
        tree.stop_writing(key);
        assert_eq!((tree.start_running(key), tree.start_running(key)), (Ok(()), Ok(())));
        tree.stop_running(key);
        assert_eq!(tree.start_writing(key), Err(Errno::ETXTBSY));
        for flags in [open::WRITE_ONLY, open::READ_WRITE, open::TRUNCATE] {
            assert_eq!(tree.open(root, b"/program", flags, 0, now), Err(Errno::ETXTBSY), "{flags:o}");
        }
        assert!(tree.open(root, b"/program", open::PATH | open::READ_WRITE, 0, now).is_ok());
        tree.stop_running(key);
        assert!(tree.open(root, b"/program", open::WRITE_ONLY | open::TRUNCATE, 0, now).is_ok());
        assert_eq!(tree.start_running(root), Err(Errno::EACCES));
        assert_eq!(tree.start_writing(root), Ok(false));
    }
}
