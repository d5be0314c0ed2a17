//! Resolution of a child's paths to one absolute path without `.`, `..` and symbolic links. The
//! rest of the guard and the server see that path alone, so the server does what was judged.

use alloc::vec::Vec;
use nacre_proto::Errno;
use nacre_proto::path::{NO_LINKS, without_mark};

/// Maximum of symbolic links on the way.
const MAX_LINKS: u32 = 40;
/// Maximum of bytes of a path.
const MAX_PATH: usize = 4095;

/// Reader of symbolic links. It follows none on the way to one.
pub trait Links {
    /// Returns the target of the link at this path, which has no link before its last name. Fails
    /// with `EINVAL` if the path names no link.
    fn read(&mut self, path: &[u8]) -> Result<Vec<u8>, Errno>;
}

/// A walk: the path behind, of names that are no links, and the texts ahead. Each piece of memory
/// for it is small and can fail, since the links are the child's.
struct Walk {
    /// Empty, or names with a slash before each.
    behind: Vec<u8>,
    /// The rest of the path, and of each link on the way; the last one comes first. None is empty.
    ahead: Vec<Vec<u8>>,
    links: u32,
    /// Set if the text behind is surely a directory: the child has it open, or a name was found in
    /// it. It may have no name any more.
    is_directory: bool,
}

/// Returns a copy of `bytes` in memory of its own.
fn copied(bytes: &[u8]) -> Result<Vec<u8>, Errno> {
    let mut copy = Vec::new();
    copy.try_reserve_exact(bytes.len()).map_err(|_| Errno::ENOMEM)?;
    copy.extend_from_slice(bytes);
    Ok(copy)
}

/// The names of a path in reverse order, each behind a slash; so the last one can be taken off.
fn reversed(path: &[u8]) -> Result<Vec<u8>, Errno> {
    let mut text = Vec::new();
    text.try_reserve_exact(path.len() + 1).map_err(|_| Errno::ENOMEM)?;
    for name in path.split(|byte| *byte == b'/').filter(|name| !name.is_empty()).rev() {
        text.push(b'/');
        text.extend_from_slice(name);
    }
    Ok(text)
}

/// The end of a path says that it must be a directory.
fn ends_as_directory(path: &[u8]) -> bool {
    path.ends_with(b"/") || path.ends_with(b"/.") || path == b"."
}

/// The end of a path is a directory's name for itself, by which it can be neither removed nor
/// renamed.
fn ends_as_itself(path: &[u8]) -> bool {
    path.ends_with(b"/.") || path == b"."
}

/// A path without slashes at its beginning.
fn without_slashes(path: &[u8]) -> &[u8] {
    &path[path.iter().take_while(|byte| **byte == b'/').count()..]
}

/// Returns the part of a path behind a leading `..`.
pub fn beyond_parent(mut path: &[u8]) -> Option<&[u8]> {
    while let Some(rest) = path.strip_prefix(b"./") {
        path = without_slashes(rest);
    }
    let rest = path.strip_prefix(b"..")?;
    match without_slashes(rest) {
        [] => Some(b"."),
        more if rest.starts_with(b"/") => Some(more),
        _ => None,
    }
}

/// Treatment of a symbolic link at the end of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The way to what is meant.
    Followed,
    /// Kept, unless a slash follows it.
    Kept,
    /// Kept, also before a slash: the path is a name that is made, removed or renamed.
    Name,
}

/// The path that means what `path` means, used from the directory `start`. A symbolic link at its
/// end is what `end` says. If `path` is marked, a link that would be followed is `ELOOP`. There may
/// be nothing at the end. A slash at the end stays there, or a slash and a dot: the server sees to
/// it that a directory is meant.
pub fn resolve(start: &[u8], path: &[u8], end: End, links: &mut impl Links) -> Result<Vec<u8>, Errno> {
    let (path, no_links) = without_mark(path);
    check(path)?;
    let mut walk = Walk { behind: Vec::new(), ahead: Vec::new(), links: if no_links { 0 } else { MAX_LINKS }, is_directory: true };
    if !path.starts_with(b"/") {
        start.split(|byte| *byte == b'/').filter(|name| !name.is_empty()).try_for_each(|name| walk.append(name))?;
    }
    walk.put_ahead(path)?;
    let mut trailing = ends_as_directory(path);
    while let Some(name) = walk.next()? {
        let follows = end == End::Followed || end == End::Kept && trailing || !walk.ahead.is_empty();
        trailing |= walk.step(&name, follows, links)?;
    }
    with_end(path, walk.behind, trailing)
}

