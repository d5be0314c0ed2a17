//! The table of descriptors, and the open files behind them. `dup` makes two descriptors of one open file, so an open file is shared.

use crate::abi::errno::{EBADF, EMFILE, Errno};
use crate::calls::files::list_directory::Listing;
use crate::calls::files::poll::Watch;
use crate::calls::sockets::options::Options;
use crate::operations::files::file_signals::Owner;
use crate::operations::files::shared_ring::Rings;
use crate::operations::terminals::job_control::Known;
use crate::services::connections::Segment;
use crate::state::files::in_process_file::Local;
use crate::state::files::pipe::{self, End, Side};
use alloc::rc::{Rc, Weak};
use alloc::vec::Vec;
use core::cell::{Cell, OnceCell, RefCell};
use nacre_sys::OwnedReference;

/// Access mode in the flags of `open`.
pub const O_ACCESS: u32 = 3;
/// Only to write.
pub const O_WRONLY: u32 = 1;
/// To read and write.
pub const O_RDWR: u32 = 2;
/// Writes go to the end.
pub const O_APPEND: u32 = 0o2000;
/// What would wait gives `EAGAIN`.
pub const O_NONBLOCK: u32 = 0o4000;
/// The descriptor is closed by `execve`.
pub const O_CLOEXEC: u32 = 0o2000000;
/// What is written to a pipe stays apart.
pub const O_DIRECT: u32 = 0o40000;
/// Who owns it is told of its events.
pub const O_ASYNC: u32 = 0o20000;
/// Flags that `fcntl` may change at the server.
pub const CHANGEABLE: u32 = O_APPEND | O_NONBLOCK;
/// Only names a place: neither to read nor to write.
pub const O_PATH: u32 = 0o10000000;
/// The kind of file in a mode.
pub const S_IFMT: u32 = 0o170000;
/// Regular file.
pub const S_IFREG: u32 = 0o100000;
/// Directory.
pub const S_IFDIR: u32 = 0o040000;
/// Only a directory is opened.
pub const O_DIRECTORY: u32 = 0o200000;
/// Pipe.
pub const S_IFIFO: u32 = 0o010000;
/// Socket.
pub const S_IFSOCK: u32 = 0o140000;
/// Device of characters.
pub const S_IFCHR: u32 = 0o020000;
const S_IFBLK: u32 = 0o060000;
/// In a mode, beyond what Linux has there: an end of a pseudo-terminal.
pub const PAIR: u32 = 1 << 24;
/// The same, of the master.
pub const MASTER: u32 = 1 << 25;
/// The same: a queue of messages.
pub const MAILBOX: u32 = 1 << 26;

/// What an open file is.
pub enum Kind {
    /// A file, directory or device of a server.
    Remote(OwnedReference),
    /// One of the streams that the program was born with; asked for when it is first used.
    Stream(u64, OnceCell<OwnedReference>),
    /// An end of a pipe inside the process.
    Pipe(End),
    /// Another file inside the process.
    Local(RefCell<Local>),
}

/// An open file.
pub struct OpenFile {
    /// What it is.
    pub kind: Kind,
    /// Linux's `st_mode` when it was opened; 0 if that is not known.
    pub mode: u32,
    /// The flags it was opened with, less those that only say how to open.
    pub flags: Cell<u32>,
    /// How far a directory has been listed.
    pub listing: RefCell<Listing>,
    /// A thread uses the listing, which is not here meanwhile.
    pub is_listed: Cell<bool>,
    /// Its contents, if they have been mapped.
    pub contents: OnceCell<Rc<Segment>>,
    /// The same as memory that changes with them, while it is mapped.
    pub shared: RefCell<Weak<Segment>>,
    /// A counter that other processes have too: where it is now.
    pub moved: OnceCell<OwnedReference>,
    /// What is written is gone, and nothing is ever read: nobody needs to be asked.
    pub is_null: bool,
    /// The path that it was opened by, and the directory where that starts (none: the root).
    pub opened_by: RefCell<Option<(Option<Rc<OpenFile>>, Vec<u8>)>>,
    /// How often the process has read or written it.
    pub used: Cell<u32>,
    /// Of a pipe or stream socket: what is shared of it with other processes. It goes behind `kind`.
    pub sharing: Rings,
    /// What was set of it, if it is a socket.
    pub options: Cell<Options>,
    /// Whom its events are told.
    pub owner: Cell<Owner>,
    /// Who is to tell of it.
    pub watch: Cell<Watch>,
    /// Which terminal it is, once that was asked.
    pub terminal: Cell<Known>,
}

/// Goes along the directories that it was opened by one by one: a chain of them may be as long as a program likes, and the stack is short.
impl Drop for OpenFile {
    fn drop(&mut self) {
        let mut next = self.take_base();
        while let Some(mut base) = next.and_then(Rc::into_inner) {
            next = base.take_base();
        }
    }
}

