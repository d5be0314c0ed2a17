//! An open file. `dup` makes two descriptors of one, so it is shared.

use crate::abi::errno::{EBADF, ESPIPE, Errno};
use crate::abi::file_flags::{MAILBOX, MASTER, O_ACCESS, O_DIRECT, O_NONBLOCK, O_PATH, O_WRONLY, PAIR, S_IFBLK, S_IFCHR, S_IFIFO, S_IFMT};
use crate::abi::file_flags::{S_IFREG, S_IFSOCK};
use crate::services::file_memory;
use crate::services::segment::{Paging, Segment};
use crate::state::files::directory_cursor::Listing;
use crate::state::files::file_owners::Owner;
use crate::state::files::in_process_file::{InProcessFile, UserFaultFile};
use crate::state::files::pipe::{self, End, Side};
use crate::state::files::proc_node::Node;
use crate::state::files::ring_ends::Rings;
use crate::state::files::socket_options::Options;
use crate::state::files::terminal_state::TerminalState;
use crate::state::files::watch::Watch;
use alloc::boxed::Box;
use alloc::format;
use alloc::rc::{Rc, Weak};
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::{Cell, OnceCell, RefCell};
use nacre_proto::{file, parent};
use nacre_proto::flags::SHARE_WRITE;
use nacre_proto::structures::Status;
use nacre_sys::{OwnedReference, Reference};

/// Kind of an open file.
pub enum Kind {
    /// A file, directory or device of a server.
    Remote(OwnedReference),
    /// Stream that the program was born with. The library asks for it when it is first used.
    Stream(u64, OnceCell<OwnedReference>),
    /// An end of a pipe inside the process.
    Pipe(End),
    /// Another file inside the process.
    Local(RefCell<InProcessFile>),
}

/// An open file.
pub struct OpenFile {
    /// Kind of the file.
    pub kind: Kind,
    /// Linux's `st_mode` when it was opened; 0 if that is not known. A call of sockets learns the
    /// mode of a stream.
    pub mode: Cell<u32>,
    /// The flags it was opened with, less those that only say how to open.
    pub flags: Cell<u32>,
    /// Position in the listing of a directory.
    pub listing: RefCell<Listing>,
    /// A thread uses the listing, which is not here meanwhile.
    pub is_listed: Cell<bool>,
    /// Segment with the contents, if they have been mapped.
    pub contents: OnceCell<Rc<Segment>>,
    /// Segment that follows changes of the contents, while it is mapped.
    pub shared: RefCell<Weak<Segment>>,
    /// A counter that other processes have too: where it is now.
    pub moved: OnceCell<OwnedReference>,
    /// Set if the file behaves as `/dev/null`: writes vanish, reads are empty, and no server need
    /// be asked.
    pub is_null: bool,
    /// The path that it was opened by, and the directory where that starts (none: the root).
    pub opened_by: RefCell<Option<(Option<Rc<OpenFile>>, Vec<u8>)>>,
    /// Status of the file in a directory that a named pipe was found by, when that was opened here.
    pub found_by: OnceCell<Box<Status>>,
    /// Number of reads and writes by the process.
    pub used: Cell<u32>,
    /// Rings of a pipe or stream socket that are shared with other processes. They must be dropped
    /// after `kind`.
    pub sharing: Rings,
    /// Options of a socket.
    pub options: Cell<Options>,
    /// Owner, which gets signals on events.
    pub owner: Cell<Owner>,
    /// Notification bit by which the server reports events.
    pub watch: Cell<Watch>,
    /// Terminal that the file is, once the library has asked.
    pub terminal: Cell<TerminalState>,
    /// Serial number of the inheritance that the file was entered in last, and its index there.
    pub inherited_as: Cell<(u64, u64)>,
}