/// Refuses what no path can be. `path` has no mark.
pub fn check(path: &[u8]) -> Result<(), Errno> {
    match path {
        [] => Err(Errno::ENOENT),
        _ if path.len() > MAX_PATH => Err(Errno::ENAMETOOLONG),
        _ if path.contains(&0) => Err(Errno::EINVAL),
        _ => Ok(()),
    }
}

/// Returns the path that a server is asked about in place of `path`: slashes behind a name say
/// nothing about a link there.
pub fn asked(path: &[u8], end: End) -> &[u8] {
    let slashes = path.iter().rev().take_while(|byte| **byte == b'/').count();
    match path.get(..path.len() - slashes) {
        Some(rest) if end == End::Name && !without_mark(rest).0.is_empty() => rest,
        _ => path,
    }
}

/// Returns the path that `path` means, by a server's answer. `EPROTO`: the answer is no path
/// without `.`, `..` and empty names.
pub fn of_answer(path: &[u8], mut found: Vec<u8>, is_directory: bool) -> Result<Vec<u8>, Errno> {
    let names = found.strip_prefix(b"/").ok_or(Errno::EPROTO)?;
    if found.len() > MAX_PATH || found.contains(&0) {
        return Err(Errno::EPROTO);
    }
    if names.is_empty() {
        found.clear();
    } else if names.split(|byte| *byte == b'/').any(|name| matches!(name, b"" | b"." | b"..")) {
        return Err(Errno::EPROTO);
    }
    let (path, _) = without_mark(path);
    with_end(path, found, is_directory || ends_as_directory(path))
}

/// Puts an end like that of `path` behind `names`, which have a slash before each.
fn with_end(path: &[u8], names: Vec<u8>, is_directory: bool) -> Result<Vec<u8>, Errno> {
    let is_root = names.is_empty();
    let mut resolved = names;
    if is_root || is_directory {
        resolved.push(b'/');
    }
    if ends_as_itself(path) && !is_root {
        resolved.push(b'.');
    }
    if resolved.len() > MAX_PATH { Err(Errno::ENAMETOOLONG) } else { Ok(resolved) }
}

impl Walk {
    /// Puts a name behind.
    fn append(&mut self, name: &[u8]) -> Result<(), Errno> {
        if self.behind.len() + name.len() >= MAX_PATH {
            return Err(Errno::ENAMETOOLONG);
        }
        self.behind.try_reserve(name.len() + 1).map_err(|_| Errno::ENOMEM)?;
        self.behind.push(b'/');
        self.behind.extend_from_slice(name);
        Ok(())
    }

    /// Puts the names of a path ahead.
    fn put_ahead(&mut self, path: &[u8]) -> Result<(), Errno> {
        let text = reversed(path)?;
        if !text.is_empty() {
            self.ahead.try_reserve(1).map_err(|_| Errno::ENOMEM)?;
            self.ahead.push(text);
        }
        Ok(())
    }

    /// Takes the next name off the texts ahead.
    fn next(&mut self) -> Result<Option<Vec<u8>>, Errno> {
        let Some(text) = self.ahead.last_mut() else { return Ok(None) };
        let at = text.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        let name = copied(&text[at + 1..])?;
        text.truncate(at);
        if at == 0 {
            self.ahead.pop();
        }
        Ok(Some(name))
    }

    /// The path behind.
    fn path(&self) -> &[u8] {
        if self.behind.is_empty() { b"/" } else { &self.behind }
    }

    /// Takes the last name off the path behind.
    fn go_up(&mut self) {
        let at = self.behind.iter().rposition(|byte| *byte == b'/').unwrap_or(0);
        self.behind.truncate(at);
    }

    /// Goes one name further. Returns true if a link at the end says that a directory is meant.
    fn step(&mut self, name: &[u8], follows: bool, links: &mut impl Links) -> Result<bool, Errno> {
        match name {
            b"." => return Ok(false),
            b".." => {
                // A file has no `..`: only a directory can be asked for it.
                if !self.is_directory {
                    self.expect_directory(links)?;
                }
                self.go_up();
                self.is_directory = true;
                return Ok(false);
            }
            _ => self.append(name)?,
        }
        self.is_directory = false;
        if !follows {
            return Ok(false);
        }
        match links.read(self.path()) {
            Ok(target) => self.turn(&target),
            Err(Errno::EINVAL) => Ok(false),
            Err(Errno::ENOENT) if self.ahead.is_empty() => Ok(false),
            Err(errno) => Err(errno),
        }
    }

