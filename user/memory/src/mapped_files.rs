//! Dataspaces that show files. All who open the same file share one dataspace: it goes when the
//! last of them has closed it and nobody has it attached.
//!
//! Pages come from the file when they are touched. Changed ones are written back when somebody asks
//! for it, when their frames are wanted, after a quiet moment, and at the end. What others write to
//! the file is seen in pages that are not in memory, and in all after `file.sync`.

use crate::keeper::{Keeper, errno, pages};
use crate::pools::NO_POOL;
use crate::remote_file::RemoteFile;
use crate::words::{READ, SHARED};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::ops::Range;
use nacre_abi::PAGE_SIZE;
use nacre_abi::rights::REFERENCE_USE;
use nacre_dataspaces::store::Files;
use nacre_proto::dataspace::create;
use nacre_proto::server::Output;
use nacre_proto::structures::Status as FileStatus;
use nacre_proto::{Errno, HandlerResult, Request, directory};
use nacre_dataspaces::Store as _;
use nacre_sys::{OwnedPort, OwnedReference, Reference, Status};

/// Device and number of a file.
type Identity = (u64, u64);
/// Size and time of the last change: whoever changes a file changes it.
type Stamp = (u64, u64, u64);

/// A file that is shown.
struct Shown {
    /// Identity, if the server of files knows the file: others may say anything.
    identity: Option<Identity>,
    stamp: Stamp,
    /// References by which it was opened.
    openers: usize,
}

/// Somebody's reference to a file's dataspace.
struct Opener {
    dataspace: u64,
    /// The pool through which the file was opened. Copies count in it.
    pool: u64,
    _port: OwnedPort,
}

/// Files by their dataspaces.
#[derive(Default)]
pub(crate) struct MappedFiles {
    /// The manager of files, if there is one.
    pub(crate) manager: Option<usize>,
    /// Something may have changed since it was written back.
    pub(crate) changed: bool,
    /// The server whose word for what is the same file is taken.
    pub(crate) server: Option<OwnedReference>,
    by_identity: BTreeMap<Identity, u64>,
    shown: BTreeMap<u64, Shown>,
    openers: BTreeMap<u64, Opener>,
    /// Dataspaces that nobody has open, and that copies take pages from.
    waiting: BTreeSet<u64>,
}

impl MappedFiles {
    /// The dataspace that was opened with this key.
    pub(crate) fn opened(&self, key: u64) -> Option<u64> {
        self.openers.get(&key).map(|opener| opener.dataspace)
    }

    /// The pool through which the dataspace was opened with this key.
    pub(crate) fn pool(&self, key: u64) -> Option<u64> {
        self.openers.get(&key).map(|opener| opener.pool)
    }

    /// The identity of an open file. `None`: the server of files does not know it, so it is like no
    /// other. No name is made, since a file is no folder for one.
    fn identify(&self, file: Reference, status: &FileStatus) -> Option<Identity> {
        let asked = directory::link(self.server.as_ref()?.handle(), 0, 1, &b"xx"[..], file);
        asked.is_err_and(|errno| errno == Errno::ENOTDIR).then_some((status.device, status.inode))
    }

    /// Returns true if a dataspace shows a file.
    pub(crate) fn is_file(&self, dataspace: u64) -> bool {
        self.shown.contains_key(&dataspace)
    }
}

fn stamp(status: &FileStatus) -> Stamp {
    (status.size, status.mtime_sec, status.mtime_nsec)
}

impl Keeper {
    /// Finds the manager of files, whose files `server` knows. Returns false if there is none.
    pub(crate) fn serve_files(&mut self, server: Reference) -> Result<bool, Status> {
        self.files.manager = (0..self.spaces.managers()).find(|manager| self.spaces.bank(*manager).is_some_and(|bank| bank.store().is_origin()));
        self.files.server = Some(OwnedReference::copy_of(server, REFERENCE_USE)?);
        Ok(self.files.manager.is_some())
    }

    /// The open file that a dataspace shows.
    fn contents(&mut self, dataspace: u64) -> Result<&mut RemoteFile, Errno> {
        let space = self.dataspaces.get(&dataspace).ok_or(Errno::EIO)?.space;
        self.opened_files()?.contents(space).ok_or(Errno::EIO)
    }

    fn opened_files(&mut self) -> Result<&mut Files<RemoteFile>, Errno> {
        let bank = self.files.manager.and_then(|manager| self.spaces.bank_mut(manager)).ok_or(Errno::ENOENT)?;
        bank.store_mut().as_any().and_then(|store| store.downcast_mut()).ok_or(Errno::ENOENT)
    }

