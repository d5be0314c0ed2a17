//! Walking along paths, one name after the other.

use crate::abi::errno::{EIO, ELOOP, Errno};
use crate::abi::file_flags::AT_SYMLINK_NOFOLLOW;
use crate::operations::paths::permissions::{S_IFLNK, S_IFMT};
use crate::process::Process;
use crate::state::memory::user_access::PATH_MAX;
use alloc::vec::Vec;
use nacre_proto::{directory, file};
use nacre_proto::structures::Status;
use nacre_sys::Reference;

/// Maximum number of symbolic links in a path.
const MAX_LINKS: u32 = 40;

/// The status of what a path leads to from a directory, or of a link at its end.
pub fn look(from: Reference, path: &[u8]) -> Result<Status, Errno> {
    let mut bytes = [0; Status::SIZE];
    if path.is_empty() {
        file::status(from, &mut bytes)?;
    } else {
        directory::status_at(from, AT_SYMLINK_NOFOLLOW, path, &mut bytes)?;
    }
    Status::from_bytes(&bytes).ok_or(EIO)
}

/// A walk along a path, one name after the other.
pub struct Walk {
    /// Starting directory, or the root.
    pub from: Reference,
    /// Path that has been walked.
    pub done: Vec<u8>,
    /// Names still to walk, the next one last.
    pub rest: Vec<Vec<u8>>,
    /// Links on the way.
    pub links: u32,
}

impl Walk {
    /// Inserts a path before the names that are left.
    pub fn push(&mut self, path: &[u8]) {
        let names = path.split(|byte| *byte == b'/').filter(|name| !name.is_empty() && *name != b".");
        let at = self.rest.len();
        self.rest.extend(names.map(Vec::from));
        self.rest[at..].reverse();
    }

    /// Returns the walked path with one more name.
    pub fn with(&self, name: &[u8]) -> Vec<u8> {
        let mut path = self.done.clone();
        if path.last().is_some_and(|byte| *byte != b'/') {
            path.push(b'/');
        }
        path.extend_from_slice(name);
        path
    }

    /// Goes on where a symbolic link leads.
    pub fn follow(&mut self, path: &[u8], root: Reference) -> Result<(), Errno> {
        self.links += 1;
        if self.links > MAX_LINKS {
            return Err(ELOOP);
        }
        let mut target = [0; PATH_MAX as usize];
        let size = directory::read_link(self.from, path, &mut target)?.target;
        let target = target.get(..size).unwrap_or_default();
        if target.first() == Some(&b'/') {
            (self.from, self.done) = (root, Vec::from(b"/"));
        }
        self.push(target);
        Ok(())
    }
}

impl Walk {
    /// Goes back to the directory above.
    fn leave(&mut self) {
        let end = self.done.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        self.done.truncate(end.max(1));
    }
}

/// An absolute path with neither links nor dots. From where there is nothing on, or it cannot be
/// seen, it stays as it is.
pub fn real_path(process: &mut Process, path: &[u8]) -> Vec<u8> {
    let Ok(root) = process.services.files() else { return path.to_vec() };
    let mut walk = Walk { from: root, done: Vec::from(b"/"), rest: Vec::new(), links: 0 };
    walk.push(path);
    while let Some(name) = walk.rest.pop() {
        if name == b".." {
            walk.leave();
            continue;
        }
        let next = walk.with(&name);
        let is_link = look(root, &next).is_ok_and(|status| status.mode & S_IFMT == S_IFLNK);
        if !is_link || walk.follow(&next, root).is_err() {
            walk.done = next;
        }
    }
    walk.done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_walked_in_its_order() {
        let mut walk = Walk { from: Reference(0), done: Vec::from(b"/"), rest: Vec::new(), links: 0 };
        walk.push(b"c//d/");
        walk.push(b"/a/./b");
        assert_eq!(core::iter::from_fn(|| walk.rest.pop()).collect::<Vec<_>>().concat(), b"abcd");
        assert_eq!(walk.with(b"x"), b"/x");
        walk.done = Vec::from(b"/y");
        assert_eq!(walk.with(b"x"), b"/y/x");
        walk.done.clear();
        assert_eq!(walk.with(b"x"), b"x");
        walk.done = Vec::from(b"/y/z");
        walk.leave();
        assert_eq!(walk.done, b"/y");
        walk.leave();
        walk.leave();
        assert_eq!(walk.done, b"/");
    }
}
