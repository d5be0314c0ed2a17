//! Files that a guest leaves to this machine when its program has ended: `--out GUEST[:HOST]`.

use std::path::{Path, PathBuf};

use crate::absolute::absolute;

/// A file as a command line names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    guest: PathBuf,
    host: PathBuf,
}

/// Reads `GUEST` or `GUEST:HOST`. Without HOST the path is the same here.
pub fn parse(text: &str) -> Result<Named, String> {
    let (guest, host) = text.split_once(':').unwrap_or((text, text));
    let is_file = |path: &str| !path.is_empty() && !path.ends_with('/');
    match is_file(guest) && is_file(host) {
        true if guest.bytes().all(|byte| byte >= b' ' && byte != 0x7f) => Ok(Named { guest: guest.into(), host: host.into() }),
        true => Err("a name with control characters cannot be brought out".to_string()),
        false => Err("a file to bring out looks like GUEST or GUEST:HOST".to_string()),
    }
}

impl Named {
    /// Returns the absolute paths in the guest and here, where relative ones start from
    /// `directory`.
    pub fn paths(&self, directory: &Path) -> (PathBuf, PathBuf) {
        (absolute(directory, &self.guest), absolute(directory, &self.host))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read() {
        let paths = |text| parse(text).map(|named| named.paths(Path::new("/home")));
        let pair = |guest: &str, host: &str| Ok((PathBuf::from(guest), PathBuf::from(host)));
        assert_eq!(paths("a"), pair("/home/a", "/home/a"));
        assert_eq!(paths("/tmp/a:b:c"), pair("/tmp/a", "/home/b:c"));
        assert_eq!(paths("../a:/b"), pair("/a", "/b"));
        for wrong in ["", ":a", "a:", "a/", "a:b/", "a\nb"] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