    /// `create` with an open file: its dataspace, which shows the first `size` bytes at least, or
    /// all that there are. Who cannot write the file gets a reference that only reads.
    pub(crate) fn create_of_file(&mut self, request: &mut Request<'_>, size: u64) -> HandlerResult<create::Output> {
        let reference = request.keep(0)?;
        let asked = OwnedReference::copy_of(reference.handle(), REFERENCE_USE)?;
        let (file, status) = RemoteFile::open(reference)?;
        let identity = self.files.identify(asked.handle(), &status);
        let count = pages(if size == 0 { status.size.max(1) } else { size })?;
        let kind = if file.is_writable() { SHARED } else { SHARED | READ };
        let dataspace = match identity.and_then(|identity| self.files.by_identity.get(&identity)).copied() {
            Some(known) => self.open_again(known, file, &status, count)?,
            None => self.show_file(file, identity, &status, count)?,
        };
        let opened = self.pool(request).and_then(|pool| self.add_opener(dataspace, pool, kind));
        if opened.is_err() {
            self.end_unused_file(dataspace);
        }
        create::Output { size: self.capacity_of(dataspace)?, dataspace: opened?.into() }.now()
    }

    fn add_opener(&mut self, dataspace: u64, pool: u64, kind: u64) -> Result<OwnedReference, Errno> {
        if self.files.openers.len() >= crate::keeper::MAX_DATASPACES {
            return Err(Errno::ENOMEM);
        }
        let key = self.key();
        let port = OwnedPort::new(key | kind, self.set.handle())?;
        let reference = port.new_reference(REFERENCE_USE)?;
        self.files.openers.insert(key, Opener { dataspace, pool, _port: port });
        if let Some(shown) = self.files.shown.get_mut(&dataspace) {
            shown.openers += 1;
        }
        Ok(reference)
    }

    fn show_file(&mut self, file: RemoteFile, identity: Option<Identity>, status: &FileStatus, count: u64) -> Result<u64, Errno> {
        let manager = self.files.manager.ok_or(Errno::ENOENT)?;
        let key = self.add_dataspace(NO_POOL, count, |spaces| spaces.create(manager, count))?;
        let space = self.dataspaces.get(&key).map_or(0, |dataspace| dataspace.space);
        self.opened_files()?.add(space, count, file);
        if let Some(identity) = identity {
            self.files.by_identity.insert(identity, key);
        }
        self.files.shown.insert(key, Shown { identity, stamp: stamp(status), openers: 0 });
        Ok(key)
    }

    /// Opens a file that is shown for one more. What others have changed since is seen from now on.
    fn open_again(&mut self, key: u64, file: RemoteFile, status: &FileStatus, count: u64) -> Result<u64, Errno> {
        self.contents(key)?.adopt(file);
        if self.files.shown.get(&key).is_some_and(|shown| shown.stamp != stamp(status)) {
            self.refresh(key)?;
        } else {
            self.write_back(key)?;
        }
        let now = self.capacity_of(key)? / PAGE_SIZE;
        if count > now {
            self.set_pages(key, count)?;
            let space = self.dataspaces.get(&key).map_or(0, |dataspace| dataspace.space);
            self.opened_files()?.set_count(space, count);
        }
        Ok(key)
    }

    /// Writes changed pages back.
    fn write_back(&mut self, key: u64) -> Result<(), Errno> {
        let pages = self.pages_of(self.dataspaces.get(&key).ok_or(Errno::EIO)?)?;
        let bank = self.files.manager.and_then(|manager| self.spaces.bank_mut(manager)).ok_or(Errno::EIO)?;
        if bank.write_back(pages).map_err(|_| Errno::EIO)? {
            self.note_stamp(key);
        }
        Ok(())
    }

    fn note_stamp(&mut self, key: u64) {
        let Ok(status) = self.contents(key).and_then(RemoteFile::status) else { return };
        if let Some(shown) = self.files.shown.get_mut(&key) {
            shown.stamp = stamp(&status);
        }
    }

    /// Writes changed pages back, and lets all be read again.
    fn refresh(&mut self, key: u64) -> Result<(), Errno> {
        self.write_back(key)?;
        self.reread(key, 0)
    }

    /// Pages from a byte on are read again when somebody touches them.
    fn reread(&mut self, key: u64, from: u64) -> Result<(), Errno> {
        let pages = self.pages_of(self.dataspaces.get(&key).ok_or(Errno::EIO)?)?;
        let from = pages.start.saturating_add(from / PAGE_SIZE).min(pages.end);
        let bank = self.files.manager.and_then(|manager| self.spaces.bank_mut(manager)).ok_or(Errno::EIO)?;
        bank.forget(from..pages.end).map_err(errno)
    }

