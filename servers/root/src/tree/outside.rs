//! The other sides: directories of somebody else's, such as the machine's owner, around which a
//! tree is or which it has in it; and what is known of them.

use super::node::{Away, Directory, Id, Node, Time};
use crate::table::Key;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::rc::Rc;
use alloc::vec::Vec;
use core::cell::Cell;
use core::ops::Range;
use nacre_9p::Capacity;
use nacre_proto::Errno;

/// A file of the other side's.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// Number of the file.
    pub id: Id,
    /// Number that all its names lead to.
    pub inode: u64,
    /// Kind and permissions.
    pub mode: u32,
    /// Owner and group.
    pub owner: (u32, u32),
    /// Number of names.
    pub links: u32,
    /// Device number, for devices.
    pub device: u64,
    /// Size in bytes.
    pub size: u64,
    /// Blocks of 512 bytes that it takes.
    pub blocks: u64,
    /// Last read, last change of the content, last change.
    pub times: [Time; 3],
}

/// The other side.
pub trait Origin {
    /// The directory that everything lies in.
    fn root(&mut self) -> Result<Found, Errno>;
    /// Returns the kind of its file system, as Linux calls it.
    fn kind(&self) -> &'static [u8];
    /// Returns the names by which a number was found, from the outermost directory on. `None`: they
    /// are not known any more.
    fn names_to(&self, id: Id) -> Option<Vec<Rc<[u8]>>>;
    /// Returns true if nobody but this side changes anything there.
    fn has_one_client(&self) -> bool {
        false
    }
    /// Returns the room of its file system.
    fn capacity(&mut self) -> Result<Capacity, Errno>;
    /// Finds what a name leads to.
    fn find(&mut self, directory: Id, name: &[u8]) -> Result<Option<Found>, Errno>;
    /// Returns the names in a directory, without `.` and `..`.
    fn names(&mut self, directory: Id) -> Result<Vec<Vec<u8>>, Errno>;
    /// Returns the target of a symbolic link.
    fn target(&mut self, link: Id) -> Result<Vec<u8>, Errno>;
    /// Reads bytes of a regular file; none at the end.
    fn read(&mut self, file: Id, offset: u64, into: &mut [u8]) -> Result<usize, Errno>;
    /// The number will not be used any more.
    fn forget(&mut self, id: Id);
    /// Tells of a file what is so now.
    fn status(&mut self, id: Id) -> Result<Found, Errno>;
    /// Makes a file of the kind that its mode says.
    fn make(&mut self, directory: Id, name: &[u8], new: &New<'_>) -> Result<Found, Errno>;
    /// Gives a file another name.
    fn link(&mut self, file: Id, directory: Id, name: &[u8]) -> Result<(), Errno>;
    /// Moves a name, over whatever has the new one.
    fn rename(&mut self, from: (Id, &[u8]), to: (Id, &[u8])) -> Result<(), Errno>;
    /// Removes a name, of an empty directory if `is_directory`.
    fn remove(&mut self, directory: Id, name: &[u8], is_directory: bool) -> Result<(), Errno>;
    /// Makes sure that a file can be read and written when it has no name any more.
    fn hold(&mut self, file: Id);
    /// The file has lost its name, or another file has taken it: from now on the file is read and
    /// written only by what was opened before.
    fn lose(&mut self, file: Id);
    /// The file has the number `new` too, and `old` will not be used any more. What is open stays
    /// open.
    fn renumber(&mut self, old: Id, new: Id);
    /// Opens a file to be written, and keeps it open until [`Origin::stop_writing`].
    fn start_writing(&mut self, file: Id) -> Result<(), Errno>;
    /// Lets the file be closed: nobody will write to it any more.
    fn stop_writing(&mut self, file: Id);
    /// Changes attributes.
    fn change(&mut self, id: Id, change: Change) -> Result<(), Errno>;
    /// Writes bytes to a regular file; returns how many.
    fn write(&mut self, file: Id, offset: u64, bytes: &[u8]) -> Result<usize, Errno>;
    /// Returns the status of a file that may have no name, but is open.
    fn status_open(&mut self, file: Id) -> Result<Found, Errno> {
        self.status(file)
    }
    /// Gives blocks to the holes of a part of a regular file, a piece of the work. Returns where
    /// the rest begins.
    fn allocate(&mut self, _file: Id, _part: Range<u64>, _keeps_size: bool) -> Result<u64, Errno> {
        Err(Errno::EOPNOTSUPP)
    }
    /// Takes the blocks of a part of a regular file away, a piece of the work. Returns where the
    /// rest begins.
    fn punch(&mut self, _file: Id, _part: Range<u64>) -> Result<u64, Errno> {
        Err(Errno::EOPNOTSUPP)
    }
    /// Looks for the next data of a regular file from an offset on, or for its next hole, a piece
    /// of the work. Returns where that is, and true; or where to go on, and false. `EOPNOTSUPP`: it
    /// is not known.
    fn seek(&mut self, _file: Id, _from: u64, _for_data: bool) -> Result<(u64, bool), Errno> {
        Err(Errno::EOPNOTSUPP)
    }
    /// Waits until what was written to a regular file lasts.
    fn sync(&mut self, file: Id) -> Result<(), Errno>;
    /// Returns the value of an extended attribute.
    fn attribute(&mut self, id: Id, name: &[u8]) -> Result<Vec<u8>, Errno>;
    /// Returns the names of all extended attributes, a zero behind each.
    fn attributes(&mut self, id: Id) -> Result<Vec<u8>, Errno>;
    /// Sets an extended attribute with flags of `file.set_attribute`, or removes it.
    fn set_attribute(&mut self, id: Id, name: &[u8], value: Option<&[u8]>, flags: u64) -> Result<(), Errno>;
}

/// A file to be made.
#[derive(Clone, Copy, Debug)]
pub struct New<'a> {
    /// Kind and permissions.
    pub mode: u32,
    /// Target, for symbolic links.
    pub target: &'a [u8],
    /// Device number, for devices.
    pub device: u64,
}

