//! File systems of the server's, as `statfs` and `/proc/mounts` tell of them.

use crate::abi::errno::Errno;
use crate::operations::paths::path_of;
use crate::process::Process;
use crate::state::memory::user_access::PATH_MAX;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use nacre_proto::directory::{self, file_system_status};
use nacre_sys::Reference;

/// Line of `/proc` itself, in `mounts` and in `mountinfo`.
const PROC: &str = "proc /proc proc rw,nosuid,nodev,noexec,relatime 0 0\n";
const PROC_INFO: &str = "0:21 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw\n";
/// Number of `/proc` in `mountinfo`.
const PROC_NUMBER: u64 = 21;
/// Bytes of the words before the path, at most.
const WORDS: usize = 64;

/// A file system.
pub struct FileSystem {
    /// Number in the status of its files, and sizes.
    pub sizes: file_system_status::Reply,
    /// Kind, as Linux calls it.
    kind: String,
    /// Access: `ro` or `rw`.
    access: String,
    /// Path of its outermost directory.
    path: Vec<u8>,
}

impl FileSystem {
    /// Asks the server for the file system with this number, or that with the next higher one.
    pub fn find(files: Reference, from: u64) -> Result<FileSystem, Errno> {
        let mut about = alloc::vec![0; PATH_MAX as usize + WORDS];
        let sizes = directory::file_system_status(files, from, about.as_mut_slice())?;
        let mut words = about.get(..sizes.about).unwrap_or_default().splitn(3, |&byte| byte == b' ');
        let [kind, access, path] = [(); 3].map(|()| words.next().unwrap_or_default());
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(FileSystem { kind: text(kind), access: text(access), path: path.to_vec(), sizes })
    }

    /// Number of its kind in `statfs`.
    pub fn magic(&self) -> u64 {
        match self.kind.as_str() {
            "9p" => 0x0102_1997,
            "ext4" => 0xef53,
            _ => 0x0102_1994,
        }
    }

    /// Flags of its mount in `statfs`.
    pub fn flags(&self) -> u64 {
        const READ_ONLY: u64 = 1;
        const VALID: u64 = 0x20;
        const RELATIVE_TIMES: u64 = 0x1000;
        VALID | RELATIVE_TIMES | if self.access == "ro" { READ_ONLY } else { 0 }
    }

    /// Name of what it lies on.
    fn source(&self) -> &'static str {
        match self.kind.as_str() {
            "9p" => "host",
            "ext4" => "disk",
            _ => "nacre",
        }
    }
}

/// All file systems, with their paths as the process sees them, in the form of these files.
fn all(process: &mut Process) -> Vec<(FileSystem, Vec<u8>)> {
    let (mut found, mut from) = (Vec::new(), 0);
    let Ok(files) = process.services.files() else { return found };
    while let Ok(next) = FileSystem::find(files, from) {
        if next.sizes.device < from {
            break;
        }
        from = next.sizes.device + 1;
        if let Ok(Some(path)) = path_of::seen(process, &next.path) {
            let path = escaped(&path);
            found.push((next, path));
        }
    }
    found
}

/// A path without the bytes that these files use between words.
fn escaped(path: &[u8]) -> Vec<u8> {
    let byte = |byte: &u8| match byte {
        b' ' | b'\t' | b'\n' | b'\\' | b'#' => format!("\\{byte:03o}").into_bytes(),
        byte => Vec::from([*byte]),
    };
    if path.is_empty() { Vec::from(b"/") } else { path.iter().flat_map(byte).collect() }
}

/// Text of `/proc/mounts`.
pub fn mounts(process: &mut Process) -> Vec<u8> {
    let line = |(found, path): (FileSystem, Vec<u8>)| {
        let rest = format!(" {} {},relatime 0 0\n", found.kind, found.access);
        [found.source().as_bytes(), b" ", &path, rest.as_bytes()].concat()
    };
    let lines = all(process).into_iter().flat_map(line);
    lines.chain(PROC.bytes()).collect()
}

/// Text of `/proc/self/mountinfo`.
pub fn mountinfo(process: &mut Process) -> Vec<u8> {
    let all = all(process);
    let root = all.iter().rev().find(|(_, path)| path == b"/").map_or(1, |(found, _)| found.sizes.device);
    let line = |(found, path): (FileSystem, Vec<u8>)| {
        let (device, kind, access, source) = (found.sizes.device, &found.kind, &found.access, found.source());
        let parent = if device == root { 0 } else { root };
        let (before, after) = (format!("{device} {parent} 0:{device} / "), format!(" {access},relatime - {kind} {source} {access}\n"));
        [before.as_bytes(), &path, after.as_bytes()].concat()
    };
    let lines = all.into_iter().flat_map(line);
    lines.chain(format!("{PROC_NUMBER} {root} {PROC_INFO}").into_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn a_path_has_no_blanks() {
        assert_eq!([escaped("/a b\\c\nd#\u{e4}".as_bytes()), escaped(b"")], ["/a\\040b\\134c\\012d\\043\u{e4}".as_bytes(), b"/"]);
    }
}
