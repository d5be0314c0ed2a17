//! A tree around a directory of somebody else's: nodes come when a path leads to them, contents
//! when they are read.
//!
//! What is not there yet is fetched before an operation ([`Tree::prepare`], [`Tree::fill`]), so the
//! operation itself looks at the tree alone. Names that the tree has of its own hide the other's.

use super::node::{Away, Directory, Id, Name, Node, NodeContent, Time, format};
use super::outside::{Changes, Found, Origin, Outside};
use super::resolve::{Start, owned};
use super::{Content, Tree};
use crate::store::Store;
use crate::table::Key;
use alloc::boxed::Box;
use alloc::vec::Vec;
use nacre_proto::Errno;

/// Names and links of a path that are fetched or looked at, at most.
const MAX_TURNS: usize = 8192;
/// Files up to this size come whole.
const SMALL: u64 = 2 << 20;
/// Size of the pieces in which others come.
const CLUSTER: u64 = 256 << 10;
/// Size in bytes from which the target of a link is long, and maximum of those of all long ones.
const LONG: usize = 256;
const MAX_LONG: usize = 4 << 20;
/// Bytes that are asked for at a time.
const PART: u64 = 128 << 10;

/// Returns the bytes of a target, if it is long.
fn long_size(target: &[u8]) -> usize {
    if target.len() > LONG { target.len() } else { 0 }
}

impl<S: Store> Tree<S> {
    /// Puts a directory of this side over one of another.
    pub fn join(&mut self, key: Key, mut origin: Box<dyn Origin>, changes: Changes) -> Result<(), Errno> {
        let found = origin.root()?;
        if found.mode & format::MASK != format::DIRECTORY {
            return Err(Errno::ENOTDIR);
        }
        let side = self.sides.add(Outside::new(origin, changes), key).ok_or(Errno::EMFILE)?;
        let node = self.node_mut(key)?;
        (node.origin, node.mode, (node.uid, node.gid)) = (Some(Away { side, id: found.id }), found.mode, found.owner);
        (node.outside_inode, [node.accessed, node.modified, node.changed]) = (found.inode, found.times);
        Ok(())
    }

    /// Makes an empty directory at an absolute path, and those around it that lack. It is of no
    /// other side, and hides whatever is there.
    pub fn make_mount(&mut self, path: &[u8], now: Time) -> Result<Key, Errno> {
        let mut names = path.split(|&byte| byte == b'/').filter(|name| !name.is_empty()).peekable();
        let mut at = self.root;
        while let Some(name) = names.next() {
            if matches!(name, b"." | b"..") {
                return Err(Errno::EINVAL);
            }
            self.prepare(at, name, true)?;
            let there = self.resolve(at, name, true)?.node.filter(|key| self.directory(*key).is_ok());
            at = match there.filter(|_| names.peek().is_some()) {
                Some(key) => key,
                None => self.put_directory(at, name, now)?,
            };
            self.sides.add_way(at);
        }
        if at == self.root { Err(Errno::EBUSY) } else { Ok(at) }
    }

    /// Enters a new directory of this side, in the place of what has its name.
    fn put_directory(&mut self, parent: Key, name: &[u8], now: Time) -> Result<Key, Errno> {
        let mut node = Node::new(format::DIRECTORY | 0o755, NodeContent::Directory(Directory::new(parent)), now);
        node.links = 2;
        let hidden = self.directory_mut(parent)?.remove(name);
        let is_new = hidden.is_none_or(|entry| self.directory(entry.node).is_err());
        let key = self.insert(node);
        self.enter_new_name(parent, owned(name), key);
        self.change_links(parent, i32::from(is_new));
        Ok(key)
    }

    /// Fetches every node that `path` leads through and to, as far as there are any.
    pub fn prepare(&mut self, start: impl Into<Start>, path: &[u8], follow: bool) -> Result<(), Errno> {
        let start = start.into();
        self.forget_absent();
        for _ in 0..MAX_TURNS {
            if self.sides.is_empty() {
                return Ok(());
            }
            self.sides.missed.set(None);
            let place = self.resolve(start, path, follow).ok();
            match self.sides.missed.take() {
                Some((directory, name)) => self.fetch(directory, name)?,
                None if place.map_or(Ok(true), |place| self.is_current(&place))? => return Ok(()),
                None => {}
            }
        }
        // The other side changes faster than it can be looked at.
        Err(Errno::EIO)
    }

