//! Filling the tree from the boot image.

use super::node::{Body, Directory, Node, Time, format};
use super::{Content, Tree};
use crate::frames::FRAME;
use crate::store::Store;
use crate::table::Key;
use alloc::borrow::Cow;
use alloc::vec;
use nacre_abi::boot_image::{self, File, Header};
use nacre_proto::Errno;

impl<S: Store> Tree<S> {
    /// Adds every file of the boot image, which lies at `start` of the store; `image` is its start, up to the last name. Files that make no sense are left out; answers how many were.
    pub fn add_boot_files(&mut self, image: &'static [u8], header: &Header, start: u64) -> u64 {
        let mut refused = 0;
        // Most files stand beside the one before them.
        let mut beside: (&[u8], Key) = (b"/", self.root());
        for index in 0..header.file_count {
            let Some(file) = boot_image::file(image, header, index) else { return refused + header.file_count - index };
            if file.name == b"/" {
                continue;
            }
            let (parent, name) = split(file.name);
            if parent != beside.0 {
                match self.boot_directory(parent) {
                    Ok(key) => beside = (parent, key),
                    Err(_) => refused += 1,
                }
            }
            if parent == beside.0 && self.add_boot_file(beside.1, name, &file, start).is_err() {
                refused += 1;
            }
        }
        refused
    }

    fn boot_directory(&self, path: &[u8]) -> Result<Key, Errno> {
        let key = self.resolve(self.root(), path, true)?.existing()?;
        self.directory(key).map(|_| key)
    }

    fn add_boot_file(&mut self, parent: Key, name: &'static [u8], file: &File, start: u64) -> Result<(), Errno> {
        if name.is_empty() || name == b"." || name == b".." {
            return Err(Errno::EINVAL);
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

    fn boot_body(&self, parent: Key, file: &File, start: u64) -> Option<Body> {
        match file.mode & format::MASK {
            format::REGULAR if file.offset.is_multiple_of(FRAME) => Some(Body::File(Content::boot(start + file.offset, file.size))),
            format::DIRECTORY => {
                Some(Body::Directory(Directory::new(parent)))
            }
            format::LINK if (1..4096).contains(&file.size) => {
                let mut target = vec![0; file.size as usize];
                self.store.span(start + file.offset, file.size).copy_to(&mut target);
                Some(Body::Link(Cow::Owned(target)))
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
