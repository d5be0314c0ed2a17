//! Initial file systems of Linux kernels.

use std::path::Path;

use super::{modules, port_program};
use super::files::{BUSYBOX, Entry, Files};
use crate::failure::Outcome;

/// First program of a guest that has no file system of its own: a shell, or the command that the
/// monitor lays beside it.
const INIT: &str = include_str!("init.sh");

/// An initial file system with busybox and all its applets, and modules of the kernel whose package
/// was extracted to `kernel`.
pub fn busybox(kernel: Option<&Path>) -> Outcome<Vec<u8>> {
    let mut files = Files::default();
    files.add_from_host(Path::new(BUSYBOX), Path::new(BUSYBOX))?;
    files.add_file(Path::new("/init"), 0o755, INIT.as_bytes());
    files.add_file(Path::new("/nacre/port"), 0o755, port_program::elf());
    if let Some(kernel) = kernel {
        modules::add(&mut files, kernel);
    }
    Ok(archive(&files))
}

/// An initial file system in the format `newc`: a console, a few directories, and the files.
pub fn archive(files: &Files) -> Vec<u8> {
    const DIRECTORY: u32 = 0o040755;
    const CHARACTER_DEVICE: u32 = 0o020600;
    let mut archive = Vec::new();
    for name in ["dev", "proc", "tmp", "bin", "nacre"] {
        add(&mut archive, name, DIRECTORY, (0, 0), &[]);
    }
    add(&mut archive, "dev/console", CHARACTER_DEVICE, (5, 1), &[]);
    for (path, Entry { mode, content, .. }) in files.iter() {
        let path = path.to_string_lossy();
        add(&mut archive, path.trim_start_matches('/'), *mode, (0, 0), content);
    }
    add(&mut archive, "TRAILER!!!", 0, (0, 0), &[]);
    archive
}

fn add(archive: &mut Vec<u8>, name: &str, mode: u32, device: (u32, u32), content: &[u8]) {
    let number = archive.len() as u32 + 1;
    let fields = [number, mode, 0, 0, 1, 0, content.len() as u32, 0, 0, device.0, device.1, name.len() as u32 + 1, 0];
    archive.extend_from_slice(b"070701");
    for field in fields {
        archive.extend_from_slice(format!("{field:08x}").as_bytes());
    }
    archive.extend_from_slice(name.as_bytes());
    archive.push(0);
    archive.resize(archive.len().next_multiple_of(4), 0);
    archive.extend_from_slice(content);
    archive.resize(archive.len().next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_is_aligned_and_ends() {
        let mut files = Files::default();
        files.add_file(Path::new("/init"), 0o755, *b"12345");
        let archive = archive(&files);
        assert_eq!(archive.len() % 4, 0);
        let text = String::from_utf8_lossy(&archive);
        assert!(text.starts_with("070701") && text.contains("TRAILER!!!") && text.contains("init\0"));
        assert_eq!(text.matches("070701").count(), 8);
    }
}
