//! Names and the paths that they make.

use crate::tree::Errno;
use alloc::vec::Vec;

/// Size of the longest name and of the longest path.
const MAX_NAME: usize = 255;
const MAX_PATH: usize = 4000;

/// Returns an error unless a directory can have an entry of this name.
pub fn check(name: &[u8]) -> Result<(), Errno> {
    match name {
        b"" | b"." | b".." => Err(Errno::INVAL),
        _ if name.iter().any(|byte| matches!(byte, 0 | b'/')) => Err(Errno::INVAL),
        _ if name.len() > MAX_NAME => Err(Errno::NAMETOOLONG),
        _ => Ok(()),
    }
}

/// Returns the path of an entry of the directory at `path`.
pub fn below(path: &[u8], name: &[u8]) -> Result<Vec<u8>, Errno> {
    check(name)?;
    if path.len() + name.len() >= MAX_PATH {
        return Err(Errno::NAMETOOLONG);
    }
    let mut longer = Vec::with_capacity(path.len() + 1 + name.len());
    longer.extend_from_slice(path);
    if !path.is_empty() {
        longer.push(b'/');
    }
    longer.extend_from_slice(name);
    Ok(longer)
}

/// Returns the path of the directory above. That of the shared directory is itself.
pub fn above(path: &[u8]) -> &[u8] {
    path.iter().rposition(|byte| *byte == b'/').map_or(&[], |at| &path[..at])
}

/// Returns the path that a file at `path` has after `from` was renamed to `to`, if that moves it.
pub fn moved(path: &[u8], from: &[u8], to: &[u8]) -> Option<Vec<u8>> {
    let rest = path.strip_prefix(from).filter(|rest| rest.is_empty() || rest[0] == b'/')?;
    Some([to, rest].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_made_of_names() {
        assert_eq!(below(b"", b"a"), Ok(b"a".to_vec()));
        assert_eq!(below(b"a/b", b"c"), Ok(b"a/b/c".to_vec()));
        assert_eq!([above(b"a/b/c"), above(b"a"), above(b"")], [&b"a/b"[..], b"", b""]);
        for name in [&b""[..], b".", b"..", b"a/b", b"a\0", &[b'x'; 256]] {
            assert!(below(b"a", name).is_err());
        }
        assert_eq!(below(&[b'x'; 3999], b"a"), Err(Errno::NAMETOOLONG));
    }

    #[test]
    fn files_below_a_renamed_directory_move() {
        assert_eq!(moved(b"a/b/c", b"a/b", b"z"), Some(b"z/c".to_vec()));
        assert_eq!(moved(b"a/b", b"a/b", b"z"), Some(b"z".to_vec()));
        assert_eq!((moved(b"a/bc", b"a/b", b"z"), moved(b"x", b"a/b", b"z")), (None, None));
    }
}