/// A change of an attribute.
#[derive(Clone, Copy, Debug)]
pub enum Change {
    /// Permissions.
    Mode(u32),
    /// Owner and group, where given.
    Owner(Option<u32>, Option<u32>),
    /// Size in bytes.
    Size(u64),
    /// Last read and last change of the content, where given.
    Times(Option<Time>, Option<Time>),
}

/// Fate of changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changes {
    /// Kept here, in memory.
    Kept,
    /// Refused.
    Refused,
    /// Passed to the other side, which changes by itself, too.
    Passed,
}

/// Names that are looked for in vain and remembered, at most.
const MAX_ABSENT: usize = 4096;
/// The other side, and what is known of it.
pub(super) struct Outside {
    pub(super) origin: Box<dyn Origin>,
    pub(super) changes: Changes,
    /// Names that it does not have.
    absent: BTreeMap<Key, BTreeSet<Vec<u8>>>,
    absent_count: usize,
    /// Nodes by the other side's inode number, of files that have several names.
    pub(super) by_inode: BTreeMap<u64, Key>,
}

/// All other sides.
#[derive(Default)]
pub(super) struct Sides {
    /// The sides, by their numbers.
    all: Vec<Outside>,
    /// Bytes of long targets of links that were found.
    pub(super) long_targets: usize,
    /// Directories that are a side's outermost.
    mounts: Vec<Key>,
    /// Directories that lead to those: they stay, whatever other sides say.
    ways: Vec<Key>,
    /// Files that are this side's since before the first program, if changes of a side are kept.
    own: BTreeSet<Key>,
    /// Name that a walk did not find here, and that a side may have.
    pub(super) missed: Cell<Option<(Key, Vec<u8>)>>,
}

impl Sides {
    /// Adds one whose outermost directory is this node. Returns its number.
    pub(super) fn add(&mut self, outside: Outside, mount: Key) -> Option<u8> {
        let side = u8::try_from(self.all.len()).ok()?;
        self.all.push(outside);
        self.mounts.push(mount);
        Some(side)
    }

    /// Returns true if there is none.
    pub(super) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The side that a file is of.
    pub(super) fn of(&self, away: Away) -> Option<&Outside> {
        self.all.get(usize::from(away.side))
    }

