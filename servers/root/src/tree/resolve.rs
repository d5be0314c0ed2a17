//! From a path to a place: the directory that has (or would have) the last name, and what is there
//! now.

use super::Tree;
use super::node::{NodeContent, Name};
use crate::store::Store;
use crate::table::Key;
use alloc::borrow::Cow;
use alloc::vec::Vec;
use nacre_proto::Errno;
use nacre_proto::path::without_mark;

/// Maximum length of a path, as Linux's `PATH_MAX` without its zero.
const MAX_PATH: usize = 4095;
/// Maximum length of a name.
const MAX_NAME: usize = 255;
/// Maximum number of symbolic links on the way.
const MAX_LINKS: u32 = 40;
/// Maximum number of names on the way, in the path and in links: as many as two of the longest
/// paths have. It bounds the time that one path takes.
const MAX_NAMES: u32 = 4096;

/// Directories that paths start at.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// The directory of relative paths.
    pub at: Key,
    /// The directory of absolute ones, above which `..` does not lead; `None`: the tree's root.
    pub root: Option<Key>,
}

impl From<Key> for Start {
    fn from(at: Key) -> Start {
        Start { at, root: None }
    }
}

/// State of a walk along a path.
struct Way {
    /// Directory where absolute paths start, and where `..` ends.
    top: Key,
    /// Symbolic links that may still be followed.
    links: u32,
    /// Names that may still be looked up, of the path and of all links.
    names: u32,
}

/// Place that a path leads to.
#[derive(Debug)]
pub struct Place {
    /// The directory of the last name.
    pub directory: Key,
    /// The last name; empty if the path named a directory without naming it in another (`/`, `.`,
    /// `..`).
    pub name: Vec<u8>,
    /// The last part was `.`
    pub is_dot: bool,
    /// Node at the place, if there is one.
    pub node: Option<Key>,
    /// The path ended with a slash: it can only mean a directory.
    pub trailing: bool,
}

impl Place {
    /// Returns the node at the place, or `ENOENT`.
    pub fn existing(&self) -> Result<Key, Errno> {
        self.node.ok_or(Errno::ENOENT)
    }
}

