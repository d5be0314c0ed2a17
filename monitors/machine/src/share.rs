//! Directories of the environment that a guest mounts. Each operation of the guest's is one of the
//! Common Protocols, so monitors below judge and show it as one of any program.

use crate::files::write_all;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use nacre_machine_9p::{
    Changes, Entry, Errno, FileSystem, Lock, OpenFlags, Path, Status, Time, TimeChange, Tree,
};
use nacre_nest::Services;
use nacre_nest::command::lossy;
use nacre_proto::flags::{
    AT_SYMLINK_NOFOLLOW, LOCK_NONE, LOCK_READ, LOCK_WRITE, O_CREAT, O_DIRECTORY, O_EXCL,
    O_NOFOLLOW, O_NONBLOCK, O_PATH, O_RDONLY, O_RDWR, O_TRUNC, O_WRONLY, UTIME_NOW, UTIME_OMIT,
    XATTR_CREATE, XATTR_REPLACE,
};
use nacre_proto::attribute_values::{self, MAX_VALUE};
use nacre_proto::path::NO_LINKS;
use nacre_proto::structures::{Entries, Status as WireStatus};
use nacre_proto::{directory, file};
use nacre_sys::{OwnedReference, Reference};

/// Bytes of what a server says of a file system, at most.
const ABOUT: usize = 4200;
/// Bytes that one message carries.
const PIECE: usize = 16 << 10;
/// Size of the longest target of a symbolic link.
const LINK: usize = 4096;
/// Kind of a file in a mode.
const KIND: u64 = 0o170000;
const REGULAR: u64 = 0o100000;
const FIFO: u64 = 0o010000;
const SOCKET: u64 = 0o140000;
const DIRECTORY: u64 = 0o040000;
/// Owner or group that stays as it is.
const SAME: u64 = 0xffff_ffff;
/// Error of what is neither a regular file nor a directory.
const NO_DEVICE: Errno = Errno(6);
const FAILED: Errno = Errno(5);
const NOT_ALLOWED: Errno = Errno(1);

/// A directory.
pub struct Share {
    root: OwnedReference,
}

impl Share {
    /// Opens a directory of the environment.
    pub fn open(services: &Services, path: &[u8]) -> Result<Share, String> {
        let opened = directory::open(services.files(), O_PATH | O_DIRECTORY, 0, path);
        let opened = opened.map_err(|errno| format!("cannot share {}: {errno}", lossy(path)))?;
        Ok(Share { root: opened.file })
    }

    fn root(&self) -> Reference {
        self.root.handle()
    }
}

/// Changes of a file: of the open one, if there is one.
impl Share {
    fn set_size(&self, path: &Path, open: Option<&OwnedReference>, size: u64) -> Result<(), Errno> {
        if let Some(file) = open
            && file::set_size(file.handle(), size).is_ok()
        {
            return Ok(());
        }
        // It may be open for reading alone.
        let flags = O_WRONLY | O_NOFOLLOW | O_NONBLOCK;
        let opened = directory::open(self.root(), flags, 0, &marked(path)[..]).map_err(refused)?;
        file::set_size(opened.file.handle(), size).map(drop).map_err(refused)
    }

    /// Asks something of the open file, or of the one at the path, opened as a place.
    fn with_file<T>(
        &self, path: &Path, open: Option<&OwnedReference>,
        ask: impl FnOnce(Reference) -> Result<T, nacre_proto::Errno>,
    ) -> Result<T, Errno> {
        if let Some(file) = open {
            return ask(file.handle()).map_err(refused);
        }
        let opened = directory::open(self.root(), O_PATH | O_NOFOLLOW, 0, &marked(path)[..]).map_err(refused)?;
        ask(opened.file.handle()).map_err(refused)
    }

    fn set_owner(&self, path: &Path, open: Option<&OwnedReference>, [uid, gid]: [u64; 2]) -> Result<(), Errno> {
        match open {
            Some(file) => file::set_owner(file.handle(), uid, gid).map(drop),
            None => directory::set_owner_at(self.root(), uid, gid, AT_SYMLINK_NOFOLLOW, &marked(path)[..]).map(drop),
        }
        .map_err(refused)
    }

    fn set_mode(&self, path: &Path, open: Option<&OwnedReference>, mode: u64) -> Result<(), Errno> {
        match open {
            Some(file) => file::set_mode(file.handle(), mode).map(drop),
            None => directory::set_mode_at(self.root(), mode, AT_SYMLINK_NOFOLLOW, &marked(path)[..]).map(drop),
        }
        .map_err(refused)
    }

