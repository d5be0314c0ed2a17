//! Changes that the other side gets: it is asked first, and what it refuses does not happen here.
//! What it changes by itself is seen when a path leads there again.

use super::node::{Away, Id, Lasting, Node, NodeContent, format};
use super::outside::{Change, Changes, Found, New, Outside};
use super::resolve::Place;
use super::Tree;
use crate::store::Store;
use crate::table::Key;
use alloc::vec::Vec;
use nacre_proto::Errno;

/// Bytes that are written at a time.
const PART: usize = 128 << 10;

impl<S: Store> Tree<S> {
    /// The other side, if it gets changes, and its number for a node that is its.
    pub(super) fn passed(&mut self, key: Key) -> Option<(&mut Outside, Id)> {
        let is_detached = self.nodes.get(key)?.is_detached;
        self.passing_side(key).filter(|_| !is_detached)
    }

    /// The other side that a node came from, if it gets changes, though it may get none of this
    /// node any more; and its number for the node.
    fn passing_side(&mut self, key: Key) -> Option<(&mut Outside, Id)> {
        let away = self.nodes.get(key)?.origin?;
        let outside = self.sides.of_mut(away).filter(|outside| outside.changes == Changes::Passed)?;
        Some((outside, away.id))
    }

    /// A file of a side that gets changes.
    fn passed_file(&mut self, key: Key) -> Option<Away> {
        self.passed(key).is_some().then(|| self.nodes.get(key)?.origin).flatten()
    }

    /// Returns true if the other side gets changes of this node.
    pub(super) fn is_passed(&mut self, key: Key) -> bool {
        self.passed(key).is_some()
    }

    /// Forgets what the other side did not have a moment ago, if it changes by itself.
    pub(super) fn forget_absent(&mut self) {
        self.sides.forget_absent();
    }

    /// Looks whether a node is still what the other side has at a place. If not, the name goes.
    /// `EIO`: the other side cannot be asked, and nothing goes.
    pub(super) fn is_current(&mut self, place: &Place) -> Result<bool, Errno> {
        let Some(key) = place.node else { return Ok(true) };
        if self.nodes.get(key).is_some_and(|node| node.is_detached) && !place.name.is_empty() {
            self.drop_one(place.directory, &place.name);
            return Ok(false);
        }
        let stamp = self.nodes.get(key).and_then(|node| node.outside_stamp);
        let Some((outside, id)) = self.passed(key) else { return Ok(true) };
        let changes_by_itself = outside.changes_by_itself();
        if stamp.is_some() && !changes_by_itself {
            return Ok(true);
        }
        let found = match outside.origin.status(id) {
            Err(Errno::EIO) => return Err(Errno::EIO),
            found => found.ok(),
        };
        let Some(node) = self.nodes.get_mut(key) else { return Ok(true) };
        let is_same = |found: &Found| {
            let stamp = (found.times[1], found.size);
            found.mode & format::MASK == node.kind() && found.inode == node.outside_inode && (node.is_directory() || node.outside_stamp.is_none_or(|known| known == stamp))
        };
        if let Some(found) = found.filter(is_same) {
            // After a change of ours it cannot be told whether the other side made one, too.
            if let (NodeContent::File(content), None, true) = (&mut node.body, node.outside_stamp, changes_by_itself) {
                content.renew(&mut self.store, found.size);
            }
            node.take_status(&found);
            return Ok(true);
        }
        if place.name.is_empty() || self.sides.is_on_way(key) || self.find_again(key, place.directory, &place.name) {
            return Ok(true);
        }
        self.drop_gone(place.directory, &place.name);
        Ok(false)
    }