impl OpenFile {
    /// Takes the directory out that the path starts in.
    fn take_base(&mut self) -> Option<Rc<OpenFile>> {
        self.opened_by.get_mut().take().and_then(|(base, _)| base)
    }

    /// An open file with these flags.
    pub fn new(kind: Kind, mode: u32, flags: u32) -> OpenFile {
        let is_channel = matches!(mode & S_IFMT, S_IFIFO | S_IFSOCK) && matches!(kind, Kind::Remote(_));
        OpenFile {
            kind,
            mode,
            flags: Cell::new(flags),
            listing: RefCell::default(),
            is_listed: Cell::new(false),
            is_null: false,
            opened_by: RefCell::new(None),
            used: Cell::new(0),
            contents: OnceCell::new(),
            shared: RefCell::default(),
            moved: OnceCell::new(),
            sharing: Rings::new(is_channel),
            options: Cell::default(),
            watch: Cell::default(),
            terminal: Cell::default(),
            owner: Cell::default(),
        }
    }

    /// Counts a read or a write.
    pub fn use_once(&self) {
        self.used.set(self.used.get().wrapping_add(1));
    }

    /// Whether it was opened to read.
    pub fn can_read(&self) -> bool {
        self.flags.get() & O_ACCESS != O_WRONLY && self.flags.get() & O_PATH == 0
    }

    /// Whether it was opened to write.
    pub fn can_write(&self) -> bool {
        self.flags.get() & O_ACCESS != 0 && self.flags.get() & O_PATH == 0
    }

    /// Whether calls on it must not wait.
    pub fn is_nonblocking(&self) -> bool {
        self.flags.get() & O_NONBLOCK != 0
    }

    /// Whether it is a regular file.
    pub fn is_regular(&self) -> bool {
        self.mode & S_IFMT == S_IFREG
    }

    /// Whether a read that got a whole message's bytes is followed by another. Not of a pipe or an unknown stream, where that might wait; a terminal
    /// never gives so much.
    pub fn is_read_on(&self) -> bool {
        matches!(self.mode & S_IFMT, S_IFREG | S_IFCHR | S_IFBLK)
    }

    /// Whether it is an end of a pseudo-terminal.
    pub fn is_pair(&self) -> bool {
        self.mode & (S_IFMT | PAIR) == S_IFCHR | PAIR
    }

    /// Whether it is that of the keyboard and the screen.
    pub fn is_master(&self) -> bool {
        self.is_pair() && self.mode & MASTER != 0
    }

    /// Whether it is a queue of messages.
    pub fn is_mailbox(&self) -> bool {
        self.mode & (S_IFMT | MAILBOX) == MAILBOX
    }

    /// Whether a server has it.
    pub fn is_remote(&self) -> bool {
        matches!(self.kind, Kind::Remote(_) | Kind::Stream(..)) || self.moved.get().is_some()
    }

    /// Whether it is a pipe or a socket of the service for them, as far as its mode says.
    pub fn is_channel(&self) -> bool {
        matches!(self.mode & S_IFMT, S_IFIFO | S_IFSOCK) && matches!(self.kind, Kind::Remote(_))
    }

    /// Whether its server counts how often something has changed.
    pub fn counts_changes(&self) -> bool {
        self.is_channel() || self.is_mailbox()
    }

    /// The end of a pipe inside the process that this is.
    pub fn pipe(&self) -> Option<&End> {
        if let Kind::Pipe(end) = &self.kind { Some(end) } else { None }
    }
}

/// A pipe's two open files: to read, to write.
pub fn pipe(flags: u32) -> (OpenFile, OpenFile) {
    let (reader, writer) = pipe::create();
    let open = |end: End| {
        let access = if end.side() == Side::Read { 0 } else { O_WRONLY };
        OpenFile::new(Kind::Pipe(end), 0o010600, flags & O_NONBLOCK | access)
    };
    (open(reader), open(writer))
}

/// The two open files of a pipe that a server has.
pub fn channel((reader, writer): (OwnedReference, OwnedReference), flags: u32) -> (OpenFile, OpenFile) {
    let open = |end: OwnedReference, access: u32| OpenFile::new(Kind::Remote(end), S_IFIFO | 0o600, flags & (O_NONBLOCK | O_DIRECT) | access);
    (open(reader, 0), open(writer, O_WRONLY))
}

/// One descriptor.
struct Slot<F> {
    file: Rc<F>,
    close_on_exec: bool,
}

/// The table: descriptor `n` is entry `n`.
pub struct Descriptors<F = OpenFile> {
    slots: Vec<Option<Slot<F>>>,
    /// Below this one there is no free one.
    taken: usize,
}

impl Descriptors {
    /// What a program has that was told of no others: its streams.
    pub fn standard() -> Result<Descriptors, Errno> {
        let mut descriptors = Descriptors::new();
        for number in 0..3 {
            let stream = OpenFile::new(Kind::Stream(number, OnceCell::new()), 0, O_RDWR);
            descriptors.insert(Rc::new(stream), 0, false, 3)?;
        }
        Ok(descriptors)
    }
}

