//! Changes of the tree: names made, moved and removed. Everything is checked before anything
//! changes.

use super::node::{NodeContent, Directory, Node, Time, format};
use super::resolve::{Place, Start, check_path, owned};
use super::{Content, Tree};
use crate::notices::event;
use crate::store::Store;
use crate::table::Key;

use nacre_proto::Errno;
use nacre_proto::flags::{RENAME_EXCHANGE, RENAME_NO_DIRECTORY, RENAME_NOREPLACE};

/// Maximum number of names of a node.
const MAX_LINKS: u32 = 65_000;
/// Directories around a directory into which another one can be moved.
const MAX_DEPTH: u32 = 8192;
/// Bit of a mode: what is made in the directory gets its group.
const SET_GROUP: u32 = 0o2000;
/// Bits of a mode that can be changed.
const PERMISSIONS: u32 = 0o7777;

/// Returns a device, pipe, socket or empty regular file, as the mode says.
fn special(mode: u32, device: u64, now: Time) -> Result<Node, Errno> {
    let body = match mode & format::MASK {
        0 | format::REGULAR => NodeContent::File(Content::default()),
        format::CHARACTER | format::BLOCK => NodeContent::Special(device),
        format::FIFO | format::SOCKET => NodeContent::Special(0),
        format::DIRECTORY => return Err(Errno::EPERM),
        _ => return Err(Errno::EINVAL),
    };
    let kind = if mode & format::MASK == 0 { format::REGULAR } else { mode & format::MASK };
    Ok(Node::new(kind | mode & PERMISSIONS, body, now))
}

impl<S: Store> Tree<S> {
    /// A regular file at a place that is free.
    pub fn make_file(&mut self, place: &Place, mode: u32, now: Time) -> Result<Key, Errno> {
        if place.trailing {
            return Err(Errno::EISDIR);
        }
        let node = Node::new(format::REGULAR | mode & PERMISSIONS, NodeContent::File(Content::default()), now);
        self.add(place, node, now)
    }

    /// A directory.
    pub fn make_directory(&mut self, start: impl Into<Start>, path: &[u8], mode: u32, now: Time) -> Result<Key, Errno> {
        let place = self.free_place(start, path)?;
        let body = Directory::new(place.directory);
        let node = Node::new(format::DIRECTORY | mode & PERMISSIONS, NodeContent::Directory(body), now);
        let key = self.add(&place, node, now)?;
        self.change_links(key, 1);
        self.change_links(place.directory, 1);
        Ok(key)
    }

    /// A symbolic link.
    pub fn make_link(&mut self, start: impl Into<Start>, target: &[u8], path: &[u8], now: Time) -> Result<(), Errno> {
        check_path(target)?;
        let place = self.free_place_for_other(start, path)?;
        // The target takes memory like a name.
        let payer = self.store.take_name(target.len()).filter(|_| self.store.has_room()).ok_or(Errno::ENOSPC)?;
        let node = Node::new(format::LINK | 0o777, NodeContent::Link(owned(target)), now);
        let made = self.add(&place, Node { target_payer: Some(payer), ..node }, now);
        made.inspect_err(|_| self.store.give_name(payer, target.len())).map(drop)
    }

    /// A device, pipe, socket or empty regular file, as `mknod` makes it.
    pub fn make_node(&mut self, start: impl Into<Start>, path: &[u8], mode: u32, device: u64, now: Time) -> Result<(), Errno> {
        let place = self.free_place_for_other(start, path)?;
        self.add(&place, special(mode, device, now)?, now).map(|_| ())
    }

    /// Makes a device that no other side gets to see, whoever's directory it stands in.
    pub fn make_own_device(&mut self, start: impl Into<Start>, path: &[u8], mode: u32, device: u64, now: Time) -> Result<(), Errno> {
        let place = self.free_place_for_other(start, path)?;
        self.add_here(&place, special(mode, device, now)?, now).map(|_| ())
    }

    /// Another name for a node that is no directory.
    pub fn link(&mut self, from: (impl Into<Start>, &[u8]), to: (impl Into<Start>, &[u8]), follow: bool, now: Time) -> Result<(), Errno> {
        let key = self.resolve(from.0, from.1, follow)?.existing()?;
        self.link_node(key, to, now)
    }

