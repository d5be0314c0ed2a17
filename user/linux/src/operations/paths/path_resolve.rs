//! How `openat2` lets a path lead: not out of the directory that it starts at, not over links, not
//! to another file system. The library walks it name by name; what it comes to is opened by a path
//! without links.

use crate::abi::errno::{EAGAIN, EINVAL, ELOOP, ENOENT, ENOTDIR, Errno};
use crate::operations::paths::path_start::{self, own_descriptor};
use crate::operations::paths::path_walk::{Walk, look};
use crate::operations::paths::permissions::{S_IFLNK, S_IFMT};
use crate::operations::proc;
use crate::process::Process;
use crate::state::files::proc_node::{Node, Target};
use crate::state::files::terminal_name;
use alloc::vec::Vec;
use nacre_sys::Reference;

const NO_OTHERS: u64 = 1;
const NO_MAGIC: u64 = 2;
const NO_LINKS: u64 = 4;
const BENEATH: u64 = 8;
const IN_ROOT: u64 = 16;
const CACHED: u64 = 32;
const EXDEV: Errno = Errno::EXDEV;
const S_IFDIR: u64 = 0o040000;

/// Restrictions of `openat2` on the resolution of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules(u64);

/// Result of resolving a path.
pub enum Resolved {
    /// Path to something of the library's own, unchanged.
    AsItIs,
    /// There, from the same directory, without links; whether that must be a directory.
    At(Vec<u8>, bool),
}

impl Rules {
    /// Decodes the rules of a call. Here every look-up asks a server, so a caller that accepts
    /// cached results only gets `EAGAIN`.
    pub fn of(word: u64) -> Result<Rules, Errno> {
        match word {
            word if word & !(NO_OTHERS | NO_MAGIC | NO_LINKS | BENEATH | IN_ROOT | CACHED) != 0 || word & BENEATH != 0 && word & IN_ROOT != 0 => Err(EINVAL),
            word if word & CACHED != 0 => Err(EAGAIN),
            word => Ok(Rules(word)),
        }
    }

    fn have(self, rules: u64) -> bool {
        self.0 & rules != 0
    }

    /// Checks that the rules allow a magic link.
    fn check_magic(self) -> Result<(), Errno> {
        match self {
            rules if rules.have(NO_MAGIC | NO_LINKS) => Err(ELOOP),
            rules if rules.have(NO_OTHERS | BENEATH | IN_ROOT) => Err(EXDEV),
            _ => Ok(()),
        }
    }
}

/// The way back from where a walk is: `None` if it would lead out of where it has started.
fn back(done: &[u8], rules: Rules) -> Option<Vec<u8>> {
    let end = done.iter().rposition(|byte| *byte == b'/');
    let last = &done[end.map_or(0, |end| end + 1)..];
    if done == b"/" || done.is_empty() && rules.have(IN_ROOT) {
        return Some(done.to_vec());
    }
    if done.is_empty() || last == b".." {
        let before = if done.is_empty() { &b""[..] } else { &b"/"[..] };
        return (!rules.have(BENEATH)).then(|| [done, before, b".."].concat());
    }
    Some(match end {
        Some(0) => b"/".to_vec(),
        Some(end) => done[..end].to_vec(),
        None => Vec::new(),
    })
}

impl Process {
    /// Resolves a path by these rules. `follow`: a link at its end is followed.
    pub fn resolve(&mut self, descriptor: u64, path: &[u8], follow: bool, rules: Rules) -> Result<Resolved, Errno> {
        let is_scoped = rules.have(BENEATH | IN_ROOT);
        if path.starts_with(b"/") && rules.have(BENEATH) {
            return Err(EXDEV);
        }
        let is_absolute = path.starts_with(b"/") && !is_scoped;
        if is_absolute && own_descriptor(path).is_some() {
            return rules.check_magic().map(|()| Resolved::AsItIs);
        }
        if !(is_scoped && path.starts_with(b"/"))
            && let Some(found) = proc::tree::in_proc(self, descriptor, path, follow)
        {
            return resolve_here(self, descriptor, path, found?, rules).map(|()| Resolved::AsItIs);
        }
        let from = if is_absolute { self.root_directory()? } else { path_start::directory(self, descriptor, b".")? };
        let start = if is_absolute { Vec::from(b"/") } else { Vec::new() };
        let mut walk = Walk { from, done: start, rest: Vec::new(), links: 0 };
        walk.push(path);
        let is_directory = path.ends_with(b"/");
        walk_by(&mut walk, follow || is_directory, rules)?;
        let done = if walk.done.is_empty() { b".".to_vec() } else { walk.done };
        Ok(Resolved::At(done, is_directory))
    }
}

