//! Writer of cpio archives in the form `newc`, of which Linux's initial file systems are made.

use alloc::{format, vec::Vec};

const MAGIC: &str = "070701";
const END: &str = "TRAILER!!!";
const ALIGNMENT: usize = 4;
/// Kinds of files in a mode.
const KINDS: u32 = 0o170_000;
const DIRECTORY: u32 = 0o040_000;
const REGULAR: u32 = 0o100_000;

/// Archive that is being written. All its files are root's, from the year 1970.
#[derive(Clone, Debug, Default)]
pub struct Archive {
    bytes: Vec<u8>,
    count: u32,
}

/// Reason why a file cannot be in an archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArchiveError {
    /// Path is empty, too long for a page, or has a zero byte.
    BadPath,
    /// Content is 4 GiB or larger.
    TooLarge,
}

impl Archive {
    /// Makes an empty archive.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a file with permissions `mode`. Linux makes no directories for it: they come before.
    pub fn file(self, path: &str, mode: u32, content: &[u8]) -> Result<Self, ArchiveError> {
        self.add(path, REGULAR | mode & !KINDS, content)
    }

    /// Adds a directory with permissions `mode`.
    pub fn directory(self, path: &str, mode: u32) -> Result<Self, ArchiveError> {
        self.add(path, DIRECTORY | mode & !KINDS, &[])
    }

    /// Ends the archive and returns its bytes.
    pub fn finish(mut self) -> Vec<u8> {
        self.count = 0;
        self.entry(END, 0, 0, &[]);
        self.bytes
    }

    fn add(mut self, path: &str, mode: u32, content: &[u8]) -> Result<Self, ArchiveError> {
        let path = path.trim_start_matches('/');
        if path.is_empty() || path == END || path.len() >= 4096 || path.contains('\0') {
            return Err(ArchiveError::BadPath);
        }
        let size = u32::try_from(content.len()).map_err(|_| ArchiveError::TooLarge)?;
        self.count += 1;
        self.entry(path, mode, size, content);
        Ok(self)
    }

    fn entry(&mut self, path: &str, mode: u32, size: u32, content: &[u8]) {
        // Number, mode, user, group, links, time, size, device, its kind's device, path, checksum.
        let path_size = path.len() as u32 + 1;
        let fields = [self.count, mode, 0, 0, 1, 0, size, 0, 0, 0, 0, path_size, 0];
        self.bytes.extend_from_slice(MAGIC.as_bytes());
        for field in fields {
            self.bytes.extend_from_slice(format!("{field:08x}").as_bytes());
        }
        self.bytes.extend_from_slice(path.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend_from_slice(content);
        self.pad();
    }

    fn pad(&mut self) {
        let length = self.bytes.len().next_multiple_of(ALIGNMENT);
        self.bytes.resize(length, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_has_the_form_of_newc() {
        let archive = Archive::new().directory("/nacre", 0o755).unwrap();
        let bytes = archive.file("nacre/a", 0o600, b"hello").unwrap().finish();
        let text = String::from_utf8(bytes.clone()).unwrap();
        let rest = ["00000000"; 6].concat();
        let first = format!("070701{:08x}{:08x}{:016x}{:08x}", 1, 0o40755, 0, 1);
        assert_eq!(text[..110], format!("{first}{rest}{:08x}{:08x}", 6, 0));
        assert_eq!(&text[110..116], "nacre\0");
        assert_eq!(&text[116..138], "0707010000000200008180");
        assert_eq!(&text[226..242], "nacre/a\0\0\0hello\0");
        assert!(text.ends_with("TRAILER!!!\0\0\0\0") && bytes.len() % 4 == 0);
    }

    #[test]
    fn paths_that_would_spoil_it_are_refused() {
        for path in ["", "/", "a\0b", END, &"x".repeat(4096)] {
            assert_eq!(Archive::new().file(path, 0, b"").unwrap_err(), ArchiveError::BadPath);
        }
    }
}