    /// Takes a name away that the other side has no more, with what it led to.
    pub(super) fn drop_gone(&mut self, directory: Key, name: &[u8]) {
        let Some(key) = self.directory(directory).ok().and_then(|body| body.entries().get(name)).map(|entry| entry.node) else { return };
        if self.passing_side(key).is_none() || !self.is_passed(directory) || self.sides.is_on_way(key) {
            return;
        }
        // What is in a directory goes with it.
        let (mut found, mut names, mut next) = (alloc::vec![key], Vec::new(), 0);
        while let Some(at) = found.get(next).copied() {
            for (name, entry) in self.directory(at).into_iter().flat_map(|body| body.entries()) {
                names.push((at, name.clone()));
                found.push(entry.node);
            }
            next += 1;
        }
        names.iter().rev().for_each(|(parent, name)| self.drop_one(*parent, name));
        self.drop_one(directory, name);
        // The other side may only have failed to tell of it.
        let _ = self.directory_mut(directory).map(|body| body.is_listed = false);
    }

    /// Takes a name out, and what it led to if nothing else does.
    fn drop_one(&mut self, directory: Key, name: &[u8]) {
        let Some(key) = self.directory(directory).ok().and_then(|body| body.entries().get(name)).map(|entry| entry.node) else { return };
        if let Some(entry) = self.directory_mut(directory).ok().and_then(|body| body.remove(name)) {
            self.store.give_name(entry.payer, name.len());
            self.nodes.get_mut(key).into_iter().for_each(|node| node.forget_name(directory, entry.cookie));
        }
        let is_directory = self.node(key).is_ok_and(Node::is_directory);
        self.change_links(directory, -i32::from(is_directory));
        self.change_links(key, -1 - i32::from(is_directory));
        if let Some(node) = self.nodes.get_mut(key) {
            node.outside_links = 0;
        }
        self.lose_name(key);
        self.drop_unused(key);
    }

    /// Makes on the other side what is about to be made here.
    pub(super) fn pass_new(&mut self, place: &Place, node: &mut Node) -> Result<(), Errno> {
        let (target, device): (&[u8], u64) = match &node.body {
            NodeContent::Special(device) => (&[], *device),
            NodeContent::Link(target) => (target, 0),
            _ => (&[], 0),
        };
        let Some((outside, id)) = self.passed(place.directory) else { return Ok(()) };
        let (is_alone, made) = (!outside.changes_by_itself(), outside.origin.make(id, &place.name, &New { mode: node.mode, target, device }));
        let found = match made {
            Ok(found) => found,
            Err(errno) => {
                // The name may be there all the same.
                self.directory_mut(place.directory)?.is_listed = false;
                return Err(errno);
            }
        };
        self.note_unsynced(place.directory);
        let side = self.nodes.get(place.directory).and_then(|directory| directory.origin).map(|away| away.side);
        node.origin = side.map(|side| Away { side, id: found.id });
        side.into_iter().for_each(|side| self.forgetting.count(side));
        (node.outside_inode, node.outside_links) = (found.inode, found.links);
        (node.mode, (node.uid, node.gid)) = (found.mode, found.owner);
        if is_alone {
            node.take_status(&found);
        }
        match &mut node.body {
            NodeContent::File(content) => content.note_passed(false),
            // There is nothing in a new directory.
            NodeContent::Directory(body) => body.is_listed = is_alone,
            _ => {}
        }
        Ok(())
    }

    /// Gives a node another name on the other side. `EXDEV`: only one of node and directory is
    /// there.
    pub(super) fn pass_link(&mut self, key: Key, place: &Place) -> Result<(), Errno> {
        match (self.passed_file(key), self.passed_file(place.directory)) {
            (Some(file), Some(directory)) if file.side == directory.side => {
                self.sides.of_mut(file).ok_or(Errno::EIO)?.origin.link(file.id, directory.id, &place.name)?;
                self.note_unsynced(place.directory);
                self.note_changed(key);
                Ok(())
            }
            (None, None) => Ok(()),
            _ => Err(Errno::EXDEV),
        }
    }