    /// Number of the first side from this one on that has its own files, and not copies.
    pub(super) fn next_apart(&self, from: u8) -> Option<u8> {
        (usize::from(from)..).zip(self.all.get(usize::from(from)..)?).find(|(_, outside)| outside.changes != Changes::Kept).and_then(|(side, _)| u8::try_from(side).ok())
    }

    /// The outermost directory of a side.
    pub(super) fn mount(&self, side: u8) -> Option<Key> {
        self.mounts.get(usize::from(side)).copied()
    }

    /// The side that a file is of, to be asked.
    pub(super) fn of_mut(&mut self, away: Away) -> Option<&mut Outside> {
        self.all.get_mut(usize::from(away.side))
    }

    /// The outermost directories of all sides.
    pub(super) fn mounts(&self) -> &[Key] {
        &self.mounts
    }

    /// Returns true for a side's outermost directory.
    pub(super) fn is_mount(&self, key: Key) -> bool {
        self.mounts.contains(&key)
    }

    /// A directory leads to the outermost one of a side's.
    pub(super) fn add_way(&mut self, key: Key) {
        self.ways.push(key);
    }

    /// Returns true for a side's outermost directory, and for those that lead there.
    pub(super) fn is_on_way(&self, key: Key) -> bool {
        self.is_mount(key) || self.ways.contains(&key)
    }

    /// Sets which files are this side's since before the first program.
    pub(super) fn set_own(&mut self, own: BTreeSet<Key>) {
        self.own = own;
    }

    /// Returns true for a file that is this side's since before the first program.
    pub(super) fn is_own(&self, key: Key) -> bool {
        self.own.contains(&key)
    }

    /// A walk did not find a name in a directory of a side's, which may have it.
    pub(super) fn miss(&self, away: Away, directory: Key, body: &Directory, name: &[u8]) {
        let may_have = |outside: &Outside| outside.may_have(body, name) && !outside.is_absent(directory, name);
        if self.of(away).is_some_and(may_have) {
            let first = self.missed.take().unwrap_or_else(|| (directory, name.to_vec()));
            self.missed.set(Some(first));
        }
    }

    /// Forgets what sides that change by themselves did not have a moment ago.
    pub(super) fn forget_absent(&mut self) {
        self.all.iter_mut().filter(|outside| outside.changes == Changes::Passed).for_each(Outside::clear_absent);
    }
}

impl Node {
    /// Takes over what the other side says of it.
    pub(super) fn take_status(&mut self, found: &Found) {
        self.outside_stamp = Some((found.times[1], found.size));
        (self.mode, self.outside_links, (self.uid, self.gid)) = (found.mode, found.links, found.owner);
        self.outside_blocks = found.blocks;
        [self.accessed, self.modified, self.changed] = found.times;
    }
}

impl Outside {
    /// The other side, of which nothing is known yet.
    pub(super) fn new(origin: Box<dyn Origin>, changes: Changes) -> Outside {
        Outside { origin, changes, absent: BTreeMap::new(), absent_count: 0, by_inode: BTreeMap::new() }
    }

    /// Puts a new server in the place of the one that was there, of which nothing is known yet.
    pub(super) fn replace(&mut self, origin: Box<dyn Origin>) {
        self.origin = origin;
        self.clear_absent();
    }

    /// Returns true for a name that the other side did not have.
    pub(super) fn is_absent(&self, directory: Key, name: &[u8]) -> bool {
        self.absent.get(&directory).is_some_and(|names| names.contains(name))
    }

    /// Returns true if the other side may have a name that a directory of its lacks.
    fn may_have(&self, body: &Directory, name: &[u8]) -> bool {
        (!body.is_listed || self.changes_by_itself()) && !body.is_removed(name)
    }

    /// Returns true if others may change what is there, and nobody says so.
    pub(super) fn changes_by_itself(&self) -> bool {
        self.changes == Changes::Passed && !self.origin.has_one_client()
    }

    /// Forgets what it did not have.
    fn clear_absent(&mut self) {
        self.absent.clear();
        self.absent_count = 0;
    }

    /// Notes that the other side does not have a name.
    pub(super) fn note_absent(&mut self, directory: Key, name: Vec<u8>) {
        if self.absent_count >= MAX_ABSENT {
            self.clear_absent();
        }
        self.absent_count += usize::from(self.absent.entry(directory).or_default().insert(name));
    }
}
