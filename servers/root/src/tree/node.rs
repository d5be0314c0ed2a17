//! A node of the file tree: what Linux calls an inode.

use super::attributes::Attributes;
use super::content::Content;
use crate::table::Key;
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

/// A moment, since 1970.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time {
    /// Whole seconds.
    pub seconds: i64,
    /// The rest.
    pub nanoseconds: u32,
}

/// Number by which the other side knows a file.
pub type Id = u32;

/// A file of another side's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Away {
    /// Number of the side.
    pub side: u8,
    /// Number by which it knows the file.
    pub id: Id,
}

/// Bytes of a name or of a symbolic link; those of boot files stay where they are.
pub type Name = Cow<'static, [u8]>;

/// Bits of a mode that say what a node is, and their values.
pub mod format {
    #![allow(missing_docs)]
    pub const MASK: u32 = 0o170_000;
    pub const SOCKET: u32 = 0o140_000;
    pub const LINK: u32 = 0o120_000;
    pub const REGULAR: u32 = 0o100_000;
    pub const BLOCK: u32 = 0o060_000;
    pub const DIRECTORY: u32 = 0o040_000;
    pub const CHARACTER: u32 = 0o020_000;
    pub const FIFO: u32 = 0o010_000;
}

/// An entry of a directory.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Node that the name leads to.
    pub node: Key,
    /// Place in the order of listing. Entries keep their place when others go.
    pub cookie: u64,
    /// Payer of the name.
    pub payer: u64,
}

/// The entries of a directory, without `.` and `..`.
#[derive(Debug)]
pub struct Directory {
    /// The directory around it; the root's is itself.
    pub parent: Key,
    /// Entries by name.
    entries: BTreeMap<Name, Entry>,
    /// The names and nodes again, by cookie: a listing goes on where it stopped, and looks for
    /// no name.
    order: BTreeMap<u64, (Name, Key)>,
    next_cookie: u64,
    /// All names that the other side has here are known.
    pub is_listed: bool,
    /// Names that the other side has, and that were removed here.
    removed: BTreeSet<Name>,
}

impl Directory {
    /// An empty directory inside `parent`.
    pub fn new(parent: Key) -> Directory {
        Directory { parent, entries: BTreeMap::new(), order: BTreeMap::new(), next_cookie: FIRST_COOKIE, is_listed: false, removed: BTreeSet::new() }
    }

    /// Entries by name.
    pub fn entries(&self) -> &BTreeMap<Name, Entry> {
        &self.entries
    }

    /// Adds an entry for which `payer` pays, or puts it in the place of the one with this name.
    /// Returns its cookie.
    pub fn insert(&mut self, name: Name, node: Key, payer: u64) -> u64 {
        let cookie = self.next_cookie;
        self.next_cookie += 1;
        self.order.insert(cookie, (name.clone(), node));
        if let Some(replaced) = self.entries.insert(name, Entry { node, cookie, payer }) {
            self.order.remove(&replaced.cookie);
        }
        cookie
    }

    /// Takes an entry out.
    pub fn remove(&mut self, name: &[u8]) -> Option<Entry> {
        let entry = self.entries.remove(name)?;
        self.order.remove(&entry.cookie);
        Some(entry)
    }

    /// Returns the names that are not among these.
    pub fn names_without(&self, names: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let there: BTreeSet<&[u8]> = names.iter().map(|name| &name[..]).collect();
        self.entries.keys().filter(|name| !there.contains(&name[..])).map(|name| name.to_vec()).collect()
    }

    /// Hides a name that the other side has.
    pub fn note_removed(&mut self, name: Name) {
        self.removed.insert(name);
    }

    /// Returns the names that the other side has, and that were removed here.
    pub fn removed(&self) -> impl Iterator<Item = &Name> {
        self.removed.iter()
    }

    /// Returns true for a name that the other side has, and that was removed here.
    pub fn is_removed(&self, name: &[u8]) -> bool {
        self.removed.contains(name)
    }

    /// Lets an entry lead to another node. Returns its cookie.
    pub fn replace(&mut self, name: &[u8], node: Key) -> Option<u64> {
        let entry = self.entries.get_mut(name)?;
        entry.node = node;
        let cookie = entry.cookie;
        if let Some((_, known)) = self.order.get_mut(&cookie) {
            *known = node;
        }
        Some(cookie)
    }

    /// Entries from a cookie on, in the order of cookies.
    pub fn from(&self, cookie: u64) -> impl Iterator<Item = (u64, &Name, Key)> {
        self.order.range(cookie..).map(|(cookie, (name, node))| (*cookie, name, *node))
    }

    /// The name with this cookie, if it leads to `node`.
    pub fn name_of(&self, node: Key, cookie: u64) -> Option<&Name> {
        self.order.get(&cookie).filter(|(_, known)| *known == node).map(|(name, _)| name)
    }
}

/// Bytes that a directory occupies, as `stat` and `du` show it: one block of a usual file system.
pub const DIRECTORY_SIZE: u64 = 4096;