    /// Another name for a node that is no directory. One that has none takes one only if it was
    /// made so.
    pub fn link_node(&mut self, key: Key, to: (impl Into<Start>, &[u8]), now: Time) -> Result<(), Errno> {
        let place = self.free_place_for_other(to.0, to.1)?;
        let node = self.node(key)?;
        match () {
            () if node.is_directory() => return Err(Errno::EPERM),
            () if node.links == 0 && !node.is_linkable => return Err(Errno::ENOENT),
            () if node.links >= MAX_LINKS => return Err(Errno::EMLINK),
            () => {}
        }
        self.check_addition(place.directory)?;
        self.pass_link(key, &place)?;
        self.enter(&place, key, now)?;
        self.node_mut(key)?.changed = now;
        self.note(key, event::ATTRIB);
        self.note_name(place.directory, &place.name, key, event::CREATE, 0);
        Ok(())
    }

    fn free_place(&self, start: impl Into<Start>, path: &[u8]) -> Result<Place, Errno> {
        let place = self.resolve_name(start, path)?;
        if place.node.is_some() { Err(Errno::EEXIST) } else { Ok(place) }
    }

    /// A free place for what is no directory: a slash at the end asks for one.
    fn free_place_for_other(&self, start: impl Into<Start>, path: &[u8]) -> Result<Place, Errno> {
        let place = self.free_place(start, path)?;
        if place.trailing { Err(Errno::ENOENT) } else { Ok(place) }
    }

    /// A directory that was removed while it was open takes no names, and records need memory.
    fn check_addition(&self, directory: Key) -> Result<(), Errno> {
        match () {
            () if self.node(directory)?.links == 0 => Err(Errno::ENOENT),
            () if self.check_change(directory).is_err() => Err(Errno::EROFS),
            () if !self.store.has_room() => Err(Errno::ENOSPC),
            () => Ok(()),
        }
    }

    fn add(&mut self, place: &Place, mut node: Node, now: Time) -> Result<Key, Errno> {
        self.check_addition(place.directory)?;
        self.nodes.reserve()?;
        self.inherit_group(place.directory, &mut node)?;
        self.pass_new(place, &mut node)?;
        self.add_here(place, node, now)
    }

    /// Adds what another side has already, or is not to have.
    fn add_here(&mut self, place: &Place, node: Node, now: Time) -> Result<Key, Errno> {
        self.check_addition(place.directory)?;
        self.nodes.reserve()?;
        let key = self.insert(node);
        self.enter(place, key, now).inspect_err(|_| drop(self.nodes.remove(key)))?;
        self.note_name(place.directory, &place.name, key, event::CREATE, 0);
        Ok(key)
    }

    /// Gives what is made in a set-group-ID directory the directory's group. A directory made there
    /// is such a one, too.
    pub(super) fn inherit_group(&self, directory: Key, node: &mut Node) -> Result<(), Errno> {
        let parent = self.node(directory)?;
        if parent.mode & SET_GROUP != 0 {
            node.gid = parent.gid;
            node.mode |= if node.is_directory() { SET_GROUP } else { 0 };
        }
        Ok(())
    }

    /// Enters a name, for which whoever pays now has to have room.
    fn enter(&mut self, place: &Place, key: Key, now: Time) -> Result<(), Errno> {
        let Some(payer) = self.store.take_name(place.name.len()) else {
            // The other side may have the name already.
            self.directory_mut(place.directory)?.is_listed = false;
            return Err(Errno::ENOSPC);
        };
        self.change_links(key, 1);
        self.enter_name(place.directory, owned(&place.name), key, payer);
        self.touch(place.directory, now);
        Ok(())
    }

    fn enter_name(&mut self, directory: Key, name: super::Name, node: Key, payer: u64) {
        let Ok(cookie) = self.directory_mut(directory).map(|body| body.insert(name, node, payer)) else { return };
        if let Ok(node) = self.node_mut(node) {
            node.note_name(directory, cookie);
        }
    }

    /// Enters a name unless it is there; whether it was not.
    pub(super) fn enter_new_name(&mut self, directory: Key, name: super::Name, node: Key) -> bool {
        let Ok(body) = self.directory(directory) else { return false };
        if body.entries().contains_key(&name) {
            return false;
        }
        self.enter_name(directory, name, node, 0);
        true
    }

    /// Takes a name out of its directory.
    fn take_out(&mut self, place: &Place) {
        let is_outside = |node: &Node| node.origin.is_some();
        if let Some(entry) = self.directory_mut(place.directory).ok().and_then(|body| body.remove(&place.name)) {
            if self.get(entry.node).is_some_and(is_outside) && self.get(place.directory).is_some_and(is_outside) && !self.is_passed(place.directory) {
                let _ = self.directory_mut(place.directory).map(|body| body.note_removed(owned(&place.name)));
            }
            self.store.give_name(entry.payer, place.name.len());
            if let Ok(node) = self.node_mut(entry.node) {
                node.forget_name(place.directory, entry.cookie);
            }
        }
    }

