//! Listing a directory in pieces.

use super::{NodeContent, Tree};
use crate::store::Store;
use crate::table::Key;
use alloc::vec::Vec;
use nacre_proto::Errno;

/// Bytes of an entry before its name: inode, mode, size of the name.
const HEAD: usize = 16;

impl<S: Store> Tree<S> {
    /// Appends entries to `into`, at most `capacity` bytes in all, from the cookie where the last
    /// piece ended (0 at the start). Answers the cookie to go on with, or 0 at the end. Each entry
    /// is `inode u64, mode u32, name_size u32, name`, padded to 8.
    pub fn list(&self, directory: Key, cookie: u64, into: &mut Vec<u8>, capacity: usize) -> Result<u64, Errno> {
        let body = self.directory(directory)?;
        let mut next = cookie.max(1);
        for (number, name, key) in [(1, &b"."[..], directory), (2, b"..", body.parent)] {
            if next == number {
                self.append(name, key, into, capacity)?;
                next += 1;
            }
        }
        for (cookie, name, node) in body.from(next) {
            if self.append(name, node, into, capacity).is_err() {
                return if into.is_empty() { Err(Errno::EINVAL) } else { Ok(cookie) };
            }
        }
        Ok(0)
    }

    fn append(&self, name: &[u8], key: Key, into: &mut Vec<u8>, capacity: usize) -> Result<(), Errno> {
        let size = (HEAD + name.len()).next_multiple_of(8);
        if into.len() + size > capacity {
            return Err(Errno::EINVAL);
        }
        let end = into.len() + size;
        into.extend_from_slice(&self.inode_of(key, self.node(key)?).to_le_bytes());
        into.extend_from_slice(&self.node(key)?.mode.to_le_bytes());
        into.extend_from_slice(&(name.len() as u32).to_le_bytes());
        into.extend_from_slice(name);
        into.resize(end, 0);
        Ok(())
    }

    /// Returns the number of names in a directory, without `.` and `..`.
    pub fn population(&self, directory: Key) -> usize {
        match self.get(directory).map(|node| &node.body) {
            Some(NodeContent::Directory(body)) => body.entries().len(),
            _ => 0,
        }
    }
}