    /// Writes back what was changed in all files.
    pub(crate) fn write_back_all(&mut self) -> Result<(), Errno> {
        if !core::mem::take(&mut self.files.changed) {
            return Ok(());
        }
        let all: Vec<u64> = self.files.shown.keys().copied().collect();
        all.into_iter().map(|key| self.write_back(key)).fold(Ok(()), Result::and)
    }

    /// A reference by which a file was opened has gone. Returns false if the word is of none.
    pub(crate) fn close_file(&mut self, word: u64) -> bool {
        let Some(opener) = self.files.openers.remove(&crate::words::key(word)) else { return false };
        if let Some(shown) = self.files.shown.get_mut(&opener.dataspace) {
            shown.openers -= 1;
        }
        self.end_unused_file(opener.dataspace);
        true
    }

    /// Somebody has a file no longer: what was changed is written back. The dataspace ends when
    /// nobody has it, and no copy takes pages from it. What cannot be written back then is lost.
    pub(crate) fn end_unused_file(&mut self, key: u64) {
        let Some(openers) = self.files.shown.get(&key).map(|shown| shown.openers) else { return };
        let _ = self.write_back(key);
        if openers > 0 || self.attachments.of(key).next().is_some() {
            return;
        }
        if self.dataspaces.get(&key).is_some_and(|dataspace| self.spaces.is_copied(dataspace.space)) {
            self.files.waiting.insert(key);
        } else {
            self.remove_dataspace(key);
        }
    }

    /// A dataspace takes no pages from others any more: files that were there for it alone end.
    pub(crate) fn end_waiting_files(&mut self) {
        for key in core::mem::take(&mut self.files.waiting) {
            self.end_unused_file(key);
        }
    }

    /// Gives a part of a file, in bytes, to the copies that lack it, before it changes.
    fn give_copies(&mut self, key: u64, part: Range<u64>) -> Result<(), Errno> {
        let pages = self.pages_of(self.dataspaces.get(&key).ok_or(Errno::EIO)?)?;
        let place = |bytes: u64| pages.start.saturating_add(bytes).min(pages.end);
        self.spaces.give_copies(place(part.start / PAGE_SIZE)..place(part.end.div_ceil(PAGE_SIZE))).map_err(errno)
    }

    /// A dataspace goes, and shows no file any more.
    pub(crate) fn forget_file(&mut self, key: u64) {
        let Some(shown) = self.files.shown.remove(&key) else { return };
        if let Some(identity) = shown.identity {
            self.files.by_identity.remove(&identity);
        }
        let space = self.dataspaces.get(&key).map_or(0, |dataspace| dataspace.space);
        if let Ok(files) = self.opened_files() {
            files.remove(space);
        }
    }
}

/// Protocol `file` at attachments of files. It goes to the files themselves, after what was changed
/// in memory, and before what is read there again.
impl Keeper {
    /// Status of the file.
    pub(crate) fn file_status(&mut self, dataspace: u64) -> Result<FileStatus, Errno> {
        self.contents(dataspace)?.status()
    }

    /// Reads bytes: how many.
    pub(crate) fn read_file(&mut self, dataspace: u64, offset: u64, into: &mut [u8]) -> Result<u64, Errno> {
        self.write_back(dataspace)?;
        self.contents(dataspace)?.read_at(offset, into)
    }

    /// Writes bytes: how many.
    pub(crate) fn write_file(&mut self, dataspace: u64, offset: u64, from: &[u8]) -> Result<u64, Errno> {
        self.write_back(dataspace)?;
        self.give_copies(dataspace, offset..offset.saturating_add(from.len() as u64))?;
        let written = self.contents(dataspace)?.write_at(offset, from);
        self.reread(dataspace, offset)?;
        self.note_stamp(dataspace);
        written
    }

    /// Makes the file so long. Nobody has pages behind its end any more.
    pub(crate) fn cut_file(&mut self, dataspace: u64, size: u64) -> Result<(), Errno> {
        self.write_back(dataspace)?;
        self.give_copies(dataspace, size..u64::MAX)?;
        let done = self.contents(dataspace)?.set_size(size);
        self.reread(dataspace, size)?;
        self.note_stamp(dataspace);
        done
    }

    /// Writes back what was changed, and lets all be read again.
    pub(crate) fn sync_file(&mut self, dataspace: u64) -> Result<(), Errno> {
        self.refresh(dataspace)?;
        match self.contents(dataspace)?.sync() {
            // Such a file is where it is to stay.
            Err(Errno::ENOSYS | Errno::EINVAL) => Ok(()),
            done => done,
        }
    }

    /// The file that an attachment shows, if it shows one.
    pub(crate) fn file_of(&self, attachment: u64) -> Option<u64> {
        self.attachments.get(attachment).map(|open| open.dataspace).filter(|dataspace| self.files.is_file(*dataspace))
    }
}
