//! Filling the tree from the boot image.

use super::node::{NodeContent, Directory, Node, Time, format};
use super::{Content, Tree};
use crate::frames::FRAME;
use crate::store::Store;
use crate::windows::DeviceWindow;
use crate::table::Key;
use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use nacre_abi::boot_image::{self, File, Header};
use nacre_proto::Errno;

/// Permissions of memory that lasts.
const STORE_MODE: u32 = 0o660;
/// Modes of windows of devices.
const WRITABLE_MODE: u32 = 0o600;
const READABLE_MODE: u32 = 0o400;

/// Boot files that the tree has no place for.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Refused {
    /// Number of files.
    pub count: u64,
    /// Path of the first one that has a path, and why it was refused.
    pub first: Option<(&'static [u8], Errno)>,
}

impl Refused {
    fn add(&mut self, path: &'static [u8], errno: Errno) {
        self.count += 1;
        self.first = self.first.or(Some((path, errno)));
    }

    /// Line of text that names the first file, the reason, and what to do; nothing if no file was
    /// refused.
    pub fn text(&self) -> Option<Vec<u8>> {
        let more = match self.first {
            Some(_) => self.count.checked_sub(1)?,
            None => return (self.count > 0).then(|| format!("{} boot files lie outside of the boot image: make the image anew", self.count).into_bytes()),
        };
        let (path, errno) = self.first?;
        let reason = match errno {
            Errno::EEXIST => "another boot file has its name",
            Errno::ENOENT => "its folder is a symbolic link that leads nowhere",
            Errno::ENOTDIR => "its folder is a file",
            Errno::ELOOP => "its folder is a symbolic link in a circle",
            _ => "it is no file, folder or symbolic link, or its name is none",
        };
        let others = if more > 0 { format!(" ({more} more were left out)") } else { String::new() };
        Some([path, b" is not in the guest, because ", reason.as_bytes(), others.as_bytes(), b"; give it another path with --file HOST:PATH"].concat())
    }
}

impl<S: Store> Tree<S> {
    /// Adds every file of the boot image, which lies at `start` of the store; `image` is its start,
    /// up to the last name. Returns what was left out.
    pub fn add_boot_files(&mut self, image: &'static [u8], header: &Header, start: u64) -> Refused {
        let mut refused = Refused::default();
        // Most files stand beside the one before them.
        let mut beside: (&[u8], Key) = (b"/", self.root());
        for index in 0..header.file_count {
            let Some(file) = boot_image::file(image, header, index) else {
                refused.count += header.file_count - index;
                break;
            };
            if file.name == b"/" {
                continue;
            }
            let (parent, name) = split(file.name);
            if parent != beside.0 {
                match self.boot_directory(parent) {
                    Ok(key) => beside = (parent, key),
                    Err(errno) => {
                        refused.add(file.name, errno);
                        continue;
                    }
                }
            }
            if let Err(errno) = self.add_boot_file(beside.1, name, &file, start) {
                refused.add(file.name, errno);
            }
        }
        refused
    }

    /// Adds the file that is memory at a start and of a size for good. A boot file of that name
    /// stays.
    pub fn add_store(&mut self, root: Key, path: &'static [u8], (start, size): (u64, u64), now: Time) -> Result<(), Errno> {
        self.add_fixed(root, path, (STORE_MODE, Content::fixed(start, size)), now)
    }

    /// Adds the file of a device's window. A boot file of that name stays.
    pub fn add_window(&mut self, root: Key, window: &'static DeviceWindow, now: Time) -> Result<(), Errno> {
        let mode = if window.writable { WRITABLE_MODE } else { READABLE_MODE };
        self.add_fixed(root, &window.path, (mode, Content::window(window.start, window.size, window.writable)), now)
    }

    fn add_fixed(&mut self, root: Key, path: &'static [u8], (mode, content): (u32, Content), now: Time) -> Result<(), Errno> {
        let place = self.resolve(root, path, true)?;
        if place.node.is_some() {
            return Err(Errno::EEXIST);
        }
        let mut node = Node::new(format::REGULAR | mode, NodeContent::File(content), now);
        node.links = 1;
        let key = self.insert(node);
        if self.enter_new_name(place.directory, Cow::Borrowed(split(path).1), key) { Ok(()) } else { Err(Errno::EEXIST) }
    }

    fn boot_directory(&mut self, path: &[u8]) -> Result<Key, Errno> {
        self.prepare(self.root(), path, true)?;
        let key = self.resolve(self.root(), path, true)?.existing()?;
        self.directory(key).map(|_| key)
    }

    fn add_boot_file(&mut self, parent: Key, name: &'static [u8], file: &File, start: u64) -> Result<(), Errno> {
        if name.is_empty() || name == b"." || name == b".." {
            return Err(Errno::EINVAL);
        }
        if self.is_there_outside(parent, name, file.mode)? {
            return Ok(());
        }
        let time = Time { seconds: file.modified, nanoseconds: 0 };
        let body = self.boot_body(parent, file, start).ok_or(Errno::EINVAL)?;
        let mut node = Node::new(file.mode, body, time);
        let is_directory = node.is_directory();
        node.links = if is_directory { 2 } else { 1 };
        let key = self.insert(node);
        if !self.enter_new_name(parent, Cow::Borrowed(name), key) {
            self.nodes.remove(key);
            return Err(Errno::EEXIST);
        }
        self.change_links(parent, i32::from(is_directory));
        Ok(())
    }

    /// Returns true if the other side has a directory of this name and a directory is to be added.
    /// Anything else that it has there gives way to the boot file.
    fn is_there_outside(&mut self, parent: Key, name: &[u8], mode: u32) -> Result<bool, Errno> {
        if self.sides.is_empty() {
            return Ok(false);
        }
        self.prepare(parent, name, true)?;
        let is_directory = |key: &Key| self.directory(*key).is_ok();
        let leads_to_directory = self.resolve(parent, name, true).ok().and_then(|place| place.node).is_some_and(|key| is_directory(&key));
        if mode & format::MASK == format::DIRECTORY && leads_to_directory {
            return Ok(true);
        }
        let there = self.directory(parent)?.entries().get(name).map(|entry| entry.node);
        if there.is_some_and(|key| self.get(key).is_some_and(|node| node.origin.is_some())) {
            let body = self.directory_mut(parent)?;
            body.remove(name);
            body.note_removed(Cow::Owned(name.to_vec()));
        }
        Ok(false)
    }

    fn boot_body(&self, parent: Key, file: &File, start: u64) -> Option<NodeContent> {
        match file.mode & format::MASK {
            format::REGULAR if file.offset.is_multiple_of(FRAME) => Some(NodeContent::File(Content::boot(start + file.offset, file.size))),
            format::DIRECTORY => {
                Some(NodeContent::Directory(Directory::new(parent)))
            }
            format::LINK if (1..4096).contains(&file.size) => {
                let mut target = vec![0; file.size as usize];
                self.store.span(start + file.offset, file.size).copy_to(&mut target);
                Some(NodeContent::Link(Cow::Owned(target)))
            }
            _ => None,
        }
    }
}

/// The directory's path and the last name.
fn split(path: &'static [u8]) -> (&'static [u8], &'static [u8]) {
    match path.iter().rposition(|&byte| byte == b'/') {
        Some(0) => (b"/", &path[1..]),
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (b"/", path),
    }
}