    /// Fetches what a name leads to, or notes that it leads to nothing. Each turn of
    /// [`Tree::prepare`] does that for another name.
    fn fetch(&mut self, directory: Key, name: Vec<u8>) -> Result<(), Errno> {
        let away = self.node(directory)?.origin.ok_or(Errno::EIO)?;
        let outside = self.sides.of_mut(away).ok_or(Errno::EIO)?;
        match outside.origin.find(away.id, &name)? {
            Some(found) => self.enter_found(directory, &name, (away.side, found)),
            None => {
                outside.note_absent(directory, name);
                Ok(())
            }
        }
    }

    fn enter_found(&mut self, directory: Key, name: &[u8], (side, found): (u8, Found)) -> Result<(), Errno> {
        let away = Away { side, id: found.id };
        if self.directory(directory)?.entries().contains_key(name) {
            // The other side told of the name twice.
            self.sides.of_mut(away).ok_or(Errno::EIO)?.origin.forget(found.id);
            return Ok(());
        }
        let key = match self.made_of(away, &found) {
            Some(key) => key,
            None => self.make_found(directory, away, found)?,
        };
        if self.enter_new_name(directory, owned(name), key) {
            self.change_links(key, 1);
            self.change_links(directory, i32::from(self.node(key)?.is_directory()));
        }
        Ok(())
    }

    /// Returns the node that was made of a file already, by another name, and knows it by the new
    /// number from now on: the other name may have gone.
    pub(super) fn made_of(&mut self, away: Away, found: &Found) -> Option<Key> {
        let outside = self.sides.of_mut(away)?;
        let is_alone = !outside.changes_by_itself();
        if found.links <= 1 && !is_alone {
            return None;
        }
        // One without names is of a file that has gone, whose inode can be another file's; but who
        // has a disk alone knows how many names a file that is open has left there.
        let has_name = |node: &Node| node.links > 0 || is_alone && node.opens > 0 && node.outside_links > 0 && matches!(node.body, NodeContent::File(_));
        let is_it = |key: &Key| self.nodes.get(*key).is_some_and(|node| node.origin.is_some() && !node.is_detached && has_name(node) && node.kind() == found.mode & format::MASK);
        let key = outside.by_inode.get(&found.inode).copied().filter(is_it)?;
        let node = self.nodes.get_mut(key)?;
        let old = node.origin.replace(away);
        node.outside_stamp = node.outside_stamp.filter(|stamp| *stamp == (found.times[1], found.size));
        old.into_iter().for_each(|old| outside.origin.renumber(old.id, away.id));
        Some(key)
    }

    fn make_found(&mut self, parent: Key, away: Away, found: Found) -> Result<Key, Errno> {
        let room = if self.store.has_room() { self.nodes.reserve() } else { Err(Errno::ENOSPC) };
        let made = room.and_then(|()| self.found_body(parent, away, &found));
        let outside = self.sides.of_mut(away).ok_or(Errno::EIO)?;
        let body = made.inspect_err(|_| outside.origin.forget(found.id))?;
        let is_directory = matches!(body, NodeContent::Directory(_));
        let [accessed, modified, changed] = found.times;
        let stamp = Some((found.times[1], found.size));
        let node = Node { origin: Some(away), outside_inode: found.inode, outside_stamp: stamp, links: u32::from(is_directory), outside_links: found.links, outside_blocks: found.blocks, uid: found.owner.0, gid: found.owner.1, ..Node::new(found.mode, body, modified) };
        let key = self.nodes.insert(Node { accessed, changed, ..node });
        self.forgetting.count(away.side);
        if found.links > 1 && !is_directory {
            outside.by_inode.insert(found.inode, key);
        }
        Ok(key)
    }

