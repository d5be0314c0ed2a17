//! What lies outside an environment: how it was got, and how it is got again elsewhere.

use crate::changes::read_whole;
use alloc::vec::Vec;
use nacre_proto::flags::{KEEP_FLAGS, O_CREAT, O_EXCL, O_RDONLY, O_RDWR, O_TRUNC, SEEK_CUR, SEEK_SET, SERVICE_FILES};
use nacre_proto::{Errno, directory, file, parent};
use nacre_snapshot::image::Origin;
use nacre_sys::{OwnedReference, Reference};

/// Flags of `open` that mean something only when a file is opened for the first time.
const ONCE: u64 = O_CREAT | O_EXCL | O_TRUNC;
/// Maximum number of bytes of a file without a name that are kept.
const MAX_UNNAMED: usize = 16 << 20;

/// Something outside, as it was got.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// The service with this number.
    Service(u64),
    /// The initial stream with this number.
    Stream(u64),
    /// A file by its absolute path, and the flags that it was opened with.
    File(Vec<u8>, u64),
    /// A file that never had a name.
    Unnamed,
    /// A hold of the program file at an absolute path, while it runs.
    Program(Vec<u8>),
    /// Something else, by the name of the operation that brought it.
    Other(&'static str),
}

impl Source {
    /// The absolute path of a directory that was got so.
    pub fn path(&self) -> Option<&[u8]> {
        match self {
            Source::Service(SERVICE_FILES) => Some(b"/"),
            Source::File(path, _) => Some(path),
            _ => None,
        }
    }

    /// Returns the record for an image of something outside that is `original` now.
    pub fn record(&self, original: Option<Reference>) -> Origin {
        let position = || original.and_then(|file| file::seek(file, 0, SEEK_CUR).ok()).map_or(0, |reply| reply.position);
        let flags = |opened: u64| original.and_then(|file| file::flags(file, KEEP_FLAGS).ok()).map_or(opened, |reply| reply.old | opened & !ONCE);
        match self {
            Source::Service(number) => Origin::Service(*number),
            Source::Stream(number) => Origin::Stream(*number),
            Source::File(path, opened) => Origin::File(path.clone(), flags(*opened) & !ONCE, position()),
            Source::Unnamed => match original.and_then(|file| read_whole(file, MAX_UNNAMED)) {
                Some(contents) => Origin::Unnamed(flags(O_RDWR) & !ONCE, position(), contents),
                None => Origin::Lost(b"a file without a name".to_vec()),
            },
            Source::Program(path) => Origin::Program(path.clone()),
            Source::Other(what) => Origin::Lost(what.as_bytes().to_vec()),
        }
    }
}

/// Returns the source that an image's record tells of.
pub fn source_of(origin: &Origin) -> Source {
    match origin {
        Origin::Service(number) => Source::Service(*number),
        Origin::Stream(number) => Source::Stream(*number),
        Origin::File(path, flags, _) => Source::File(path.clone(), *flags),
        Origin::Unnamed(..) => Source::Unnamed,
        Origin::Program(path) => Source::Program(path.clone()),
        Origin::Lost(_) => Source::Other("an earlier environment"),
    }
}

/// Gets something outside again.
pub fn reopen(files: Reference, origin: &Origin) -> Result<OwnedReference, Errno> {
    match origin {
        Origin::Service(number) => Ok(parent::find(Reference::PARENT, *number)?.found),
        Origin::Stream(number) => Ok(parent::stream(Reference::PARENT, *number)?.file),
        Origin::File(path, flags, position) => {
            let opened = directory::open(files, flags & !ONCE, 0, &path[..])?.file;
            set_position(opened.handle(), *position);
            Ok(opened)
        }
        Origin::Unnamed(_, position, contents) => {
            let made = directory::memory(files, 0)?.file;
            crate::changes::write_whole(made.handle(), contents)?;
            set_position(made.handle(), *position);
            Ok(made)
        }
        Origin::Program(path) => {
            let opened = directory::open(files, O_RDONLY, 0, &path[..])?.file;
            Ok(file::execute(opened.handle())?.hold)
        }
        Origin::Lost(_) => Err(Errno::ENOENT),
    }
}

/// Streams have no position: then nothing is to be set.
fn set_position(file: Reference, position: u64) {
    if position != 0 {
        let _ = file::seek(file, position, SEEK_SET);
    }
}

/// Joins a path to the absolute path of the directory that it is relative to, without looking at
/// links.
pub fn join(directory: &[u8], path: &[u8]) -> Vec<u8> {
    let path = path.strip_prefix(b"\0").unwrap_or(path);
    let mut parts: Vec<&[u8]> = Vec::new();
    let start: &[u8] = if path.starts_with(b"/") { b"" } else { directory };
    for part in start.split(|byte| *byte == b'/').chain(path.split(|byte| *byte == b'/')) {
        match part {
            b"" | b"." => {}
            b".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let mut joined = Vec::new();
    for part in parts {
        joined.push(b'/');
        joined.extend_from_slice(part);
    }
    if joined.is_empty() { b"/".to_vec() } else { joined }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_joined_without_links() {
        for (directory, path, joined) in [
            (&b"/"[..], &b"etc/passwd"[..], &b"/etc/passwd"[..]),
            (b"/a/b", b"../c", b"/a/c"),
            (b"/a", b"/x//y/.", b"/x/y"),
            (b"/a", b"", b"/a"),
            (b"/", b"..", b"/"),
            (b"/a", b"\0x", b"/a/x"),
        ] {
            assert_eq!(join(directory, path), joined);
        }
    }
}
