//! Files that somebody else serves by 9P: a directory of the host, or a volume on a disk.
//!
//! Root waits for each answer: QEMU gives them in some ten microseconds. Whoever asks for such
//! files meanwhile, or for anything else of root's, waits, too.

use crate::tree::{Id, Time, format};
use crate::tree::outside::{Change, Found, New, Origin};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::ops::Range;
use nacre_9p::{Changes, Client, Error, Fid, ROOT, Capacity, Status, Wire, open};
use nacre_proto::Errno;
use nacre_proto::flags::XATTR_REPLACE;

/// Kind of the file system of a directory of the host's.
const HOST: &[u8] = b"9p";
/// Files that are open on the host, at most, beside those without a name.
const MAX_OPEN: usize = 1024;

/// The directory. The head of this module describes it.
pub struct HostDirectory {
    client: Client<Box<dyn Wire>>,
    kind: &'static [u8],
    /// Numbers by which files are read, by those by which they are known.
    open: BTreeMap<Id, Fid>,
    /// Numbers by which files are read and written.
    writable: BTreeMap<Id, Fid>,
    /// Files that stay open, and why.
    held: BTreeMap<Id, Hold>,
}

/// Reasons for which a file stays open on the host.
#[derive(Clone, Copy, Debug, Default)]
struct Hold {
    /// The file may have no name any more, and cannot be opened again.
    is_nameless: bool,
    /// A client has the file open to be written.
    is_written: bool,
}

impl HostDirectory {
    /// Greets whoever serves files of this kind of file system at the other end of a wire, or his
    /// `generation`th successor. Numbers that were given before lead to nothing.
    pub fn greet(wire: Box<dyn Wire>, kind: &'static [u8], generation: u32) -> Result<HostDirectory, Error> {
        let client = Client::start_again(wire, generation)?;
        Ok(HostDirectory { client, kind, open: BTreeMap::new(), writable: BTreeMap::new(), held: BTreeMap::new() })
    }

    /// Sees to it that no path which the server keeps becomes too long for it: QEMU leads anywhere
    /// by those.
    pub fn bound_paths(self) -> HostDirectory {
        HostDirectory { client: self.client.bound_paths(), ..self }
    }

    fn found(&mut self, fid: Fid) -> Result<Found, Error> {
        if !self.client.has_given(fid) {
            // What had no name any more when its server ended.
            return Err(Error::BROKEN);
        }
        let status = self.client.status(fid)?;
        Ok(found_as(fid, status))
    }

    fn reader(&mut self, file: Id) -> Result<Fid, Error> {
        if let Some(fid) = self.open.get(&file).or_else(|| self.writable.get(&file)) {
            return Ok(*fid);
        }
        opened(&mut self.client, &mut self.open, &self.held, (file, open::READ))
    }

    fn writer(&mut self, file: Id) -> Result<Fid, Error> {
        match self.writable.get(&file) {
            Some(fid) => Ok(*fid),
            None => opened(&mut self.client, &mut self.writable, &self.held, (file, open::READ_WRITE)),
        }
    }

    /// Returns the number of a file that has a name as far as is known.
    fn named(&self, id: Id) -> Result<Fid, Errno> {
        if self.client.has_given(Fid(id)) { Ok(Fid(id)) } else { Err(Errno::EIO) }
    }

    fn find_new(&mut self, directory: Id, name: &[u8]) -> Result<Found, Error> {
        self.client.find(Fid(directory), name).map(|(fid, status)| found_as(fid, status))
    }

    /// Makes a regular file, which is open to be written then: its mode may forbid to open it
    /// again.
    fn make_file(&mut self, directory: Id, name: &[u8], mode: u32) -> Result<Found, Error> {
        let (open, known, status) = self.client.create(Fid(directory), name, mode)?;
        make_room(&mut self.client, &mut self.writable, &self.held);
        self.writable.insert(known.0, open);
        Ok(found_as(known, status))
    }
}

/// The file that has this number and this status.
fn found_as(fid: Fid, status: Status) -> Found {
    let Status { inode, mode, uid, gid, links, device, size, blocks, times } = status;
    let times = times.map(|time| Time { seconds: time.seconds as i64, nanoseconds: time.nanoseconds });
    Found { id: fid.0, inode, mode, owner: (uid, gid), links: links.min(u32::MAX.into()) as u32, device, size, blocks, times }
}

/// Makes room for one more open file: another one is closed if too many are open.
fn make_room(client: &mut Client<Box<dyn Wire>>, open: &mut BTreeMap<Id, Fid>, held: &BTreeMap<Id, Hold>) {
    if open.len() >= MAX_OPEN + held.len()
        && let Some(other) = open.keys().find(|id| !held.contains_key(id)).copied()
    {
        open.remove(&other).into_iter().for_each(|fid| client.forget(fid));
    }
}

