//! The file tree: nodes by key, names in directories. All of it lives in memory; contents lie in a
//! [`Store`].
//!
//! A node stays while a name or an open file leads to it. Permissions are kept but not checked:
//! every client has user 0.

mod again;
#[cfg(test)]
mod again_tests;
mod attributes;
mod attributing;
pub mod boot;
mod change;
mod content;
mod difference;
mod fetching;
mod file_systems;
mod forgetting;
mod known;
mod list;
mod log;
mod node;
pub mod outside;
mod passing;
mod resolve;
mod room;
mod sparse;
#[cfg(test)]
mod target_tests;
mod text;
#[cfg(test)]
mod outside_tests;
#[cfg(test)]
mod passing_tests;
#[cfg(test)]
mod tests;

pub use attributes::MAX_VALUE;
pub use content::{Content, Piece};
pub use difference::Difference;
pub use file_systems::FileSystem;
pub use node::{Away, Id, NodeContent, Directory, Name, Node, Time, format};
pub use resolve::{Place, Start};

use crate::notices::event;
use crate::store::Store;
use crate::table::{Key, Table};
use nacre_proto::Errno;
use outside::Change;
use nacre_proto::flags::{F_SEAL_FUTURE_WRITE, F_SEAL_GROW, F_SEAL_SHRINK, F_SEAL_WRITE};

/// Flags of `open`, with Linux's numbers.
pub mod open {
    #![allow(missing_docs)]
    pub const ACCESS: u64 = 0o3;
    pub const WRITE_ONLY: u64 = 0o1;
    pub const READ_WRITE: u64 = 0o2;
    pub const CREATE: u64 = 0o100;
    pub const EXCLUSIVE: u64 = 0o200;
    pub const TRUNCATE: u64 = 0o1000;
    pub const APPEND: u64 = 0o2000;
    pub const NONBLOCK: u64 = 0o4000;
    pub const DIRECTORY: u64 = 0o200_000;
    pub const NOFOLLOW: u64 = 0o400_000;
    pub const PATH: u64 = 0o10_000_000;
    pub const TEMPORARY: u64 = 0o20_000_000;
}

/// Time arguments that are no time, in the place of nanoseconds, as Linux's `UTIME_NOW` and
/// `UTIME_OMIT`.
pub const TIME_NOW: u64 = 0x3fff_ffff;
/// See [`TIME_NOW`].
pub const TIME_OMIT: u64 = 0x3fff_fffe;

/// Facts that `stat` shows of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Number of the file system.
    pub file_system: u64,
    /// Number of the node.
    pub inode: u64,
    /// Kind and permissions.
    pub mode: u32,
    /// Number of its names.
    pub links: u32,
    /// Owner and group.
    pub owner: (u32, u32),
    /// Device number, for devices.
    pub device: u64,
    /// Size in bytes.
    pub size: u64,
    /// Blocks of 512 bytes.
    pub blocks: u64,
    /// Last read, last change of the content, last change.
    pub times: [Time; 3],
}

/// The tree.
pub struct Tree<S> {
    nodes: Table<Node>,
    root: Key,
    store: S,
    /// Index of the node whose content is the next to make room for others'.
    next_evicted: u32,
    /// Directories of others, around which it is or which are in it.
    sides: outside::Sides,
    /// Files of theirs that may be forgotten.
    forgetting: known::Forgetting,
    /// Events for those who watch.
    pub happened: log::Log,
}

impl<S: Store> Tree<S> {
    /// A tree with an empty root directory.
    pub fn new(store: S, now: Time) -> Tree<S> {
        let mut nodes = Table::new();
        // The first key of a table is known beforehand, and the root is its own parent.
        let parent = Key::from_word(1 << 32);
        let body = Directory::new(parent);
        let mut node = Node::new(format::DIRECTORY | 0o755, NodeContent::Directory(body), now);
        node.links = 2;
        let root = nodes.insert(node);
        debug_assert_eq!(root, parent);
        Tree { nodes, root, store, next_evicted: 0, sides: outside::Sides::default(), forgetting: known::Forgetting::default(), happened: log::Log::default() }
    }

    /// The root directory.
    pub fn root(&self) -> Key {
        self.root
    }

    /// Returns the store of contents.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// Returns the store of contents, to be changed.
    pub fn store_mut(&mut self) -> &mut S {
        &mut self.store
    }