/// Returns a path from the root directory without `.` and `..`, as the host reads it: symbolic
/// links are not followed.
fn normal(path: &[u8]) -> Vec<u8> {
    let mut parts: Vec<&[u8]> = Vec::new();
    for part in path.split(|&byte| byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.iter().flat_map(|part| [b"/", *part].concat()).collect()
}

impl<S: Store> Tree<S> {
    /// Follows `path` from the directory `start`. A symbolic link at the end is followed if
    /// `follow` or a slash says so.
    pub fn resolve(&self, start: impl Into<Start>, path: &[u8], follow: bool) -> Result<Place, Errno> {
        let (at, path, mut way) = self.way(start.into(), path);
        let place = self.walk(at, path, follow || path.ends_with(b"/"), &mut way)?;
        match place.node.and_then(|node| self.get(node)) {
            Some(node) if place.trailing && !node.is_directory() => Err(Errno::ENOTDIR),
            _ => Ok(place),
        }
    }

    /// Returns the place of the name at the end of `path`, for calls that make, remove or rename
    /// it. A symbolic link there is not followed, also with a slash behind it. The caller asks for
    /// a directory then.
    pub fn resolve_name(&self, start: impl Into<Start>, path: &[u8]) -> Result<Place, Errno> {
        let (at, path, mut way) = self.way(start.into(), path);
        self.walk(at, path, false, &mut way)
    }

    /// Splits a path as it came: where it starts if it is relative, the path itself, and what holds
    /// on its way. One with a mark is of the tree's root, whatever the caller's root is: it tells
    /// where something is.
    fn way<'a>(&self, start: Start, path: &'a [u8]) -> (Key, &'a [u8], Way) {
        match without_mark(path) {
            (path, true) => (start.at, path, Way { top: self.root(), links: 0, names: MAX_NAMES }),
            (path, false) => (start.at, path, Way { top: start.root.unwrap_or(self.root()), links: MAX_LINKS, names: MAX_NAMES }),
        }
    }

    fn walk(&self, start: Key, path: &[u8], follow: bool, way: &mut Way) -> Result<Place, Errno> {
        check_path(path)?;
        let mut directory = if path[0] == b'/' { way.top } else { start };
        let trailing = path.ends_with(b"/");
        let mut parts = path.split(|&byte| byte == b'/').filter(|part| !part.is_empty()).peekable();
        while let Some(part) = parts.next() {
            way.names = way.names.checked_sub(1).ok_or(Errno::ELOOP)?;
            if parts.peek().is_none() {
                return self.walk_last(directory, part, follow, trailing, way);
            }
            directory = self.walk_through(directory, part, way)?;
        }
        Ok(self.place_of(directory, false, trailing))
    }

    fn place_of(&self, directory: Key, is_dot: bool, trailing: bool) -> Place {
        Place { directory, name: Vec::new(), is_dot, node: Some(directory), trailing }
    }

    fn walk_through(&self, directory: Key, part: &[u8], way: &mut Way) -> Result<Key, Errno> {
        let node = self.step(directory, part, way.top)?.ok_or(Errno::ENOENT)?;
        match self.link_target(node) {
            Some(target) => self.walk(directory, target, true, way.with_link()?)?.existing(),
            None => Ok(node),
        }
    }

    fn walk_last(&self, directory: Key, part: &[u8], follow: bool, trailing: bool, way: &mut Way) -> Result<Place, Errno> {
        let node = self.step(directory, part, way.top)?;
        if part == b"." || part == b".." {
            return Ok(self.place_of(node.ok_or(Errno::ENOENT)?, part == b".", trailing));
        }
        if let Some(target) = node.and_then(|node| self.link_target(node)).filter(|_| follow) {
            let mut place = self.walk(directory, target, true, way.with_link()?)?;
            place.trailing |= trailing;
            return Ok(place);
        }
        Ok(Place { directory, name: part.to_vec(), is_dot: false, node, trailing })
    }

    /// Returns the absolute path without `.`, `..` and symbolic links that `path` leads to, and
    /// true if the path can only mean a directory. Its last name may be absent.
    pub fn find(&self, start: impl Into<Start>, path: &[u8], follow: bool) -> Result<(Vec<u8>, bool), Errno> {
        let (at, path, mut way) = self.way(start.into(), path);
        let place = self.walk(at, path, follow || path.ends_with(b"/"), &mut way)?;
        let mut found = self.path_of(place.directory)?;
        if !place.name.is_empty() {
            if found.len() > 1 {
                found.push(b'/');
            }
            found.extend_from_slice(&place.name);
        }
        if found.len() > MAX_PATH { Err(Errno::ENAMETOOLONG) } else { Ok((found, place.trailing || place.is_dot)) }
    }

    /// The node that one name leads to from a directory.
    fn step(&self, directory: Key, part: &[u8], top: Key) -> Result<Option<Key>, Errno> {
        let node = self.get(directory).ok_or(Errno::ENOENT)?;
        let NodeContent::Directory(body) = &node.body else { return Err(Errno::ENOTDIR) };
        match part {
            b"." => Ok(Some(directory)),
            b".." if directory == top => Ok(Some(top)),
            b".." => Ok(Some(body.parent)),
            _ if part.len() > MAX_NAME => Err(Errno::ENAMETOOLONG),
            _ => {
                let found = body.entries().get(part).map(|entry| entry.node);
                if let (None, Some(away)) = (found, node.origin) {
                    self.sides.miss(away, directory, body, part);
                }
                Ok(found)
            }
        }
    }

    /// Returns the absolute form of `path` without `.` and `..`, if that leads to the node `node`.
    /// `EACCES`: it leads elsewhere, or nowhere.
    pub fn own_path(&self, node: Key, path: &[u8]) -> Result<Vec<u8>, Errno> {
        let path = normal(path);
        let place = self.resolve(self.root(), &path, true).map_err(|_| Errno::EACCES)?;
        if place.node == Some(node) { Ok(path) } else { Err(Errno::EACCES) }
    }

    /// Returns the target of a node that is a symbolic link.
    pub fn link_target(&self, node: Key) -> Option<&Name> {
        match &self.get(node)?.body {
            NodeContent::Link(target) => Some(target),
            _ => None,
        }
    }

    /// The absolute path of a directory, if it is no longer than a path may be.
    pub fn path_of(&self, directory: Key) -> Result<Vec<u8>, Errno> {
        let mut names: Vec<&Name> = Vec::new();
        let mut at = directory;
        while at != self.root() {
            let parent = self.directory(at)?.parent;
            names.push(self.directory(parent)?.name_of(at, self.node(at)?.cookie).ok_or(Errno::ENOENT)?);
            if names.len() > MAX_PATH / 2 {
                return Err(Errno::ENAMETOOLONG);
            }
            at = parent;
        }
        let mut path = Vec::new();
        for name in names.iter().rev() {
            path.push(b'/');
            path.extend_from_slice(name);
        }
        match path.len() {
            0 => Ok(b"/".to_vec()),
            1..=MAX_PATH => Ok(path),
            _ => Err(Errno::ENAMETOOLONG),
        }
    }
}

impl Way {
    /// The way with one more link followed. `ELOOP`: there were too many.
    fn with_link(&mut self) -> Result<&mut Way, Errno> {
        self.links = self.links.checked_sub(1).ok_or(Errno::ELOOP)?;
        Ok(self)
    }
}

/// A path is not empty, not too long and has no zeros in it.
pub fn check_path(path: &[u8]) -> Result<(), Errno> {
    match path {
        [] => Err(Errno::ENOENT),
        _ if path.len() > MAX_PATH => Err(Errno::ENAMETOOLONG),
        _ if path.contains(&0) => Err(Errno::EINVAL),
        _ => Ok(()),
    }
}

/// A name of our own from the bytes of a message.
pub fn owned(bytes: &[u8]) -> Name {
    Cow::Owned(bytes.to_vec())
}