    /// Moves a name on the other side. `EXDEV`: it would leave it, or come there.
    pub(super) fn pass_rename(&mut self, key: Key, old: &Place, new: &Place) -> Result<(), Errno> {
        new.node.into_iter().for_each(|target| self.hold(target));
        let (file, from, to) = (self.passed_file(key), self.passed_file(old.directory), self.passed_file(new.directory));
        match (file, from, to) {
            (Some(file), Some(from), Some(to)) if file.side == from.side && from.side == to.side => {
                let renamed = self.sides.of_mut(file).ok_or(Errno::EIO)?.origin.rename((from.id, &old.name), (to.id, &new.name));
                [Some(key), new.node].into_iter().flatten().for_each(|key| self.note_changed(key));
                if renamed.is_err() {
                    // The name may have moved all the same.
                    self.directory_mut(new.directory)?.is_listed = false;
                    return renamed;
                }
                [old.directory, new.directory].into_iter().for_each(|directory| self.note_unsynced(directory));
                if let Some(node) = new.node.and_then(|target| self.nodes.get_mut(target)) {
                    node.outside_links = node.outside_links.saturating_sub(1);
                }
                Ok(())
            }
            (Some(_), ..) => Err(Errno::EXDEV),
            (None, _, Some(_)) if !matches!(self.node(key)?.body, NodeContent::Special(_)) => Err(Errno::EXDEV),
            // The name hides nothing of the other side's.
            (None, ..) => new.node.map_or(Ok(()), |target| self.pass_removal(new, target)),
        }
    }

    /// Makes sure that a file whose name goes can be read and written by those who have it open.
    fn hold(&mut self, key: Key) {
        let is_open = self.get(key).is_some_and(|node| node.opens > 0 && matches!(node.body, NodeContent::File(_)));
        if let (true, Some((outside, id))) = (is_open, self.passed(key)) {
            outside.origin.hold(id);
        }
    }

    /// Opens a file on the other side for its first writer.
    pub(super) fn start_passing_writes(&mut self, key: Key) -> Result<(), Errno> {
        self.passed(key).map_or(Ok(()), |(outside, id)| outside.origin.start_writing(id))
    }

    /// The last writer of a file has gone.
    pub(super) fn stop_passing_writes(&mut self, key: Key) {
        if let Some((outside, id)) = self.passing_side(key) {
            outside.origin.stop_writing(id);
        }
    }

    /// Lets a file without names be read and written only by what is open of it: another file may
    /// have its old name.
    fn lose_name(&mut self, key: Key) {
        let is_nameless = self.get(key).is_some_and(|node| node.links == 0 && !node.is_directory());
        if let (true, Some((outside, id))) = (is_nameless, self.passing_side(key)) {
            outside.origin.lose(id);
        }
    }

    /// Returns the status of a file on the other side; `None` if it has no name there any more. A
    /// number leads to whatever has the name now, so the inode must be the same.
    pub(super) fn status_there(&mut self, key: Key) -> Result<Option<Found>, Errno> {
        let node = self.node(key)?;
        if node.links == 0 {
            return Ok(None);
        }
        let (parent, cookie) = (node.parent, node.cookie);
        let found = self.status_of_same(key)?;
        if found.is_some() {
            return Ok(found);
        }
        // It may still have the name that it got last here.
        let name = parent.and_then(|parent| Some((parent, self.directory(parent).ok()?.name_of(key, cookie)?.to_vec())));
        if let Some((parent, name)) = name
            && self.find_again(key, parent, &name)
        {
            return self.status_of_same(key);
        }
        self.passed(key).into_iter().for_each(|(outside, id)| outside.origin.lose(id));
        Ok(None)
    }