    fn set_times(&self, path: &Path, open: Option<&OwnedReference>, [(a, b), (c, d)]: [(u64, u64); 2]) -> Result<(), Errno> {
        match open {
            Some(file) => file::set_times(file.handle(), a, b, c, d).map(drop),
            None => directory::set_times_at(self.root(), a, b, c, d, AT_SYMLINK_NOFOLLOW, &marked(path)[..]).map(drop),
        }
        .map_err(refused)
    }
}

/// Path as the environment takes it: no link on its way is followed.
fn marked(path: &Path) -> Vec<u8> {
    let path = if path.is_empty() { b"." } else { path };
    [&[NO_LINKS], path].concat()
}

/// Two paths, and the size of the first.
fn pair(first: &[u8], second: &[u8]) -> (u64, Vec<u8>) {
    (first.len() as u64, [first, second].concat())
}

fn refused(errno: nacre_proto::Errno) -> Errno {
    Errno(errno.0)
}

fn status(bytes: &[u8]) -> Result<Status, Errno> {
    let found = WireStatus::from_bytes(bytes).ok_or(FAILED)?;
    let time = |seconds, nanoseconds| Time { seconds, nanoseconds };
    Ok(Status {
        device: found.device,
        inode: found.inode,
        mode: found.mode as u32,
        links: found.links,
        uid: found.uid as u32,
        gid: found.gid as u32,
        rdevice: found.rdevice,
        size: found.size,
        block_size: found.block_size,
        blocks: found.blocks,
        accessed: time(found.atime_sec, found.atime_nsec),
        modified: time(found.mtime_sec, found.mtime_nsec),
        changed: time(found.ctime_sec, found.ctime_nsec),
    })
}

/// Seconds and nanoseconds of a change of a time.
fn time(change: Option<TimeChange>) -> (u64, u64) {
    match change {
        None => (0, UTIME_OMIT),
        Some(TimeChange::Now) => (0, UTIME_NOW),
        Some(TimeChange::Set(time)) => (time.seconds, time.nanoseconds),
    }
}

/// Flags of an open. Nothing waits, whatever the file is.
fn flags(wanted: &OpenFlags) -> u64 {
    let access = match (wanted.reads, wanted.writes) {
        (_, false) => O_RDONLY,
        (false, true) => O_WRONLY,
        (true, true) => O_RDWR,
    };
    let bits = [
        (wanted.truncates, O_TRUNC),
        (wanted.is_directory, O_DIRECTORY),
        (wanted.creates.is_some(), O_CREAT | O_EXCL),
    ];
    let more = bits.into_iter().filter(|(is_wanted, _)| *is_wanted).map(|(_, bits)| bits);
    more.fold(access | O_NOFOLLOW | O_NONBLOCK, |flags, bits| flags | bits)
}

impl Tree for Share {
    type Open = OwnedReference;

    fn status(&mut self, path: &Path) -> Result<Status, Errno> {
        let mut bytes = [0; WireStatus::SIZE];
        directory::status_at(self.root(), AT_SYMLINK_NOFOLLOW, &marked(path)[..], &mut bytes[..]).map_err(refused)?;
        status(&bytes)
    }

    fn status_open(&mut self, file: &OwnedReference) -> Result<Status, Errno> {
        let mut bytes = [0; WireStatus::SIZE];
        file::status(file.handle(), &mut bytes[..]).map_err(refused)?;
        status(&bytes)
    }

    fn open(&mut self, path: &Path, wanted: OpenFlags) -> Result<OwnedReference, Errno> {
        let mode = u64::from(wanted.creates.unwrap_or(0));
        let opened = directory::open(self.root(), flags(&wanted), mode, &marked(path)[..]).map_err(refused)?;
        match opened.mode & KIND {
            REGULAR | DIRECTORY => Ok(opened.file),
            // A guest that opens anything else opens its own.
            _ => Err(NO_DEVICE),
        }
    }

    fn read(&mut self, file: &OwnedReference, at: u64, into: &mut [u8]) -> Result<usize, Errno> {
        let mut done = 0;
        for piece in into.chunks_mut(PIECE) {
            let size = piece.len();
            let count = match file::read(file.handle(), at.wrapping_add(done as u64), size as u64, piece) {
                Ok(reply) => (reply.count as usize).min(size),
                Err(errno) if done == 0 => return Err(refused(errno)),
                Err(_) => break,
            };
            done += count;
            if count < size {
                break;
            }
        }
        Ok(done)
    }

    fn write(&mut self, file: &OwnedReference, at: u64, bytes: &[u8]) -> Result<usize, Errno> {
        let (done, end) = write_all(file.handle(), at, bytes);
        match end {
            Err(errno) if done == 0 => Err(refused(errno)),
            _ => Ok(done),
        }
    }