    fn found_body(&mut self, parent: Key, away: Away, found: &Found) -> Result<NodeContent, Errno> {
        Ok(match found.mode & format::MASK {
            format::DIRECTORY => NodeContent::Directory(Directory::new(parent)),
            format::REGULAR => NodeContent::File(Content::outside(found.size)),
            format::LINK => NodeContent::Link(Name::Owned(self.found_target(away, found.id)?)),
            format::CHARACTER | format::BLOCK => NodeContent::Special(found.device),
            format::FIFO | format::SOCKET => NodeContent::Special(0),
            _ => return Err(Errno::EIO),
        })
    }

    /// Fetches the target of a link. `ENAMETOOLONG`: it is long, and so are those of others that
    /// are here already: nobody pays for them.
    fn found_target(&mut self, away: Away, id: Id) -> Result<Vec<u8>, Errno> {
        let target = self.sides.of_mut(away).ok_or(Errno::EIO)?.origin.target(id)?;
        let size = long_size(&target);
        if self.sides.long_targets + size > MAX_LONG {
            return Err(Errno::ENAMETOOLONG);
        }
        self.sides.long_targets += size;
        Ok(target)
    }

    /// The target of a link goes with it.
    pub(super) fn release_target(&mut self, node: &Node, target: &[u8]) {
        match node.target_payer {
            Some(payer) => self.store.give_name(payer, target.len()),
            None if node.origin.is_some() => self.sides.long_targets = self.sides.long_targets.saturating_sub(long_size(target)),
            None => {}
        }
    }

    /// Fetches all names of a directory: once, or each time if the other side changes by itself or
    /// did not let all of it be looked at.
    pub fn prepare_listing(&mut self, key: Key) -> Result<(), Errno> {
        self.forget_absent();
        let node = self.nodes.get(key).ok_or(Errno::EIO)?;
        let (NodeContent::Directory(body), Some(away)) = (&node.body, node.origin) else { return Ok(()) };
        let outside = self.sides.of_mut(away).ok_or(Errno::EIO)?;
        let is_passed = outside.changes == Changes::Passed;
        if body.is_listed && !outside.changes_by_itself() {
            return Ok(());
        }
        let names = outside.origin.names(away.id)?;
        let gone = if is_passed { body.names_without(&names) } else { Vec::new() };
        let names: Vec<_> = names.into_iter().filter(|name| !body.entries().contains_key(&name[..]) && !body.is_removed(name) && !outside.is_absent(key, name)).collect();
        gone.iter().for_each(|name| self.drop_gone(key, name));
        let mut is_whole = true;
        for name in names {
            is_whole &= self.fetch_listed(key, name)?;
        }
        self.directory_mut(key)?.is_listed = is_whole;
        Ok(())
    }

    /// Fetches what a name of a listing leads to. False: the other side does not let it be looked
    /// at, and the listing goes without it.
    fn fetch_listed(&mut self, directory: Key, name: Vec<u8>) -> Result<bool, Errno> {
        match self.fetch(directory, name) {
            Ok(()) => Ok(true),
            Err(errno @ (Errno::EIO | Errno::ENOMEM | Errno::ENOSPC | Errno::ENFILE)) => Err(errno),
            Err(_) => Ok(false),
        }
    }

    /// The other side keeps what it has: a change of a node that is its is refused, or stays here.
    pub(super) fn check_change(&self, key: Key) -> Result<(), Errno> {
        let outside = self.node(key)?.origin.and_then(|away| self.sides.of(away));
        if outside.is_some_and(|outside| outside.changes == Changes::Refused) { Err(Errno::EROFS) } else { Ok(()) }
    }

    /// A node goes: its number is given back.
    pub(super) fn forget_origin(&mut self, away: Away, inode: u64, key: Key) {
        self.forgetting.discount(away.side);
        if let Some(outside) = self.sides.of_mut(away) {
            outside.origin.forget(away.id);
            if outside.by_inode.get(&inode) == Some(&key) {
                outside.by_inode.remove(&inode);
            }
        }
    }