    /// Returns the status of what a file's number leads to, if that is the file.
    fn status_of_same(&mut self, key: Key) -> Result<Option<Found>, Errno> {
        let node = self.node(key)?;
        let (inode, kind) = (node.outside_inode, node.kind());
        let Some((outside, id)) = self.passed(key) else { return Ok(None) };
        match outside.origin.status(id) {
            Ok(found) => Ok(Some(found).filter(|found| found.inode == inode && found.mode & format::MASK == kind)),
            Err(Errno::ENOENT | Errno::ENOTDIR | Errno::ELOOP | Errno::ESTALE) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    /// Looks whether a name still leads to a file whose number leads elsewhere. If so, the file has
    /// a new number.
    fn find_again(&mut self, key: Key, directory: Key, name: &[u8]) -> bool {
        let (Some(file), Some(parent)) = (self.passed_file(key), self.passed_file(directory)) else { return false };
        let Some(node) = self.nodes.get_mut(key).filter(|node| file.side == parent.side && !node.is_directory()) else { return false };
        let Some(outside) = self.sides.of_mut(parent) else { return false };
        let Ok(Some(found)) = outside.origin.find(parent.id, name) else { return false };
        let is_same = found.inode == node.outside_inode && found.mode & format::MASK == node.kind();
        if !is_same || node.outside_stamp.is_some_and(|stamp| stamp != (found.times[1], found.size)) {
            outside.origin.forget(found.id);
            return false;
        }
        outside.origin.renumber(file.id, found.id);
        node.origin = Some(Away { side: file.side, id: found.id });
        true
    }

    /// Takes the size that a file has on the other side now: who appends begins there. Of a file
    /// without a name, the size is the one that is known here.
    pub fn look_again(&mut self, key: Key) -> Result<(), Errno> {
        if !self.passed(key).is_some_and(|(outside, _)| outside.changes_by_itself()) {
            return Ok(());
        }
        let Some(found) = self.status_there(key)? else { return Ok(()) };
        let node = self.nodes.get_mut(key).ok_or(Errno::EIO)?;
        let stamp = (found.times[1], found.size);
        if let (NodeContent::File(content), true) = (&mut node.body, node.outside_stamp != Some(stamp)) {
            content.renew(&mut self.store, found.size);
            node.outside_stamp = Some(stamp);
        }
        Ok(())
    }

    /// Removes a name on the other side.
    pub(super) fn pass_removal(&mut self, place: &Place, key: Key) -> Result<(), Errno> {
        let node = self.node(key)?;
        let is_directory = node.is_directory();
        if !self.is_passed(key) {
            return Ok(());
        }
        self.hold(key);
        let Some((outside, directory)) = self.passed(place.directory) else { return Ok(()) };
        let removed = outside.origin.remove(directory, &place.name, is_directory);
        // After an error the name may have gone all the same.
        self.note_changed(key);
        removed?;
        self.note_unsynced(place.directory);
        if let Some(node) = self.nodes.get_mut(key) {
            node.outside_links = node.outside_links.saturating_sub(1);
        }
        Ok(())
    }

    /// Returns true if a file has a name on the other side.
    fn is_there(&mut self, key: Key) -> Result<bool, Errno> {
        let is_alone = self.passed(key).is_some_and(|(outside, _)| !outside.changes_by_itself());
        let node = self.node(key)?;
        // Its number can be of a name that has gone, or leads to another file: whoever changed the
        // names took the stamp away.
        if is_alone && node.outside_stamp.is_some() {
            return Ok(node.links > 0);
        }
        self.status_there(key).map(|found| found.is_some())
    }

    /// Changes an attribute on the other side. That of a file without a name there changes here
    /// alone.
    pub(super) fn pass_change(&mut self, key: Key, change: Change) -> Result<(), Errno> {
        if self.is_passed(key) && !self.is_there(key)? {
            // The content here is no longer the one there.
            self.node_mut(key)?.is_detached |= matches!(change, Change::Size(_));
            return Ok(());
        }
        let Some((outside, id)) = self.passed(key) else { return Ok(()) };
        outside.origin.change(id, change)?;
        self.node_mut(key)?.outside_stamp = None;
        self.note_unsynced(key);
        Ok(())
    }

    /// Sets or removes an extended attribute on the other side.
    pub(super) fn pass_attribute(&mut self, key: Key, name: &[u8], value: Option<&[u8]>, flags: u64) -> Result<(), Errno> {
        let (outside, id) = self.passed(key).ok_or(Errno::EIO)?;
        outside.origin.set_attribute(id, name, value, flags)?;
        self.note_unsynced(key);
        Ok(())
    }

    /// Writes to a file of the other side's, and to what is here of it.
    pub(super) fn pass_write(&mut self, key: Key, offset: u64, bytes: &[u8]) -> Result<usize, Errno> {
        let mut done = 0;
        for part in bytes.chunks(PART) {
            let (outside, id) = self.passed(key).ok_or(Errno::EIO)?;
            let count = match outside.origin.write(id, offset + done as u64, part) {
                Ok(count) => count,
                Err(errno) if done == 0 => return Err(errno),
                Err(_) => break,
            };
            done += count;
            if count < part.len() {
                break;
            }
        }
        self.note_unsynced(key);
        let node = self.nodes.get_mut(key).ok_or(Errno::EIO)?;
        node.outside_stamp = None;
        if let NodeContent::File(content) = &mut node.body {
            content.write_through(&mut self.store, offset, &bytes[..done]);
        }
        Ok(done)
    }

    /// Writes to the other side what others have written to pages that they share.
    pub fn write_back(&mut self, key: Key, is_last: bool) -> Result<(), Errno> {
        if !self.is_passed(key) {
            return Ok(());
        }
        let NodeContent::File(content) = &mut self.nodes.get_mut(key).ok_or(Errno::EIO)?.body else { return Ok(()) };
        for (offset, size) in content.shared_parts(is_last) {
            self.write_back_part(key, offset, size)?;
        }
        Ok(())
    }

    fn write_back_part(&mut self, key: Key, offset: u64, size: u64) -> Result<(), Errno> {
        let mut part: Vec<u8> = alloc::vec![0; size.min(PART as u64) as usize];
        let mut at = offset;
        while at < offset + size {
            let content = self.content(key)?.0;
            let limit = (offset + size - at).min(part.len() as u64) as usize;
            let count = content.read(&self.store, at, &mut part[..limit]);
            if count == 0 {
                break;
            }
            let (outside, id) = self.passed(key).ok_or(Errno::EIO)?;
            let written = outside.origin.write(id, at, &part[..count])?;
            if written == 0 {
                return Err(Errno::EIO);
            }
            at += written as u64;
        }
        self.node_mut(key)?.outside_stamp = None;
        self.note_unsynced(key);
        Ok(())
    }

    /// Waits until what was written to a file lasts on the other side; for the root directory, to
    /// any. `EIO`: it may be lost. That is told once.
    pub fn sync(&mut self, key: Key) -> Result<(), Errno> {
        self.write_back(key, false)?;
        let mut all = Ok(());
        if key == self.root() {
            // Everything is below it. What one side cannot do, others do.
            for mount in self.sides.mounts().to_vec() {
                all = all.and(self.sync_there(mount));
            }
        }
        self.sync_there(key).and(all)?;
        match core::mem::take(&mut self.node_mut(key)?.lasting) {
            Lasting::Lost => Err(Errno::EIO),
            _ => Ok(()),
        }
    }

    fn sync_there(&mut self, key: Key) -> Result<(), Errno> {
        // What else there is cannot be opened.
        let is_file = matches!(self.node(key)?.body, NodeContent::File(_) | NodeContent::Directory(_));
        let Some((outside, id)) = self.passed(key).filter(|_| is_file) else { return Ok(()) };
        outside.origin.sync(id)
    }

    /// The number of names of a file has changed, or one of them.
    fn note_changed(&mut self, key: Key) {
        let is_alone = self.passing_side(key).is_some_and(|(outside, _)| !outside.changes_by_itself());
        if let (true, Some(node)) = (is_alone, self.nodes.get_mut(key)) {
            node.outside_stamp = None;
        }
    }

    /// Something was written to a file, or a name in a directory has changed: nobody knows yet that
    /// it lasts.
    pub(super) fn note_unsynced(&mut self, key: Key) {
        self.note_changed(key);
        if let Some(node) = self.nodes.get_mut(key).filter(|node| node.lasting == Lasting::Whole) {
            node.lasting = Lasting::Unknown;
        }
    }
}
