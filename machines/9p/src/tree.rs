//! The files behind a server, as their owner implements them.

use alloc::vec::Vec;
use core::ops::Range;

/// Number of an error, as Linux counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(
    /// The number, from 1 to 4095.
    pub u32,
);

/// Errors that the server itself finds.
impl Errno {
    pub(crate) const NOENT: Errno = Errno(2);
    pub(crate) const TOOBIG: Errno = Errno(7);
    pub(crate) const BADF: Errno = Errno(9);
    pub(crate) const EXIST: Errno = Errno(17);
    pub(crate) const INVAL: Errno = Errno(22);
    pub(crate) const NFILE: Errno = Errno(23);
    pub(crate) const NAMETOOLONG: Errno = Errno(36);
    pub(crate) const OPNOTSUPP: Errno = Errno(95);
    pub(crate) const AGAIN: Errno = Errno(11);
}

/// Path below the shared directory: names with a slash between two, none of which is empty, `.` or
/// `..`. The directory itself has an empty path.
pub type Path = [u8];

/// A moment since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Time {
    /// Seconds.
    pub seconds: u64,
    /// Nanoseconds of the second.
    pub nanoseconds: u64,
}

/// Status of a file, as Linux's `struct stat` has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Device that the file is on.
    pub device: u64,
    /// Number of the file there.
    pub inode: u64,
    /// Kind and permissions.
    pub mode: u32,
    /// Number of names.
    pub links: u64,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Device that the file is.
    pub rdevice: u64,
    /// Size in bytes.
    pub size: u64,
    /// Size for efficient transfers.
    pub block_size: u64,
    /// Number of blocks of 512 bytes.
    pub blocks: u64,
    /// Last read.
    pub accessed: Time,
    /// Last change of the contents.
    pub modified: Time,
    /// Last change of the contents or of the status.
    pub changed: Time,
}

/// Entry of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Number of the file.
    pub inode: u64,
    /// Mode, of which the kind is right.
    pub mode: u32,
    /// Name.
    pub name: &'a [u8],
}

/// Way in which a file is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenFlags {
    /// True if it is open for reading.
    pub reads: bool,
    /// True if it is open for writing.
    pub writes: bool,
    /// True if the file is cut to size 0.
    pub truncates: bool,
    /// True if the file must be a directory.
    pub is_directory: bool,
    /// Permissions of a file that is made and is not there yet.
    pub creates: Option<u32>,
}

/// Change of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeChange {
    /// Present time.
    Now,
    /// Moment that it becomes.
    Set(Time),
}

/// Changes of a status. `None`: no change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// Permissions.
    pub mode: Option<u32>,
    /// Owner.
    pub uid: Option<u32>,
    /// Group.
    pub gid: Option<u32>,
    /// Size.
    pub size: Option<u64>,
    /// Time of the last read.
    pub accessed: Option<TimeChange>,
    /// Time of the last change.
    pub modified: Option<TimeChange>,
}

/// Sizes of a file system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileSystem {
    /// Size of a block.
    pub block_size: u64,
    /// Number of blocks.
    pub blocks: u64,
    /// Free blocks.
    pub free: u64,
    /// Number of files.
    pub files: u64,
    /// Number of files that can be made.
    pub files_free: u64,
}

/// Tree of files. No operation follows a symbolic link.
pub trait Tree {
    /// An open file or directory. It is closed when it is dropped.
    type Open;

    /// Returns the status of the file at a path.
    fn status(&mut self, path: &Path) -> Result<Status, Errno>;

    /// Returns the status of an open file, which may have no name any more.
    fn status_open(&mut self, file: &Self::Open) -> Result<Status, Errno>;

    /// Opens a regular file or a directory.
    fn open(&mut self, path: &Path, flags: OpenFlags) -> Result<Self::Open, Errno>;

    /// Reads bytes. Returns how many; 0 at the end.
    fn read(&mut self, file: &Self::Open, at: u64, into: &mut [u8]) -> Result<usize, Errno>;

    /// Writes bytes. Returns how many.
    fn write(&mut self, file: &Self::Open, at: u64, bytes: &[u8]) -> Result<usize, Errno>;

