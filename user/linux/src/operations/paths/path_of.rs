//! Paths of directories.

use crate::abi::errno::Errno;
use crate::process::Process;
use crate::state::memory::user_access::PATH_MAX;
use alloc::vec::Vec;
use nacre_proto::directory;

/// The absolute path of a directory, as its server knows it now.
pub fn path_of(target: nacre_sys::Reference) -> Result<Vec<u8>, Errno> {
    let mut path = [0; PATH_MAX as usize];
    let size = directory::path(target, &mut path)?.path;
    Ok(path.get(..size).unwrap_or_default().to_vec())
}

/// A path as the process sees it, whose root may be another directory; `None`: it leads out of
/// that.
pub fn seen(process: &Process, path: &[u8]) -> Result<Option<Vec<u8>>, Errno> {
    let Some(root) = process.root.clone() else { return Ok(Some(path.to_vec())) };
    Ok(below(&path_of(root.reference()?)?, path).map(Vec::from))
}

/// Returns the rest of a path, seen from a directory that it leads through.
fn below<'a>(root: &[u8], path: &'a [u8]) -> Option<&'a [u8]> {
    match path.strip_prefix(root)? {
        _ if root == b"/" => Some(path),
        b"" => Some(b"/"),
        rest => rest.starts_with(b"/").then_some(rest),
    }
}

/// The path of the current directory.
pub fn current_path(process: &mut Process) -> Result<Vec<u8>, Errno> {
    match process.current.as_ref().and_then(|current| current.node()) {
        Some(node) => Ok(node.path().into_bytes()),
        None => path_of(process.current_directory()?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_seen_from_the_root() {
        assert_eq!(below(b"/", b"/a/b"), Some(&b"/a/b"[..]));
        assert_eq!(below(b"/a", b"/a/b"), Some(&b"/b"[..]));
        assert_eq!(below(b"/a", b"/a"), Some(&b"/"[..]));
        assert_eq!(below(b"/a", b"/ab"), None);
        assert_eq!(below(b"/a/b", b"/a"), None);
    }
}