    /// A node, if it is still there.
    pub fn get(&self, key: Key) -> Option<&Node> {
        self.nodes.get(key)
    }

    /// A node, which an open file keeps there.
    pub fn node(&self, key: Key) -> Result<&Node, Errno> {
        self.nodes.get(key).ok_or(Errno::EIO)
    }

    /// A node, to be changed.
    pub fn node_mut(&mut self, key: Key) -> Result<&mut Node, Errno> {
        self.nodes.get_mut(key).ok_or(Errno::EIO)
    }

    /// Returns the number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Never: there is a root.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    fn insert(&mut self, node: Node) -> Key {
        self.nodes.insert(node)
    }

    /// A node that is a directory, or `ENOTDIR`.
    pub fn directory(&self, key: Key) -> Result<&Directory, Errno> {
        match &self.node(key)?.body {
            NodeContent::Directory(directory) => Ok(directory),
            _ => Err(Errno::ENOTDIR),
        }
    }

    fn directory_mut(&mut self, key: Key) -> Result<&mut Directory, Errno> {
        match &mut self.node_mut(key)?.body {
            NodeContent::Directory(directory) => Ok(directory),
            _ => Err(Errno::ENOTDIR),
        }
    }

    /// Opens what `path` leads to, creating or truncating it as `flags` ask. The node counts one
    /// more open file. A file that is to be truncated and is not empty is left for [`Tree::cut`] to
    /// finish.
    pub fn open(&mut self, start: impl Into<Start>, path: &[u8], flags: u64, mode: u32, now: Time) -> Result<Key, Errno> {
        let start = start.into();
        let flags = if flags & open::PATH != 0 { flags & (open::PATH | open::DIRECTORY | open::NOFOLLOW) } else { flags };
        if flags & open::TEMPORARY & !open::DIRECTORY != 0 {
            let key = self.make_unnamed(start, path, flags, mode, now)?;
            self.node_mut(key)?.opens += 1;
            return Ok(key);
        }
        let creates = flags & open::CREATE != 0;
        let exclusive = creates && flags & open::EXCLUSIVE != 0;
        if creates && flags & open::DIRECTORY != 0 {
            return Err(Errno::EINVAL);
        }
        if creates && path.ends_with(b"/") {
            return self.resolve_name(start, path).and(Err(Errno::EISDIR));
        }
        let place = self.resolve(start, path, flags & open::NOFOLLOW == 0 && !exclusive)?;
        let key = match place.node {
            Some(_) if exclusive => return Err(Errno::EEXIST),
            Some(key) => self.open_existing(key, flags, now)?,
            None if creates => self.make_file(&place, mode, now)?,
            None => return Err(Errno::ENOENT),
        };
        self.node_mut(key)?.opens += 1;
        if flags & open::PATH == 0 {
            self.note(key, event::OPEN);
        }
        Ok(key)
    }

    fn open_existing(&mut self, key: Key, flags: u64, now: Time) -> Result<Key, Errno> {
        let writes = flags & open::ACCESS != 0;
        let changes = writes || flags & open::TRUNCATE != 0;
        if changes && flags & open::PATH == 0 && self.node(key)?.kind() == format::REGULAR {
            self.check_change(key)?;
        }
        let is_passed = self.is_passed(key);
        let node = self.nodes.get_mut(key).ok_or(Errno::EIO)?;
        match &mut node.body {
            NodeContent::Link(_) if flags & open::PATH == 0 && flags & open::DIRECTORY == 0 => return Err(Errno::ELOOP),
            NodeContent::Directory(_) if writes || flags & (open::CREATE | open::TRUNCATE) != 0 => return Err(Errno::EISDIR),
            NodeContent::Directory(_) => {}
            _ if flags & open::DIRECTORY != 0 => return Err(Errno::ENOTDIR),
            NodeContent::File(_) if node.runners != 0 && (writes || flags & open::TRUNCATE != 0) => return Err(Errno::ETXTBSY),
            NodeContent::File(content) if content.is_read_only() && (writes || flags & open::TRUNCATE != 0) => return Err(Errno::EACCES),
            // As of a device: there is nothing to cut off.
            NodeContent::File(content) if content.is_fixed() => {}
            NodeContent::File(_) if flags & open::TRUNCATE != 0 && is_passed => return self.cut(key, 0, now).map(|_| key),
            NodeContent::File(content) if flags & open::TRUNCATE != 0 => {
                let is_done = content.set_size_piece(&mut self.store, 0)?;
                node.touch(now);
                if is_done {
                    self.note(key, event::MODIFY);
                }
            }
            _ => {}
        }
        Ok(key)
    }

    /// Counts one more open file at a node.
    pub fn opened(&mut self, key: Key) {
        if let Some(node) = self.nodes.get_mut(key) {
            node.opens += 1;
        }
    }

    /// Counts one open file less; a node without names goes with its last.
    pub fn closed(&mut self, key: Key) {
        if let Some(node) = self.nodes.get_mut(key) {
            node.opens = node.opens.saturating_sub(1);
        }
        self.drop_unused(key);
    }

    fn drop_unused(&mut self, key: Key) {
        if self.nodes.get(key).is_none_or(|node| node.links > 0 || node.opens > 0) {
            return;
        }
        let removed = self.nodes.remove(key);
        if let Some((away, node)) = removed.as_ref().and_then(|node| Some((node.origin?, node))) {
            self.forget_origin(away, node.outside_inode, key);
        }
        if let Some((node, NodeContent::Link(target))) = removed.as_ref().map(|node| (node, &node.body)) {
            self.release_target(node, target);
        }
        if let Some(Node { body, attributes, .. }) = removed {
            attributes.into_iter().for_each(|attributes| attributes.release(&mut self.store));
            if let NodeContent::File(mut content) = body {
                content.release(&mut self.store);
            }
        }
        self.note(key, event::DELETE_SELF);
    }

    /// Returns the facts that `stat` shows.
    pub fn facts(&self, key: Key) -> Result<Facts, Errno> {
        let node = self.node(key)?;
        // The size of another side's directory is known to that side alone.
        let there = node.outside_stamp.filter(|_| node.origin.is_some() && node.is_directory());
        Ok(Facts {
            file_system: self.file_system_of(node),
            inode: self.inode_of(key, node),
            mode: node.mode,
            links: node.links.max(node.outside_links),
            owner: (node.uid, node.gid),
            device: if let NodeContent::Special(device) = node.body { device } else { 0 },
            size: there.map_or(node.size(), |(_, size)| size),
            blocks: match &node.body {
                NodeContent::Directory(_) if there.is_some() => node.outside_blocks,
                // What is here of another side's file is a copy.
                NodeContent::File(_) if self.has_blocks_there(node) => node.outside_blocks,
                NodeContent::File(content) => content.blocks().max(node.outside_blocks),
                NodeContent::Directory(_) => node::DIRECTORY_SIZE / 512,
                _ => 0,
            },
            times: [node.accessed, node.modified, node.changed],
        })
    }

    /// The content of a regular file, with the store it lies in.
    pub fn content(&self, key: Key) -> Result<(&Content, &S), Errno> {
        match &self.node(key)?.body {
            NodeContent::File(content) => Ok((content, &self.store)),
            NodeContent::Directory(_) => Err(Errno::EISDIR),
            _ => Err(Errno::EINVAL),
        }
    }

    /// Writes to a regular file.
    pub fn write(&mut self, key: Key, offset: u64, bytes: &[u8], now: Time) -> Result<usize, Errno> {
        let is_passed = self.is_passed(key);
        if !is_passed {
            self.fill(key, offset, bytes.len() as u64, false)?;
        }
        let node = self.nodes.get_mut(key).ok_or(Errno::EIO)?;
        let grows = bytes.len() as u64 > node.size().saturating_sub(offset);
        if node.is_sealed(F_SEAL_WRITE | F_SEAL_FUTURE_WRITE) || grows && node.is_sealed(F_SEAL_GROW) {
            return Err(Errno::EPERM);
        }
        let NodeContent::File(content) = &mut node.body else { return Err(Errno::EINVAL) };
        if is_passed && !self.store.spend(bytes.len() as u64) {
            return Err(Errno::ENOSPC);
        }
        let count = if is_passed { self.pass_write(key, offset, bytes)? } else { content.write(&mut self.store, offset, bytes)? };
        self.touch(key, now);
        if self.happened.is_wanted {
            self.note(key, event::MODIFY);
        }
        Ok(count)
    }

    /// Cuts off or extends a regular file.
    pub fn set_size(&mut self, key: Key, size: u64, now: Time) -> Result<(), Errno> {
        while !self.cut(key, size, now)? {}
        Ok(())
    }

    /// Does a piece of [`Tree::set_size`]; returns true if it was the last.
    pub fn cut(&mut self, key: Key, size: u64, now: Time) -> Result<bool, Errno> {
        let node = self.nodes.get_mut(key).ok_or(Errno::EIO)?;
        if size < node.size() && node.is_sealed(F_SEAL_SHRINK) || size > node.size() && node.is_sealed(F_SEAL_GROW) {
            return Err(Errno::EPERM);
        }
        self.pass_change(key, Change::Size(size))?;
        let is_passed = self.is_passed(key);
        let node = self.nodes.get_mut(key).ok_or(Errno::EIO)?;
        let is_done = match &mut node.body {
            NodeContent::File(content) => {
                let was_kept = content.is_kept();
                let is_done = content.set_size_piece(&mut self.store, size)?;
                if is_passed {
                    content.note_passed(was_kept);
                }
                is_done
            }
            NodeContent::Directory(_) => return Err(Errno::EISDIR),
            _ => return Err(Errno::EINVAL),
        };
        node.touch(now);
        if is_done {
            self.note(key, event::MODIFY);
        }
        Ok(is_done)
    }

    /// Changes the permissions.
    pub fn set_mode(&mut self, key: Key, mode: u64, now: Time) -> Result<(), Errno> {
        self.check_change(key)?;
        if self.node(key)?.kind() == format::LINK {
            return Err(Errno::EOPNOTSUPP);
        }
        self.pass_change(key, Change::Mode(mode as u32 & 0o7777))?;
        let node = self.node_mut(key)?;
        node.mode = node.kind() | mode as u32 & 0o7777;
        node.changed = now;
        self.note(key, event::ATTRIB);
        Ok(())
    }

    /// Changes owner and group; all ones leave one as it is.
    pub fn set_owner(&mut self, key: Key, uid: u64, gid: u64, now: Time) -> Result<(), Errno> {
        self.check_change(key)?;
        let given = |number: u64| Some(number as u32).filter(|number| *number != u32::MAX);
        self.pass_change(key, Change::Owner(given(uid), given(gid)))?;
        let node = self.node_mut(key)?;
        if uid as u32 != u32::MAX {
            node.uid = uid as u32;
        }
        if gid as u32 != u32::MAX {
            node.gid = gid as u32;
        }
        // A file that changes hands loses what it was trusted with.
        if node.kind() == format::REGULAR {
            node.mode &= if node.mode & 0o010 != 0 { !0o6000 } else { !0o4000 };
        }
        node.changed = now;
        self.note(key, event::ATTRIB);
        Ok(())
    }

    /// Changes the times of the last read and the last change of the content, each given as seconds
    /// and nanoseconds.
    pub fn set_times(&mut self, key: Key, times: [(u64, u64); 2], now: Time) -> Result<(), Errno> {
        let read = |(seconds, nanoseconds): (u64, u64), old| match nanoseconds {
            TIME_NOW => Ok(now),
            TIME_OMIT => Ok(old),
            0..=999_999_999 => Ok(Time { seconds: seconds as i64, nanoseconds: nanoseconds as u32 }),
            _ => Err(Errno::EINVAL),
        };
        self.check_change(key)?;
        let node = self.node_mut(key)?;
        let (accessed, modified) = (read(times[0], node.accessed)?, read(times[1], node.modified)?);
        let given = |time: (u64, u64), read: Time| Some(read).filter(|_| time.1 != TIME_OMIT);
        self.pass_change(key, Change::Times(given(times[0], accessed), given(times[1], modified)))?;
        let node = self.node_mut(key)?;
        if times[0].1 != TIME_OMIT || times[1].1 != TIME_OMIT {
            node.changed = now;
        }
        (node.accessed, node.modified) = (accessed, modified);
        self.note(key, event::ATTRIB);
        Ok(())
    }

    /// Returns the target of a symbolic link.
    pub fn read_link(&self, start: impl Into<Start>, path: &[u8]) -> Result<&[u8], Errno> {
        let key = self.resolve(start, path, false)?.existing()?;
        match &self.node(key)?.body {
            NodeContent::Link(target) => Ok(target),
            _ => Err(Errno::EINVAL),
        }
    }
}