    fn expect_directory(&self, links: &mut impl Links) -> Result<(), Errno> {
        let below = [self.path(), b"/."].concat();
        match links.read(&below) {
            Ok(_) | Err(Errno::EINVAL) => Ok(()),
            Err(errno) => Err(errno),
        }
    }

    /// The last name behind was a link, which leads to `target`.
    fn turn(&mut self, target: &[u8]) -> Result<bool, Errno> {
        self.links = self.links.checked_sub(1).ok_or(Errno::ELOOP)?;
        if target.is_empty() {
            return Err(Errno::ENOENT);
        }
        // The maker of the link may be anybody. No name has a zero, and a server could take it for
        // the end of the path.
        if target.contains(&0) {
            return Err(Errno::EINVAL);
        }
        if target.len() > MAX_PATH {
            return Err(Errno::ENAMETOOLONG);
        }
        self.go_up();
        self.is_directory = true;
        if target.starts_with(b"/") {
            self.behind.clear();
        }
        let at_end = self.ahead.is_empty();
        self.put_ahead(target)?;
        Ok(at_end && ends_as_directory(target))
    }
}

/// A path without the slash at its end, or slash and dot: what a policy is asked about.
pub fn plain(path: &[u8]) -> &[u8] {
    match path {
        [path @ .., b'/', b'.'] if !path.is_empty() => path,
        [path @ .., b'/'] if !path.is_empty() => path,
        path => path,
    }
}