/// A path that leads to something in `/proc`, or through it.
fn resolve_here(process: &mut Process, descriptor: u64, path: &[u8], found: Target, rules: Rules) -> Result<(), Errno> {
    let names = || path.split(|byte| *byte == b'/');
    let leaves = path.starts_with(b"/") || names().any(|name| name == b"..");
    if rules.have(BENEATH | IN_ROOT | NO_OTHERS) && leaves {
        return Err(EXDEV);
    }
    if rules.have(NO_LINKS) && names().any(|name| matches!(name, b"self" | b"thread-self" | b"mounts")) {
        return Err(ELOOP);
    }
    let is_magic = matches!(&found, Target::Node(Node::Descriptor(..)))
        || matches!(&found, Target::Outside(path) if terminal_name::name(path).is_none())
        || matches!(proc::tree::in_proc(process, descriptor, path, false), Some(Ok(Target::Node(Node::Place(..)))));
    if is_magic { rules.check_magic() } else { Ok(()) }
}

/// Walks to the end, or to the name that is not there, if it is the last.
fn walk_by(walk: &mut Walk, follow: bool, rules: Rules) -> Result<(), Errno> {
    let home = if rules.have(NO_OTHERS) { Some(look(walk.from, &walk.done)?.device) } else { None };
    let check = |device| if home.is_none_or(|home| home == device) { Ok(()) } else { Err(EXDEV) };
    while let Some(name) = walk.rest.pop() {
        if name == b".." {
            walk.done = back(&walk.done, rules).ok_or(EXDEV)?;
            if home.is_some() {
                check(look(walk.from, &walk.done)?.device)?;
            }
            continue;
        }
        let (next, is_last) = (walk.with(&name), walk.rest.is_empty());
        match look(walk.from, &next) {
            Ok(status) if status.mode & S_IFMT == S_IFLNK && (follow || !is_last) => {
                if rules.have(NO_LINKS) {
                    return Err(ELOOP);
                }
                follow_link(walk, &next, rules)?;
                if home.is_some() {
                    check(look(walk.from, &walk.done)?.device)?;
                }
            }
            Ok(status) if !is_last && status.mode & S_IFMT != S_IFDIR => return Err(ENOTDIR),
            Err(ENOENT) if is_last => walk.done = next,
            found => {
                check(found?.device)?;
                walk.done = next;
            }
        }
    }
    Ok(())
}

/// Goes where a link leads; an absolute one starts at the directory that is the root.
fn follow_link(walk: &mut Walk, path: &[u8], rules: Rules) -> Result<(), Errno> {
    let (from, before): (Reference, Vec<u8>) = (walk.from, walk.done.clone());
    walk.done = Vec::from(b"?");
    walk.follow(path, from)?;
    let is_absolute = walk.done == b"/";
    walk.done = match is_absolute {
        false => before,
        true if rules.have(BENEATH) => return Err(EXDEV),
        true if rules.have(IN_ROOT) => Vec::new(),
        true => Vec::from(b"/"),
    };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_back_ends_where_the_rules_say() {
        let (free, beneath, root) = (Rules(NO_LINKS), Rules(BENEATH), Rules(IN_ROOT));
        assert_eq!(back(b"a/b", beneath), Some(b"a".to_vec()));
        assert_eq!(back(b"a", beneath), Some(Vec::new()));
        assert_eq!((back(b"", beneath), back(b"", root)), (None, Some(Vec::new())));
        assert_eq!(back(b"", free), Some(b"..".to_vec()));
        assert_eq!(back(b"..", free), Some(b"../..".to_vec()));
        assert_eq!((back(b"/a", free), back(b"/", free)), (Some(b"/".to_vec()), Some(b"/".to_vec())));
    }

    #[test]
    fn rules_that_exclude_each_other_are_none() {
        assert_eq!(Rules::of(BENEATH | IN_ROOT), Err(EINVAL));
        assert_eq!(Rules::of(64), Err(EINVAL));
        assert_eq!(Rules::of(CACHED | BENEATH), Err(EAGAIN));
    }
}