    /// Fetches what is not there of `size` bytes of a file from `offset` on. `is_whole`: all of the
    /// file, in one piece of memory.
    pub fn fill(&mut self, key: Key, offset: u64, size: u64, is_whole: bool) -> Result<(), Errno> {
        let Some(Node { body: NodeContent::File(content), origin: Some(_), .. }) = self.nodes.get(key) else { return Ok(()) };
        let cluster = if is_whole || content.outside_end() <= SMALL { u64::MAX } else { CLUSTER };
        let (offset, size) = if cluster == u64::MAX { (0, u64::MAX) } else { (offset, size) };
        // What is to come whole does not make room for itself, and other files do so once: so this
        // ends.
        let mut spared = Some(key).filter(|_| cluster == u64::MAX);
        while self.fill_gap(key, (offset, size), cluster, &mut spared)? {}
        let Some(Node { body: NodeContent::File(content), .. }) = self.nodes.get_mut(key) else { return Ok(()) };
        if is_whole {
            content.make_whole(&mut self.store);
        }
        Ok(())
    }

    /// Notes that somebody has memory of a file's: it stays.
    pub fn keep_content(&mut self, key: Key) {
        if let Some(Node { body: NodeContent::File(content), .. }) = self.nodes.get_mut(key) {
            content.keep();
        }
    }

    /// Fetches the first piece that lacks; false if there is none. For want of memory other files'
    /// goes, but for the spared one's, which afterwards is this one's.
    fn fill_gap(&mut self, key: Key, (offset, size): (u64, u64), cluster: u64, spared: &mut Option<Key>) -> Result<bool, Errno> {
        let Some(Node { body: NodeContent::File(content), .. }) = self.nodes.get(key) else { return Ok(false) };
        let Some((at, size)) = content.lacking(offset, size, cluster) else { return Ok(false) };
        let start = match self.store.allocate_for_all(size) {
            Some(start) => start,
            None => self.evict(size, spared.replace(key)).ok_or(Errno::ENOMEM)?,
        };
        match self.read_outside(key, at, start, size) {
            Ok(()) => {
                let Some(Node { body: NodeContent::File(content), .. }) = self.nodes.get_mut(key) else { return Err(Errno::EIO) };
                content.take_in(at, start, size);
                Ok(true)
            }
            Err(errno) => {
                self.store.free(start, size);
                Err(errno)
            }
        }
    }

    fn read_outside(&mut self, key: Key, at: u64, start: u64, size: u64) -> Result<(), Errno> {
        let Some(Node { origin: Some(away), body: NodeContent::File(content), .. }) = self.nodes.get(key) else { return Err(Errno::EIO) };
        let (end, outside) = (content.outside_end().min(at + size), self.sides.of_mut(*away).ok_or(Errno::EIO)?);
        let mut part = alloc::vec![0; PART.min(size) as usize];
        let mut done = at;
        while done < end {
            let limit = (end - done).min(part.len() as u64) as usize;
            let count = outside.origin.read(away.id, done, &mut part[..limit])?;
            if count == 0 {
                // It became shorter meanwhile: the rest reads as zeros.
                break;
            }
            self.store.write(start + (done - at), &part[..count]);
            done += count as u64;
        }
        Ok(())
    }

    /// Allocates `size` bytes in the place of contents that can be read again, but for one file's.
    /// `None`: all of them would not be enough, and none goes; or they lie too scattered.
    fn evict(&mut self, size: u64, spared: Option<Key>) -> Option<u64> {
        let may_go = |key: Key, node: &Node| node.origin.is_some() && Some(key) != spared && node.runners == 0;
        let evictable = self.nodes.iter().filter(|(key, node)| may_go(*key, node)).map(|(_, node)| match &node.body {
            NodeContent::File(content) => content.evictable(),
            _ => 0,
        });
        let free = self.store.free_for_all();
        if evictable.sum::<u64>() + free < size {
            return None;
        }
        // Each search for memory costs more than a look at a node.
        let (mut freed, mut next_try, first) = (free, size, self.next_evicted);
        for is_behind in [true, false] {
            for (key, node) in self.nodes.iter_mut().filter(|(key, _)| (key.index() >= first) == is_behind) {
                let is_due = may_go(key, node);
                let NodeContent::File(content) = &mut node.body else { continue };
                freed += if is_due { content.evict(&mut self.store) } else { 0 };
                if !is_due || freed < next_try {
                    continue;
                }
                self.next_evicted = key.index() + 1;
                let start = self.store.allocate_for_all(size);
                if start.is_some() {
                    return start;
                }
                next_try = freed + size;
            }
        }
        self.store.allocate_for_all(size)
    }
}