    fn list(
        &mut self, file: &OwnedReference, cookie: u64, each: &mut dyn FnMut(Entry<'_>),
    ) -> Result<u64, Errno> {
        let mut bytes = vec![0; PIECE];
        let reply = directory::list(file.handle(), cookie, PIECE as u64, &mut bytes[..]).map_err(refused)?;
        for entry in Entries(&bytes[..reply.entries.min(PIECE)]) {
            each(Entry { inode: entry.inode, mode: entry.mode, name: entry.name });
        }
        Ok(reply.next)
    }

    fn sync(&mut self, file: &OwnedReference) -> Result<(), Errno> {
        file::sync(file.handle()).map(drop).map_err(refused)
    }

    fn lock(
        &mut self, file: &OwnedReference, lock: Lock, first: u64, last: u64,
    ) -> Result<(), Errno> {
        let kind = match lock {
            Lock::Read => LOCK_READ,
            Lock::Write => LOCK_WRITE,
            Lock::None => LOCK_NONE,
        };
        file::lock(file.handle(), kind, 0, first, last).map(drop).map_err(refused)
    }

    fn change(
        &mut self, path: &Path, open: Option<&OwnedReference>, changes: &Changes,
    ) -> Result<(), Errno> {
        if let Some(size) = changes.size {
            self.set_size(path, open, size)?;
        }
        if changes.uid.is_some() || changes.gid.is_some() {
            self.set_owner(path, open, [changes.uid, changes.gid].map(|id| id.map_or(SAME, u64::from)))?;
        }
        if let Some(mode) = changes.mode {
            self.set_mode(path, open, mode.into())?;
        }
        if changes.accessed.is_some() || changes.modified.is_some() {
            self.set_times(path, open, [changes.accessed, changes.modified].map(time))?;
        }
        Ok(())
    }

    fn attribute(
        &mut self, path: &Path, open: Option<&OwnedReference>, name: &[u8],
    ) -> Result<Vec<u8>, Errno> {
        self.with_file(path, open, |file| attribute_values::read(file, name, MAX_VALUE)).map(|(_, value)| value)
    }

    fn set_attribute(
        &mut self, path: &Path, open: Option<&OwnedReference>, name: &[u8], value: Option<&[u8]>, flags: u32,
    ) -> Result<(), Errno> {
        let flags = u64::from(flags) & (XATTR_CREATE | XATTR_REPLACE);
        self.with_file(path, open, |file| match value {
            Some(value) => attribute_values::set(file, name, value, flags),
            None => file::remove_attribute(file, name).map(drop),
        })
    }

    fn make_directory(&mut self, path: &Path, mode: u32) -> Result<(), Errno> {
        directory::make_directory(self.root(), mode.into(), &marked(path)[..]).map(drop).map_err(refused)
    }

    fn make_node(&mut self, path: &Path, mode: u32, device: u64) -> Result<(), Errno> {
        // A device by this name would be one of the environment, for whoever opens it there.
        if !matches!(u64::from(mode) & KIND, 0 | REGULAR | FIFO | SOCKET) {
            return Err(NOT_ALLOWED);
        }
        directory::make_node(self.root(), mode.into(), device, &marked(path)[..]).map(drop).map_err(refused)
    }

    fn symbolic_link(&mut self, target: &[u8], path: &Path) -> Result<(), Errno> {
        let (size, paths) = pair(target, &marked(path));
        directory::symbolic_link(self.root(), size, &paths[..]).map(drop).map_err(refused)
    }

    fn read_link(&mut self, path: &Path) -> Result<Vec<u8>, Errno> {
        let mut bytes = vec![0; LINK];
        let reply = directory::read_link(self.root(), &marked(path)[..], &mut bytes[..]).map_err(refused)?;
        bytes.truncate(reply.target);
        Ok(bytes)
    }

    fn link(&mut self, from: &Path, to: &Path) -> Result<(), Errno> {
        let (size, paths) = pair(&marked(from), &marked(to));
        directory::link(self.root(), 0, size, &paths[..], self.root()).map(drop).map_err(refused)
    }

    fn rename(&mut self, from: &Path, to: &Path) -> Result<(), Errno> {
        let (size, paths) = pair(&marked(from), &marked(to));
        directory::rename(self.root(), 0, size, &paths[..], self.root()).map(drop).map_err(refused)
    }

    fn remove(&mut self, path: &Path, is_directory: bool) -> Result<(), Errno> {
        directory::remove(self.root(), is_directory.into(), &marked(path)[..]).map(drop).map_err(refused)
    }

    fn file_system(&mut self) -> Result<FileSystem, Errno> {
        let root = self.status(b"")?;
        let found = directory::file_system_status(self.root(), root.device, &mut [0; ABOUT][..]).map_err(refused)?;
        if found.device != root.device || found.block_size == 0 {
            return Err(FAILED);
        }
        Ok(FileSystem {
            block_size: found.block_size,
            blocks: found.blocks,
            free: found.free,
            files: found.files,
            files_free: found.files_free,
        })
    }
}