    pub(super) fn change_links(&mut self, key: Key, by: i32) {
        if let Ok(node) = self.node_mut(key) {
            node.links = node.links.saturating_add_signed(by);
        }
    }

    pub(super) fn touch(&mut self, key: Key, now: Time) {
        if let Ok(node) = self.node_mut(key) {
            node.touch(now);
        }
    }

    /// Removes a name: of an empty directory if `is_directory`, of anything else if not.
    pub fn remove(&mut self, start: impl Into<Start>, path: &[u8], is_directory: bool, now: Time) -> Result<(), Errno> {
        let place = self.resolve_name(start, path)?;
        let key = place.existing()?;
        self.check_place(key)?;
        if is_directory {
            self.prepare_listing(key)?;
        }
        let node = self.node(key)?;
        match (is_directory, &node.body) {
            (false, NodeContent::Directory(_)) => return Err(Errno::EISDIR),
            (true, NodeContent::Directory(_)) if key == self.root() => return Err(Errno::EBUSY),
            (true, NodeContent::Directory(body)) => check_removal(&place, body)?,
            (is_directory, _) if is_directory || place.trailing => return Err(Errno::ENOTDIR),
            _ => {}
        }
        self.check_change(place.directory)?;
        self.check_change(key)?;
        self.pass_removal(&place, key)?;
        if !is_directory {
            self.note(key, event::ATTRIB);
        }
        self.note_name(place.directory, &place.name, key, event::DELETE, 0);
        self.drop_name(&place, key, now);
        Ok(())
    }

    /// Takes the name out, and the node with its last name.
    fn drop_name(&mut self, place: &Place, key: Key, now: Time) {
        self.take_out(place);
        self.touch(place.directory, now);
        if self.node(key).is_ok_and(Node::is_directory) {
            self.change_links(place.directory, -1);
            self.change_links(key, -1);
        }
        self.change_links(key, -1);
        if let Ok(node) = self.node_mut(key) {
            node.changed = now;
        }
        self.drop_unused(key);
    }

    /// Gives a node another name, over whatever (of its kind) has that name.
    pub fn rename(&mut self, from: (impl Into<Start>, &[u8]), to: (impl Into<Start>, &[u8]), flags: u64, now: Time) -> Result<(), Errno> {
        let (from, to) = ((from.0.into(), from.1), (to.0.into(), to.1));
        let takes_directory = flags & RENAME_NO_DIRECTORY == 0;
        match flags & !RENAME_NO_DIRECTORY {
            0 | RENAME_NOREPLACE => {}
            RENAME_EXCHANGE => return self.exchange(from, to, takes_directory, now),
            _ => return Err(Errno::EINVAL),
        }
        let old = self.resolve_name(from.0, from.1)?;
        let new = self.resolve_name(to.0, to.1)?;
        let key = old.existing()?;
        if new.node.is_some() && flags & RENAME_NOREPLACE != 0 {
            return Err(Errno::EEXIST);
        }
        if old.name.is_empty() || new.name.is_empty() {
            return Err(Errno::EBUSY);
        }
        if (old.trailing || new.trailing) && !self.node(key)?.is_directory() {
            return Err(Errno::ENOTDIR);
        }
        self.check_kind(key, takes_directory)?;
        [Some(key), new.node].into_iter().flatten().try_for_each(|key| self.check_place(key))?;
        new.node.map_or(Ok(()), |target| self.prepare_listing(target))?;
        self.check_rename(key, &new)?;
        [old.directory, new.directory, key].into_iter().try_for_each(|key| self.check_change(key))?;
        if new.node != Some(key) {
            self.pass_rename(key, &old, &new)?;
            self.move_name(&old, &new, key, now);
        }
        Ok(())
    }

    /// `EBUSY`: it keeps its name, as the outermost directory of another side does.
    fn check_place(&self, key: Key) -> Result<(), Errno> {
        if self.sides.is_mount(key) { Err(Errno::EBUSY) } else { Ok(()) }
    }

    /// `EISDIR`: it is a directory, and the caller asked that none gets another name.
    fn check_kind(&self, key: Key, takes_directory: bool) -> Result<(), Errno> {
        if takes_directory || !self.node(key)?.is_directory() { Ok(()) } else { Err(Errno::EISDIR) }
    }