/// Goes along the directories that it was opened by one by one: a chain of them may be as long as a
/// program likes, and the stack is short.
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
            mode: Cell::new(mode),
            flags: Cell::new(flags),
            listing: RefCell::default(),
            is_listed: Cell::new(false),
            is_null: false,
            opened_by: RefCell::new(None),
            found_by: OnceCell::new(),
            used: Cell::new(0),
            contents: OnceCell::new(),
            shared: RefCell::default(),
            moved: OnceCell::new(),
            sharing: Rings::new(is_channel),
            options: Cell::default(),
            watch: Cell::default(),
            terminal: Cell::default(),
            owner: Cell::default(),
            inherited_as: Cell::default(),
        }
    }

    /// Counts a read or a write.
    pub fn use_once(&self) {
        self.used.set(self.used.get().wrapping_add(1));
    }

    /// Returns true if the file was opened for reading.
    pub fn can_read(&self) -> bool {
        self.flags.get() & O_ACCESS != O_WRONLY && self.flags.get() & O_PATH == 0
    }

    /// Returns true if the file was opened for writing.
    pub fn can_write(&self) -> bool {
        self.flags.get() & O_ACCESS != 0 && self.flags.get() & O_PATH == 0
    }

    /// Returns true if calls on the file must not block.
    pub fn is_nonblocking(&self) -> bool {
        self.flags.get() & O_NONBLOCK != 0
    }

    /// Returns true for a regular file.
    pub fn is_regular(&self) -> bool {
        self.mode.get() & S_IFMT == S_IFREG
    }

    /// Returns true if a read that got a full message is followed by another. Pipes and unknown
    /// streams are excluded, because they might block. A terminal never gives so much.
    pub fn is_read_on(&self) -> bool {
        matches!(self.mode.get() & S_IFMT, S_IFREG | S_IFCHR | S_IFBLK)
    }

    /// Returns true for an end of a pseudo-terminal.
    pub fn is_pair(&self) -> bool {
        self.mode.get() & (S_IFMT | PAIR) == S_IFCHR | PAIR
    }

    /// Returns true for the master's end of a pseudo-terminal.
    pub fn is_master(&self) -> bool {
        self.is_pair() && self.mode.get() & MASTER != 0
    }

    /// Returns true for a message queue.
    pub fn is_mailbox(&self) -> bool {
        self.mode.get() & (S_IFMT | MAILBOX) == MAILBOX
    }

    /// Returns true if a server has the file.
    pub fn is_remote(&self) -> bool {
        matches!(self.kind, Kind::Remote(_) | Kind::Stream(..)) || self.moved.get().is_some()
    }

    /// Returns true for a pipe or socket of the channel service, judging by the mode.
    pub fn is_channel(&self) -> bool {
        matches!(self.mode.get() & S_IFMT, S_IFIFO | S_IFSOCK) && matches!(self.kind, Kind::Remote(_))
    }

    /// Returns true if the file's server counts changes.
    pub fn counts_changes(&self) -> bool {
        self.is_channel() || self.is_mailbox()
    }

    /// The reference of the file, if a server holds it.
    pub fn reference(&self) -> Result<Reference, Errno> {
        if let Some(moved) = self.moved.get() {
            return Ok(moved.handle());
        }
        match &self.kind {
            Kind::Remote(reference) => Ok(reference.handle()),
            Kind::Pipe(_) | Kind::Local(_) => Err(ESPIPE),
            Kind::Stream(number, known) => {
                if known.get().is_none() {
                    let stream = parent::stream(Reference::PARENT, *number).map_err(|_| EBADF)?.file;
                    // It was empty just now, and nothing else runs.
                    let _ = known.set(stream);
                }
                known.get().map(|reference| reference.handle()).ok_or(EBADF)
            }
        }
    }

    /// The file's contents as the server holds them, all of them.
    pub fn map_contents(&self) -> Option<Rc<Segment>> {
        if let Some(known) = self.contents.get() {
            return Some(known.clone());
        }
        let reference = self.reference().ok()?;
        let contents = match file_memory::of_file(reference, 0, false) {
            Some(managed) => managed,
            None => {
                let reply = file::map(reference, 0, u64::MAX).ok()?;
                Segment::of_file(reply.region, reply.size)
            }
        };
        // Libraries are mapped in many pieces; a file that can be written may change its size
        // between them.
        if !self.can_write() {
            let _ = self.contents.set(contents.clone());
        }
        Some(contents)
    }

    /// The file's contents as memory that changes with them, of which at least `size` bytes can be
    /// mapped; to be written if the file is open so.
    pub fn share_contents(&self, size: u64) -> Result<Rc<Segment>, Errno> {
        if let Some(known) = self.shared.borrow().upgrade().filter(|known| known.size() >= size) {
            return Ok(known);
        }
        let managed = match file_memory::of_window(self.reference()?, self.can_write())? {
            None if self.is_regular() => file_memory::of_file(self.reference()?, size, self.can_write()),
            window => window,
        };
        if let Some(segment) = managed {
            *self.shared.borrow_mut() = Rc::downgrade(&segment);
            return Ok(segment);
        }
        let share = |access| file::share(self.reference()?, size, access).map(|reply| (reply, access != 0));
        let (reply, writable) = match share(if self.can_write() { SHARE_WRITE } else { 0 }) {
            // A file that is sealed against writes can still be seen.
            Err(Errno::EPERM) if self.can_write() => share(0)?,
            shared => shared?,
        };
        let segment = Segment::common(Some(reply.hold), reply.region, reply.size, writable, Paging::Goes);
        *self.shared.borrow_mut() = Rc::downgrade(&segment);
        Ok(segment)
    }

    /// Makes the file and the memory that shows it hold the same.
    pub fn settle(&self) {
        if let Some(segment) = self.shared.borrow().upgrade() {
            file_memory::settle(&segment);
        }
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

/// Files whose owner is told.
pub type Told = Vec<Weak<OpenFile>>;

/// A timer as the process keeps it, to let it expire.
pub type TimerFile = Weak<OpenFile>;

impl OpenFile {
    /// Returns the node in `/proc`, if the file is one.
    pub fn node(&self) -> Option<Node> {
        let Kind::Local(local) = &self.kind else { return None };
        match &*local.try_borrow().ok()? {
            InProcessFile::Shown(shown) => Some(shown.node),
            _ => None,
        }
    }

    /// Returns what it tells of faults, if it does.
    pub fn faults(&self) -> Option<UserFaultFile> {
        let Kind::Local(local) = &self.kind else { return None };
        match &*local.try_borrow().ok()? {
            InProcessFile::Faults(faults) => Some(*faults),
            _ => None,
        }
    }

    /// The process that it is.
    pub fn process(&self) -> Option<u64> {
        let Kind::Local(local) = &self.kind else { return None };
        match &*local.try_borrow().ok()? {
            InProcessFile::Process(pid) => Some(*pid),
            _ => None,
        }
    }

    /// Returns the text of a link to the file, if no server has to be asked.
    pub fn name(&self) -> Option<String> {
        if self.pipe().is_some() {
            return Some(format!("pipe:[{}]", core::ptr::from_ref(self) as u64 >> 4 & 0xff_ffff));
        }
        let Kind::Local(local) = &self.kind else { return None };
        Some(match &*local.try_borrow().ok()? {
            InProcessFile::Shown(shown) => shown.node.path(),
            InProcessFile::Counter(_) => String::from("anon_inode:[eventfd]"),
            InProcessFile::Timer(_) => String::from("anon_inode:[timerfd]"),
            InProcessFile::Signals(_) => String::from("anon_inode:[signalfd]"),
            InProcessFile::Set(_) => String::from("anon_inode:[eventpoll]"),
            InProcessFile::Process(_) => String::from("anon_inode:[pidfd]"),
            InProcessFile::Faults(_) => String::from("anon_inode:[userfaultfd]"),
        })
    }
}