/// Cookies of `.` and `..` are 1 and 2.
pub const FIRST_COOKIE: u64 = 3;

/// Contents of a node, by its kind.
#[derive(Debug)]
pub enum NodeContent {
    /// A directory.
    Directory(Directory),
    /// A regular file.
    File(Content),
    /// A symbolic link.
    Link(Name),
    /// A device, pipe or socket: the device's number.
    Special(u64),
}

/// Fate of what was written to a file of another side's.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub enum Lasting {
    /// Everything lasts there, or nothing was written.
    #[default]
    Whole,
    /// Some of it may not last: nobody has asked since.
    Unknown,
    /// The other side ended meanwhile: some of it may be lost.
    Lost,
}

/// A node.
#[derive(Debug)]
pub struct Node {
    /// Kind and permissions.
    pub mode: u32,
    /// The directory in which it got the last of the names that are known of it.
    pub parent: Option<Key>,
    /// The cookie of that name.
    pub cookie: u64,
    /// Directory and cookie of the name before that one.
    pub earlier: Option<(Key, u64)>,
    /// Number of names that lead here.
    pub links: u32,
    /// Number of open files that lead here.
    pub opens: u32,
    /// Open files and views through which a regular file can be written.
    pub writers: u32,
    /// Programs that run the file.
    pub runners: u32,
    /// Seals: changes that are forbidden. `None`: the node takes no seals.
    pub seals: Option<u64>,
    /// A name can be given to it though it has none.
    pub is_linkable: bool,
    /// Number by which the other side knows it, if it is the other side's.
    pub origin: Option<Away>,
    /// The other side's number for all its names.
    pub outside_inode: u64,
    /// Number of names that it has on the other side.
    pub outside_links: u32,
    /// Blocks of 512 bytes that it takes there.
    pub outside_blocks: u64,
    /// Payer of the target of a symbolic link that was made here.
    pub target_payer: Option<u64>,
    /// Last change of the content and size there; `None`: a change of ours made them others.
    pub outside_stamp: Option<(Time, u64)>,
    /// Fate of what was written to it there, and of names that changed in it.
    pub lasting: Lasting,
    /// Set once it was cut off here without a name on the other side: from then on all its changes
    /// stay here.
    pub is_detached: bool,
    /// Owner.
    pub uid: u32,
    /// Group.
    pub gid: u32,
    /// Last read.
    pub accessed: Time,
    /// Last change of the content.
    pub modified: Time,
    /// Last change of anything.
    pub changed: Time,
    /// Extended attributes. `None`: there are none, or another side has them.
    pub attributes: Option<Box<Attributes>>,
    /// The rest.
    pub body: NodeContent,
}

impl Node {
    /// A node without names.
    pub fn new(mode: u32, body: NodeContent, now: Time) -> Node {
        Node { mode, parent: None, cookie: 0, earlier: None, links: 0, opens: 0, writers: 0, runners: 0, seals: None, is_linkable: false, origin: None, outside_inode: 0, outside_links: 0, outside_blocks: 0, target_payer: None, outside_stamp: None, lasting: Lasting::Whole, is_detached: false, uid: 0, gid: 0, accessed: now, modified: now, changed: now, attributes: None, body }
    }

    /// Notes a new name by its directory and cookie.
    pub fn note_name(&mut self, directory: Key, cookie: u64) {
        self.earlier = self.parent.map(|parent| (parent, self.cookie));
        (self.parent, self.cookie) = (Some(directory), cookie);
    }

    /// Notes that a name has gone. If it was the last one, the one before takes its place; older
    /// ones are not known.
    pub fn forget_name(&mut self, directory: Key, cookie: u64) {
        if (self.parent, self.cookie) == (Some(directory), cookie) {
            let last = self.earlier.take();
            (self.parent, self.cookie) = (last.map(|last| last.0), last.map_or(0, |last| last.1));
        }
        self.earlier = self.earlier.filter(|earlier| *earlier != (directory, cookie));
    }

    /// Returns the kind of the node, one of [`format`].
    pub fn kind(&self) -> u32 {
        self.mode & format::MASK
    }

    /// Returns true if it is a directory.
    pub fn is_directory(&self) -> bool {
        matches!(self.body, NodeContent::Directory(_))
    }

    /// Size in bytes, as `stat` shows it.
    pub fn size(&self) -> u64 {
        match &self.body {
            NodeContent::Directory(_) => DIRECTORY_SIZE,
            NodeContent::File(content) => content.size(),
            NodeContent::Link(target) => target.len() as u64,
            NodeContent::Special(_) => 0,
        }
    }

    /// Returns true if bytes of its content are in memory.
    pub fn has_content(&self) -> bool {
        matches!(&self.body, NodeContent::File(content) if content.blocks() > 0)
    }

    /// Returns true if one of these seals is on it.
    pub fn is_sealed(&self, seals: u64) -> bool {
        self.seals.unwrap_or(0) & seals != 0
    }

    /// Notes a change of the content.
    pub fn touch(&mut self, now: Time) {
        self.modified = now;
        self.changed = now;
    }
}
