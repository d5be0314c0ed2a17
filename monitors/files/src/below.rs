//! The files of the world around, as the tree asks for them: by paths of our parent's, of which
//! nothing is changed.

use alloc::collections::BTreeMap;
use alloc::rc::Rc;
use alloc::vec;
use alloc::vec::Vec;
use core::cell::RefCell;
use nacre_9p::Capacity;
use nacre_abi::message::MAX_BYTES;
use nacre_proto::flags::{AT_SYMLINK_NOFOLLOW, O_DIRECTORY, O_NOFOLLOW, O_PATH, O_RDONLY};
use nacre_proto::structures::{Entries, Status};
use nacre_proto::attribute_values::{self, MAX_VALUE};
use nacre_proto::{Errno, directory, file};
use nacre_root::tree::outside::{Change, Found, New, Origin};
use nacre_root::tree::{Id, Time};
use nacre_sys::{OwnedReference, Reference};

/// Files that stay open to be read, at most.
const MAX_OPEN: usize = 32;
/// Bytes of entries that are asked for at a time.
const LISTED: u64 = 4096;
/// Part of a number for a file that tells the file system apart.
const DEVICE_SHIFT: u32 = 48;

/// Paths by the numbers of files.
#[derive(Default)]
pub struct Paths {
    all: Vec<Option<Rc<[u8]>>>,
    free: Vec<Id>,
    /// Number of files that may be entered until somebody counts again.
    pub room: usize,
}

impl Paths {
    /// Makes an empty list with room for so many.
    pub fn new(room: usize) -> Paths {
        Paths { room, ..Paths::default() }
    }

    /// The path of a file. `ESTALE`: it was forgotten.
    pub fn get(&self, id: Id) -> Result<Rc<[u8]>, Errno> {
        self.all.get(id as usize).and_then(Option::clone).ok_or(Errno::ESTALE)
    }

    /// Number of files that have one.
    pub fn known(&self) -> usize {
        self.all.len() - self.free.len()
    }

    /// Gives a path a number. `ENFILE`: there is no memory for what is known of another file.
    fn enter(&mut self, path: Rc<[u8]>) -> Result<Id, Errno> {
        self.room = self.room.checked_sub(1).ok_or(Errno::ENFILE)?;
        if let Some(id) = self.free.pop() {
            if let Some(place) = self.all.get_mut(id as usize) {
                *place = Some(path);
            }
            return Ok(id);
        }
        let id = Id::try_from(self.all.len()).map_err(|_| Errno::ENFILE)?;
        self.all.push(Some(path));
        Ok(id)
    }

    fn forget(&mut self, id: Id) {
        if self.all.get_mut(id as usize).and_then(Option::take).is_some() {
            self.free.push(id);
        }
    }
}

/// The directory that everything lies in, and the paths by which files of it are known.
pub struct Below {
    files: Rc<OwnedReference>,
    paths: Rc<RefCell<Paths>>,
    open: BTreeMap<Id, OwnedReference>,
}

impl Below {
    /// Files below this directory of our parent's.
    pub fn new(files: Rc<OwnedReference>, paths: Rc<RefCell<Paths>>) -> Below {
        Below { files, paths, open: BTreeMap::new() }
    }

    fn path(&self, id: Id) -> Result<Rc<[u8]>, Errno> {
        self.paths.borrow().get(id)
    }

    fn status_of(&self, path: &[u8]) -> Result<Status, Errno> {
        let mut bytes = [0; Status::SIZE];
        directory::status_at(self.files.handle(), AT_SYMLINK_NOFOLLOW, path, &mut bytes[..])?;
        Status::from_bytes(&bytes).ok_or(Errno::EIO)
    }

    fn opened(&mut self, id: Id) -> Result<Reference, Errno> {
        if !self.open.contains_key(&id) {
            let path = self.path(id)?;
            let file = directory::open(self.files.handle(), O_RDONLY | O_NOFOLLOW, 0, &path[..])?.file;
            if self.open.len() >= MAX_OPEN {
                self.open.pop_first();
            }
            self.open.insert(id, file);
        }
        self.open.get(&id).map(OwnedReference::handle).ok_or(Errno::EIO)
    }

    /// Asks a file, which is opened as a place alone.
    fn at_place<T>(&self, id: Id, ask: impl FnOnce(Reference) -> Result<T, Errno>) -> Result<T, Errno> {
        let path = self.path(id)?;
        let place = directory::open(self.files.handle(), O_PATH | O_NOFOLLOW, 0, &path[..])?.file;
        ask(place.handle())
    }
}

/// The path of a name in a directory.
fn joined(directory: &[u8], name: &[u8]) -> Vec<u8> {
    let folder = directory.strip_suffix(b"/").unwrap_or(directory);
    [folder, b"/", name].concat()
}

fn time(seconds: u64, nanoseconds: u64) -> Time {
    Time { seconds: seconds as i64, nanoseconds: nanoseconds as u32 }
}

/// A file as its status tells of it.
fn found(id: Id, status: &Status) -> Found {
    Found {
        id,
        // Those of several file systems are told apart.
        inode: status.inode ^ status.device << DEVICE_SHIFT,
        mode: status.mode as u32,
        owner: (status.uid as u32, status.gid as u32),
        links: u32::try_from(status.links).unwrap_or(u32::MAX),
        device: status.rdevice,
        size: status.size,
        blocks: status.blocks,
        times: [time(status.atime_sec, status.atime_nsec), time(status.mtime_sec, status.mtime_nsec), time(status.ctime_sec, status.ctime_nsec)],
    }
}