/// Returns this path with the mark: its server follows no link that somebody puts on its way from
/// now on.
pub fn marked(path: &[u8]) -> Result<Vec<u8>, Errno> {
    let mut marked = Vec::new();
    marked.try_reserve_exact(path.len() + 1).map_err(|_| Errno::ENOMEM)?;
    marked.push(NO_LINKS);
    marked.extend_from_slice(path);
    Ok(marked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;

    /// A tree: paths, and what links lead to.
    struct Tree(BTreeMap<&'static str, Option<&'static str>>);

    impl Links for Tree {
        fn read(&mut self, path: &[u8]) -> Result<Vec<u8>, Errno> {
            let path = core::str::from_utf8(path).unwrap();
            if path.starts_with("/etc/passwd/") {
                return Err(Errno::ENOTDIR);
            }
            let path = path.strip_suffix("/.").unwrap_or(path);
            match self.0.get(path) {
                _ if path.is_empty() || path == "/" => Err(Errno::EINVAL),
                None => Err(Errno::ENOENT),
                Some(None) => Err(Errno::EINVAL),
                Some(Some(target)) => Ok(target.as_bytes().to_vec()),
            }
        }
    }

    fn tree() -> Tree {
        let directories = ["/etc", "/etc/passwd", "/tmp", "/tmp/d"].map(|path| (path, None));
        let links = [("/tmp/e", "/etc"), ("/tmp/p", "../etc/passwd"), ("/tmp/loop", "loop"), ("/tmp/new", "/etc/new"), ("/tmp/s", "d/"), ("/tmp/zero", "d\0/x")];
        Tree(directories.into_iter().chain(links.map(|(path, target)| (path, Some(target)))).collect())
    }

    fn resolved(start: &str, path: &str, follow: bool) -> Result<&'static str, Errno> {
        let end = if follow { End::Followed } else { End::Kept };
        let path = resolve(start.as_bytes(), path.as_bytes(), end, &mut tree())?;
        Ok(std::string::String::from_utf8(path).unwrap().leak())
    }

    #[test]
    fn every_way_leads_to_the_same_path() {
        for path in ["/etc/passwd", "/tmp/../etc/passwd", "//etc/./passwd", "/tmp/p", "/tmp/e/passwd", "/tmp/d/../e/../etc/passwd", "/../etc/passwd"] {
            assert_eq!(resolved("/", path, true), Ok("/etc/passwd"), "{path}");
        }
        for path in ["p", "d/../p", "../tmp/e/passwd", "../../../etc/passwd", "/tmp/new/../passwd"] {
            let expected = if path.contains("new") { Err(Errno::ENOENT) } else { Ok("/etc/passwd") };
            assert_eq!(resolved("/tmp", path, true), expected, "{path}");
        }
    }

    #[test]
    fn a_link_at_the_end_is_followed_when_it_must_be() {
        assert_eq!(resolved("/tmp", "p", false), Ok("/tmp/p"));
        assert_eq!(resolved("/tmp", "e/", false), Ok("/etc/"));
        for (path, expected) in [("e/", "/tmp/e/"), ("e/x/", "/etc/x/"), ("e/.", "/etc/."), ("loop/", "/tmp/loop/")] {
            assert_eq!(resolve(b"/tmp", path.as_bytes(), End::Name, &mut tree()).unwrap(), expected.as_bytes());
        }
        assert_eq!(resolved("/tmp", "s", true), Ok("/tmp/d/"));
        assert_eq!(resolved("/tmp", "new", true), Ok("/etc/new"));
        assert_eq!(resolved("/tmp", "e/.", true), Ok("/etc/."));
        assert_eq!(resolved("/tmp/d", ".", false), Ok("/tmp/d/."));
        assert_eq!(resolved("/tmp", "./s/./", true), Ok("/tmp/d/"));
    }

    #[test]
    fn what_leads_nowhere_is_told() {
        assert_eq!(resolved("/tmp", "loop", true), Err(Errno::ELOOP));
        assert_eq!(resolved("/tmp", "zero", true), Err(Errno::EINVAL));
        assert_eq!(resolved("/tmp", "none/x", true), Err(Errno::ENOENT));
        assert_eq!(resolved("/tmp", "none", true), Ok("/tmp/none"));
        assert_eq!(resolved("/", "/etc/passwd/x", true), Err(Errno::ENOTDIR));
        assert_eq!(resolved("/", "/etc/passwd/..", true), Err(Errno::ENOTDIR));
        assert_eq!(resolved("/", "", true), Err(Errno::ENOENT));
        assert_eq!(resolved("/", "a\0b", true), Err(Errno::EINVAL));
        assert_eq!(resolved("/", &"x".repeat(5000), true), Err(Errno::ENAMETOOLONG));
    }

    #[test]
    fn an_answer_gets_the_end_of_the_path() {
        let meant = |path: &str, found: &str, is_directory| of_answer(path.as_bytes(), found.as_bytes().to_vec(), is_directory).map(|path| std::string::String::from_utf8(path).unwrap().leak() as &str);
        assert_eq!(meant("p", "/etc/passwd", false), Ok("/etc/passwd"));
        assert_eq!([("e/", true), ("s", true), ("e/", false)].map(|(path, is)| meant(path, "/etc", is)), [Ok("/etc/"); 3]);
        assert_eq!((meant(".", "/etc", true), meant("\0.", "/etc", true), meant("x/.", "/", true)), (Ok("/etc/."), Ok("/etc/."), Ok("/")));
        for lie in ["", "etc", "//", "/etc/", "/a//b", "/a/../b", "/.", "/a\0b", &"/x".repeat(2048)] {
            assert_eq!(meant("p", lie, false), Err(Errno::EPROTO), "{lie}");
        }
        assert_eq!([&b"a//"[..], b"/", b"\0//", b"a/.", b"\0a/"].map(|path| asked(path, End::Name)), [&b"a"[..], b"/", b"\0//", b"a/.", b"\0a"]);
        assert_eq!(asked(b"a/", End::Kept), b"a/");
    }

    #[test]
    fn the_root_has_no_slash_too_many() {
        assert_eq!(resolved("/", "/", true), Ok("/"));
        assert_eq!(resolved("/tmp", "..", true), Ok("/"));
        assert_eq!(resolved("/tmp/removed", "..", true), Ok("/tmp"), "a directory that is open, and has no name any more");
        assert_eq!(resolved("/tmp", "removed/..", true), Err(Errno::ENOENT));
        assert_eq!([&b".."[..], b".//..//", b"..//a/b", b"..a", b"a/.."].map(beyond_parent), [Some(&b"."[..]), Some(b"."), Some(b"a/b"), None, None]);
        assert_eq!(beyond_parent("./".repeat(2047).as_bytes()), None, "however long");
        assert_eq!((plain(b"/"), plain(b"/a/")), (&b"/"[..], &b"/a"[..]));
        assert_eq!((plain(b"/a/."), plain(b"/a.")), (&b"/a"[..], &b"/a."[..]));
    }
}