/// Opens a file in place of another one, if too many are open. `ESTALE`: it has lost its name.
fn opened(client: &mut Client<Box<dyn Wire>>, open: &mut BTreeMap<Id, Fid>, held: &BTreeMap<Id, Hold>, (file, flags): (Id, u32)) -> Result<Fid, Error> {
    if held.get(&file).is_some_and(|hold| hold.is_nameless) {
        return Err(Error(Errno::ESTALE.0));
    }
    if !client.has_given(Fid(file)) {
        return Err(Error::BROKEN);
    }
    make_room(client, open, held);
    let fid = client.open(Fid(file), flags)?;
    open.insert(file, fid);
    Ok(fid)
}

/// An error as a client of root's sees it.
fn errno(error: Error) -> Errno {
    Errno(error.0)
}

impl Origin for HostDirectory {
    fn root(&mut self) -> Result<Found, Errno> {
        self.found(ROOT).map_err(errno)
    }

    fn kind(&self) -> &'static [u8] {
        self.kind
    }

    fn names_to(&self, id: Id) -> Option<Vec<Rc<[u8]>>> {
        self.client.names(Fid(id))
    }

    fn has_one_client(&self) -> bool {
        // A volume's server serves root alone, and no directory of the host's is so.
        self.kind != HOST
    }

    fn capacity(&mut self) -> Result<Capacity, Errno> {
        self.client.capacity(ROOT).map_err(errno)
    }

    fn find(&mut self, directory: Id, name: &[u8]) -> Result<Option<Found>, Errno> {
        match self.find_new(directory, name) {
            Ok(found) => Ok(Some(found)),
            Err(Error::NOT_FOUND) => Ok(None),
            Err(error) => Err(errno(error)),
        }
    }

    fn names(&mut self, directory: Id) -> Result<Vec<Vec<u8>>, Errno> {
        let entries = self.client.list(Fid(directory)).map_err(errno)?;
        Ok(entries.into_iter().map(|entry| entry.name).collect())
    }

    fn target(&mut self, link: Id) -> Result<Vec<u8>, Errno> {
        self.client.read_link(Fid(link)).map_err(errno)
    }

    fn read(&mut self, file: Id, offset: u64, into: &mut [u8]) -> Result<usize, Errno> {
        let fid = self.reader(file).map_err(errno)?;
        self.client.read(fid, offset, into).map_err(errno)
    }

    fn forget(&mut self, id: Id) {
        for open in [self.open.remove(&id), self.writable.remove(&id)].into_iter().flatten() {
            self.client.forget(open);
        }
        self.held.remove(&id);
        self.client.forget(Fid(id));
    }

    fn status(&mut self, id: Id) -> Result<Found, Errno> {
        self.found(Fid(id)).map_err(errno)
    }

    fn make(&mut self, directory: Id, name: &[u8], new: &New<'_>) -> Result<Found, Errno> {
        let (at, mode) = (Fid(directory), new.mode & !format::MASK);
        if self.kind == HOST && matches!(new.mode & format::MASK, format::CHARACTER | format::BLOCK) {
            // Who opened it by another way to the directory would have the host's device.
            return Err(Errno::EPERM);
        }
        let made = match new.mode & format::MASK {
            format::REGULAR => return self.make_file(directory, name, mode).map_err(errno),
            format::DIRECTORY => self.client.make_directory(at, name, mode),
            format::LINK => self.client.make_link(at, name, new.target),
            _ => self.client.make_node(at, name, new.mode, new.device),
        };
        made.and_then(|()| self.find_new(directory, name)).map_err(errno)
    }

    fn link(&mut self, file: Id, directory: Id, name: &[u8]) -> Result<(), Errno> {
        self.client.link(Fid(file), Fid(directory), name).map_err(errno)
    }

    fn rename(&mut self, from: (Id, &[u8]), to: (Id, &[u8])) -> Result<(), Errno> {
        self.client.rename((Fid(from.0), from.1), (Fid(to.0), to.1)).map_err(errno)
    }

    fn hold(&mut self, file: Id) {
        // What may not be written is not.
        let _ = self.writer(file).or_else(|_| self.reader(file));
        self.lose(file);
    }

    fn lose(&mut self, file: Id) {
        self.held.entry(file).or_default().is_nameless = true;
    }

    fn renumber(&mut self, old: Id, new: Id) {
        for open in [&mut self.open, &mut self.writable] {
            open.remove(&old).and_then(|fid| open.insert(new, fid)).into_iter().for_each(|fid| self.client.forget(fid));
        }
        if self.held.remove(&old).is_some_and(|hold| hold.is_written) {
            self.held.insert(new, Hold { is_written: true, is_nameless: false });
        }
        self.client.forget(Fid(old));
    }

    fn start_writing(&mut self, file: Id) -> Result<(), Errno> {
        self.writer(file).map_err(errno)?;
        self.held.entry(file).or_default().is_written = true;
        Ok(())
    }

    fn stop_writing(&mut self, file: Id) {
        if let Some(hold) = self.held.get_mut(&file) {
            hold.is_written = false;
            if !hold.is_nameless {
                self.held.remove(&file);
            }
        }
    }

    fn remove(&mut self, directory: Id, name: &[u8], is_directory: bool) -> Result<(), Errno> {
        self.client.remove(Fid(directory), name, is_directory).map_err(errno)
    }

    fn change(&mut self, id: Id, change: Change) -> Result<(), Errno> {
        let time = |time: Time| nacre_9p::Time { seconds: time.seconds as u64, nanoseconds: time.nanoseconds };
        let changes = match change {
            Change::Mode(mode) => Changes { mode: Some(mode), ..Changes::default() },
            Change::Owner(uid, gid) => Changes { uid, gid, ..Changes::default() },
            Change::Size(size) => Changes { size: Some(size), ..Changes::default() },
            Change::Times(accessed, modified) => Changes { accessed: accessed.map(time), modified: modified.map(time), ..Changes::default() },
        };
        // A file without a name any more is changed by the number by which it is open.
        let fid = if matches!(change, Change::Size(_)) { self.writable.get(&id).copied().unwrap_or(Fid(id)) } else { Fid(id) };
        self.client.change(fid, &changes).map_err(errno)
    }

    fn write(&mut self, file: Id, offset: u64, bytes: &[u8]) -> Result<usize, Errno> {
        let fid = self.writer(file).map_err(errno)?;
        self.client.write(fid, offset, bytes).map_err(errno)
    }

    fn status_open(&mut self, file: Id) -> Result<Found, Errno> {
        match self.writable.get(&file).or_else(|| self.open.get(&file)).copied() {
            Some(fid) => self.client.status(fid).map(|status| found_as(Fid(file), status)).map_err(errno),
            None => self.status(file),
        }
    }

    fn allocate(&mut self, file: Id, part: Range<u64>, keeps_size: bool) -> Result<u64, Errno> {
        if self.kind == HOST {
            return Err(Errno::EOPNOTSUPP);
        }
        let fid = self.writer(file).map_err(errno)?;
        self.client.allocate(fid, part, keeps_size).map_err(errno)
    }

    fn punch(&mut self, file: Id, part: Range<u64>) -> Result<u64, Errno> {
        if self.kind == HOST {
            return Err(Errno::EOPNOTSUPP);
        }
        let fid = self.writer(file).map_err(errno)?;
        self.client.punch(fid, part).map_err(errno)
    }

    fn seek(&mut self, file: Id, from: u64, for_data: bool) -> Result<(u64, bool), Errno> {
        if self.kind == HOST {
            return Err(Errno::EOPNOTSUPP);
        }
        let fid = self.reader(file).map_err(errno)?;
        self.client.seek(fid, from, for_data).map_err(errno)
    }

    fn sync(&mut self, file: Id) -> Result<(), Errno> {
        let fid = self.reader(file).map_err(errno)?;
        self.client.sync(fid).map_err(errno)
    }

    fn attribute(&mut self, id: Id, name: &[u8]) -> Result<Vec<u8>, Errno> {
        self.client.attribute(self.named(id)?, name).map_err(errno)
    }

    fn attributes(&mut self, id: Id) -> Result<Vec<u8>, Errno> {
        self.client.attribute(self.named(id)?, b"").map_err(errno)
    }

    fn set_attribute(&mut self, id: Id, name: &[u8], value: Option<&[u8]>, flags: u64) -> Result<(), Errno> {
        let fid = self.named(id)?;
        match value {
            None => self.client.remove_attribute(fid, name).map_err(errno),
            // QEMU would remove it.
            Some([]) if self.kind == HOST => Err(Errno::EOPNOTSUPP),
            Some([]) if flags & XATTR_REPLACE != 0 => {
                self.attribute(id, name)?;
                self.client.set_attribute(fid, name, b"", 0).map_err(errno)
            }
            Some(value) => self.client.set_attribute(fid, name, value, flags as u32).map_err(errno),
        }
    }
}