    /// Calls `each` for some entries of an open directory from a cookie on (0: the first), `.` and
    /// `..` among them or not. Returns the cookie of the next ones; 0: there are no more.
    fn list(
        &mut self, file: &Self::Open, cookie: u64, each: &mut dyn FnMut(Entry<'_>),
    ) -> Result<u64, Errno>;

    /// Returns when what was written is where it is to stay.
    fn sync(&mut self, file: &Self::Open) -> Result<(), Errno>;

    /// Gives blocks to the holes of a part of a regular file, a piece of the work; they read as
    /// zeros. The file grows to the part's end unless it keeps its size. Returns where the rest of
    /// the part begins.
    fn allocate(
        &mut self, _file: &Self::Open, _part: Range<u64>, _keeps_size: bool,
    ) -> Result<u64, Errno> {
        Err(Errno::OPNOTSUPP)
    }

    /// Takes the blocks of a part of a regular file away, whose bytes read as zeros then, a piece
    /// of the work. Returns where the rest of the part begins.
    fn punch(&mut self, _file: &Self::Open, _part: Range<u64>) -> Result<u64, Errno> {
        Err(Errno::OPNOTSUPP)
    }

    /// Looks for the next data of a regular file, or for its next hole, a piece of the work.
    /// Returns where that is; or that it is not before an offset, where to go on. `ENXIO`: there is
    /// none before the end. A hole is at the end.
    fn seek(&mut self, _file: &Self::Open, _from: u64, _for: Part) -> Result<Sought, Errno> {
        Err(Errno::OPNOTSUPP)
    }

    /// Locks a part of an open file, up to and with `last`, or unlocks it. Does not wait.
    fn lock(
        &mut self, file: &Self::Open, lock: Lock, first: u64, last: u64,
    ) -> Result<(), Errno>;

    /// Changes a status: that of the open file, if there is one, else of the file at the path.
    fn change(
        &mut self, path: &Path, file: Option<&Self::Open>, changes: &Changes,
    ) -> Result<(), Errno>;

    /// Returns the value of an extended attribute: of the open file, if there is one, else of the
    /// file at the path. Of an empty name, all names, a zero behind each.
    fn attribute(
        &mut self, _path: &Path, _file: Option<&Self::Open>, _name: &[u8],
    ) -> Result<Vec<u8>, Errno> {
        Err(Errno::OPNOTSUPP)
    }

    /// Sets an extended attribute with the flags of Linux's `setxattr`, or removes it.
    fn set_attribute(
        &mut self, _path: &Path, _file: Option<&Self::Open>, _name: &[u8], _value: Option<&[u8]>,
        _flags: u32,
    ) -> Result<(), Errno> {
        Err(Errno::OPNOTSUPP)
    }

    /// Makes a directory.
    fn make_directory(&mut self, path: &Path, mode: u32) -> Result<(), Errno>;

    /// Makes a file of the kind that the mode says.
    fn make_node(&mut self, path: &Path, mode: u32, device: u64) -> Result<(), Errno>;

    /// Makes a symbolic link.
    fn symbolic_link(&mut self, target: &[u8], path: &Path) -> Result<(), Errno>;

    /// Returns the target of a symbolic link.
    fn read_link(&mut self, path: &Path) -> Result<Vec<u8>, Errno>;

    /// Gives a file one more name.
    fn link(&mut self, from: &Path, to: &Path) -> Result<(), Errno>;

    /// Gives a file another name.
    fn rename(&mut self, from: &Path, to: &Path) -> Result<(), Errno>;

    /// Removes a name.
    fn remove(&mut self, path: &Path, is_directory: bool) -> Result<(), Errno>;

    /// Returns the sizes of the file system.
    fn file_system(&mut self) -> Result<FileSystem, Errno>;
}

/// Kind of part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Bytes that were written.
    Data,
    /// A part without blocks, or whose blocks were never written.
    Hole,
}

/// Result of a look for a part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sought {
    /// Here it begins.
    At(u64),
    /// Offset before which it is not.
    Behind(u64),
}

/// Kind of lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// Lock for reading, which others may have too.
    Read,
    /// Lock that nobody else may have.
    Write,
    /// Absence of a lock.
    None,
}