    /// Exchanges what two names lead to.
    fn exchange(&mut self, from: (Start, &[u8]), to: (Start, &[u8]), takes_directory: bool, now: Time) -> Result<(), Errno> {
        let old = self.resolve_name(from.0, from.1)?;
        let new = self.resolve_name(to.0, to.1)?;
        let (first, second) = (old.existing()?, new.existing()?);
        if old.name.is_empty() || new.name.is_empty() {
            return Err(Errno::EBUSY);
        }
        if old.trailing && !self.node(first)?.is_directory() || new.trailing && !self.node(second)?.is_directory() {
            return Err(Errno::ENOTDIR);
        }
        for (key, place) in [(first, &new), (second, &old)] {
            self.check_place(key)?;
            self.check_change(key)?;
            self.check_change(place.directory)?;
            if self.is_passed(key) || self.is_passed(place.directory) {
                return Err(Errno::EINVAL);
            }
            self.check_kind(key, takes_directory)?;
            if self.node(key)?.is_directory() && self.is_inside(place.directory, key) {
                return Err(Errno::EINVAL);
            }
        }
        if first != second {
            self.lead_to(&old, second, now);
            self.lead_to(&new, first, now);
            for (key, from, to) in [(first, &old, &new), (second, &new, &old)] {
                self.move_directory(key, from.directory, to.directory);
            }
        }
        Ok(())
    }

    /// A name that is there leads to another node.
    fn lead_to(&mut self, place: &Place, key: Key, now: Time) {
        let cookie = self.directory_mut(place.directory).ok().and_then(|body| body.replace(&place.name, key));
        self.touch(place.directory, now);
        if let Ok(node) = self.node_mut(key) {
            node.changed = now;
            (node.parent, node.cookie) = (Some(place.directory), cookie.unwrap_or(node.cookie));
        }
    }

    /// Notes that a node, if it is a directory, lies in another one now.
    fn move_directory(&mut self, key: Key, from: Key, to: Key) {
        if let Ok(body) = self.directory_mut(key) {
            body.parent = to;
            self.change_links(from, -1);
            self.change_links(to, 1);
        }
    }

    fn check_rename(&self, key: Key, new: &Place) -> Result<(), Errno> {
        let is_directory = self.node(key)?.is_directory();
        if is_directory && self.is_inside(new.directory, key) {
            return Err(Errno::EINVAL);
        }
        match new.node.map(|target| self.node(target)).transpose()? {
            None => self.check_addition(new.directory),
            Some(target) => match &target.body {
                NodeContent::Directory(_) if !is_directory => Err(Errno::EISDIR),
                NodeContent::Directory(body) if !body.entries().is_empty() && new.node != Some(key) => Err(Errno::ENOTEMPTY),
                NodeContent::Directory(_) => Ok(()),
                _ if is_directory => Err(Errno::ENOTDIR),
                _ => Ok(()),
            },
        }
    }

    fn move_name(&mut self, old: &Place, new: &Place, key: Key, now: Time) {
        if let Some(target) = new.node {
            self.drop_name(new, target, now);
        }
        self.take_out(old);
        let payer = self.store.move_name(new.name.len());
        self.enter_name(new.directory, owned(&new.name), key, payer);
        let cookie = self.cookie();
        self.note_name(old.directory, &old.name, key, event::MOVED_FROM, cookie);
        self.note_name(new.directory, &new.name, key, event::MOVED_TO, cookie);
        self.note(key, event::MOVE_SELF);
        self.move_directory(key, old.directory, new.directory);
        self.touch(old.directory, now);
        self.touch(new.directory, now);
        if let Ok(node) = self.node_mut(key) {
            node.changed = now;
        }
    }

    /// Returns true if `directory` is `outer`, lies in it, or lies so deep that the search ends.
    fn is_inside(&self, directory: Key, outer: Key) -> bool {
        let mut at = directory;
        for _ in 0..MAX_DEPTH {
            match self.directory(at) {
                _ if at == outer => return true,
                Ok(body) if body.parent != at => at = body.parent,
                _ => return false,
            }
        }
        true
    }
}

fn check_removal(place: &Place, body: &Directory) -> Result<(), Errno> {
    match () {
        () if place.is_dot => Err(Errno::EINVAL),
        () if !body.entries().is_empty() => Err(Errno::ENOTEMPTY),
        () if place.name.is_empty() => Err(Errno::EBUSY),
        () => Ok(()),
    }
}