impl<F> Descriptors<F> {
    /// An empty table.
    pub const fn new() -> Descriptors<F> {
        Descriptors { slots: Vec::new(), taken: 0 }
    }

    /// The entry of a descriptor, of which only 32 bits count.
    fn slot(&self, descriptor: u64) -> Result<&Slot<F>, Errno> {
        self.slots.get(descriptor as u32 as usize).and_then(Option::as_ref).ok_or(EBADF)
    }

    /// The open file behind a descriptor.
    pub fn get(&self, descriptor: u64) -> Result<Rc<F>, Errno> {
        self.slot(descriptor).map(|slot| slot.file.clone())
    }

    /// The same, for a look.
    pub fn look(&self, descriptor: u64) -> Option<&F> {
        self.slot(descriptor).ok().map(|slot| &*slot.file)
    }

    /// Whether the descriptor is closed by `execve`.
    pub fn close_on_exec(&self, descriptor: u64) -> Result<bool, Errno> {
        self.slot(descriptor).map(|slot| slot.close_on_exec)
    }

    /// Sets whether it is.
    pub fn set_close_on_exec(&mut self, descriptor: u64, close_on_exec: bool) -> Result<(), Errno> {
        let slot = self.slots.get_mut(descriptor as u32 as usize).and_then(Option::as_mut).ok_or(EBADF)?;
        slot.close_on_exec = close_on_exec;
        Ok(())
    }

    /// Enters a file at the lowest free descriptor from `lowest` on and below `limit`.
    pub fn insert(&mut self, file: Rc<F>, lowest: usize, close_on_exec: bool, limit: usize) -> Result<u64, Errno> {
        let index = self.free(lowest);
        if index >= limit {
            return Err(EMFILE);
        }
        self.put(index, file, close_on_exec)?;
        if lowest <= self.taken {
            self.taken = index + 1;
        }
        Ok(index as u64)
    }

    /// The lowest free descriptor from `lowest` on.
    fn free(&self, lowest: usize) -> usize {
        let from = lowest.max(self.taken);
        let free = (from..self.slots.len()).find(|index| self.slots[*index].is_none());
        free.unwrap_or(self.slots.len().max(from))
    }

    /// Whether none can be had below `limit`.
    pub fn is_full(&self, limit: usize) -> bool {
        self.free(0) >= limit
    }

    /// `EMFILE` unless so many more descriptors can be had.
    pub fn check_room(&self, count: usize, limit: usize) -> Result<(), Errno> {
        let used = self.slots.iter().take(limit).flatten().count();
        if used + count <= limit { Ok(()) } else { Err(EMFILE) }
    }

    /// Enters a file at `descriptor`, in place of what is there.
    pub fn replace(&mut self, descriptor: u64, file: Rc<F>, close_on_exec: bool, limit: usize) -> Result<(), Errno> {
        let index = descriptor as u32 as usize;
        if index >= limit {
            return Err(EBADF);
        }
        self.put(index, file, close_on_exec)
    }

    fn put(&mut self, index: usize, file: Rc<F>, close_on_exec: bool) -> Result<(), Errno> {
        if index >= self.slots.len() {
            self.slots.try_reserve(index + 1 - self.slots.len()).map_err(|_| EMFILE)?;
            self.slots.resize_with(index + 1, || None);
        }
        self.slots[index] = Some(Slot { file, close_on_exec });
        Ok(())
    }

    /// Closes a descriptor; the file that was open.
    pub fn close(&mut self, descriptor: u64) -> Result<Rc<F>, Errno> {
        let index = descriptor as u32 as usize;
        let slot = self.slots.get_mut(index).and_then(Option::take).ok_or(EBADF)?;
        self.taken = self.taken.min(index);
        Ok(slot.file)
    }

    /// Every descriptor of a range that is open.
    pub fn open_in(&self, first: u64, last: u64) -> Vec<u64> {
        let all = self.slots.iter().enumerate().filter(|(_, slot)| slot.is_some());
        all.map(|(index, _)| index as u64).filter(|index| (first..=last).contains(index)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_free_descriptor_is_taken() {
        let mut table = Descriptors::new();
        for number in 0..3 {
            assert_eq!(table.insert(Rc::new(number), 0, false, 8), Ok(number));
        }
        assert_eq!(*table.close(1).unwrap(), 1);
        assert_eq!(table.get(1).err(), Some(EBADF));
        assert_eq!(table.insert(Rc::new(9), 0, true, 8), Ok(1));
        assert_eq!(table.insert(Rc::new(9), 5, false, 8), Ok(5));
        assert_eq!(table.insert(Rc::new(9), 8, false, 8), Err(EMFILE));
        assert!(!table.is_full(4) && table.is_full(3));
        assert_eq!(table.close_on_exec(1), Ok(true));
        assert_eq!(table.get(0xffff_ffff).err(), Some(EBADF));
        assert_eq!(table.open_in(2, u64::MAX), [2, 5]);
    }
}