/// Changes stay in the layer: nobody asks for these.
const NO_CHANGES: Errno = Errno::EROFS;

impl Origin for Below {
    fn root(&mut self) -> Result<Found, Errno> {
        let status = self.status_of(b"/")?;
        Ok(found(self.paths.borrow_mut().enter(Rc::from(&b"/"[..]))?, &status))
    }

    fn kind(&self) -> &'static [u8] {
        b"overlay"
    }

    fn names_to(&self, id: Id) -> Option<Vec<Rc<[u8]>>> {
        let path = self.path(id).ok()?;
        Some(path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()).map(Rc::from).collect())
    }

    fn capacity(&mut self) -> Result<Capacity, Errno> {
        Err(NO_CHANGES)
    }

    fn find(&mut self, directory: Id, name: &[u8]) -> Result<Option<Found>, Errno> {
        let path = joined(&self.path(directory)?, name);
        match self.status_of(&path) {
            Ok(status) => Ok(Some(found(self.paths.borrow_mut().enter(Rc::from(path))?, &status))),
            Err(Errno::ENOENT) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    fn names(&mut self, directory: Id) -> Result<Vec<Vec<u8>>, Errno> {
        let path = self.path(directory)?;
        let opened = directory::open(self.files.handle(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0, &path[..])?.file;
        let (mut names, mut cookie) = (Vec::new(), 0);
        let mut bytes = vec![0; LISTED as usize];
        loop {
            let reply = directory::list(opened.handle(), cookie, LISTED, &mut bytes[..])?;
            let entries = bytes.get(..reply.entries as usize).unwrap_or_default();
            let before = names.len();
            names.extend(Entries(entries).map(|entry| entry.name.to_vec()).filter(|name| !matches!(&name[..], b"." | b"..")));
            if names.len() > self.paths.borrow().room {
                return Err(Errno::ENFILE);
            }
            // One who never ends is asked no more.
            if reply.next == 0 || names.len() == before && reply.next <= cookie {
                return Ok(names);
            }
            cookie = reply.next;
        }
    }

    fn target(&mut self, link: Id) -> Result<Vec<u8>, Errno> {
        let path = self.path(link)?;
        let mut target = vec![0; MAX_BYTES as usize];
        let reply = directory::read_link(self.files.handle(), &path[..], &mut target[..])?;
        target.truncate(reply.target as usize);
        Ok(target)
    }

    fn read(&mut self, file: Id, offset: u64, into: &mut [u8]) -> Result<usize, Errno> {
        let opened = self.opened(file)?;
        let wanted = into.len().min(MAX_BYTES as usize);
        let reply = file::read(opened, offset, wanted as u64, &mut into[..wanted])?;
        Ok((reply.count as usize).min(wanted))
    }

    fn forget(&mut self, id: Id) {
        self.open.remove(&id);
        self.paths.borrow_mut().forget(id);
    }

    fn status(&mut self, id: Id) -> Result<Found, Errno> {
        let path = self.path(id)?;
        Ok(found(id, &self.status_of(&path)?))
    }

    fn make(&mut self, _: Id, _: &[u8], _: &New<'_>) -> Result<Found, Errno> {
        Err(NO_CHANGES)
    }

    fn link(&mut self, _: Id, _: Id, _: &[u8]) -> Result<(), Errno> {
        Err(NO_CHANGES)
    }

    fn rename(&mut self, _: (Id, &[u8]), _: (Id, &[u8])) -> Result<(), Errno> {
        Err(NO_CHANGES)
    }

    fn remove(&mut self, _: Id, _: &[u8], _: bool) -> Result<(), Errno> {
        Err(NO_CHANGES)
    }

    fn hold(&mut self, _: Id) {}

    fn lose(&mut self, _: Id) {}

    fn renumber(&mut self, _: Id, _: Id) {}

    fn start_writing(&mut self, _: Id) -> Result<(), Errno> {
        Err(NO_CHANGES)
    }

    fn stop_writing(&mut self, _: Id) {}

    fn change(&mut self, _: Id, _: Change) -> Result<(), Errno> {
        Err(NO_CHANGES)
    }

    fn write(&mut self, _: Id, _: u64, _: &[u8]) -> Result<usize, Errno> {
        Err(NO_CHANGES)
    }

    fn sync(&mut self, _: Id) -> Result<(), Errno> {
        Ok(())
    }

    fn attribute(&mut self, id: Id, name: &[u8]) -> Result<Vec<u8>, Errno> {
        self.at_place(id, |place| attribute_values::read(place, name, MAX_VALUE)).map(|(_, value)| value)
    }

    fn attributes(&mut self, id: Id) -> Result<Vec<u8>, Errno> {
        self.at_place(id, |place| attribute_values::read(place, b"", MAX_VALUE)).map(|(_, names)| names)
    }

    fn set_attribute(&mut self, _: Id, _: &[u8], _: Option<&[u8]>, _: u64) -> Result<(), Errno> {
        Err(NO_CHANGES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_joined() {
        assert_eq!(joined(b"/", b"a"), b"/a");
        assert_eq!(joined(b"/a", b"b"), b"/a/b");
    }
}
