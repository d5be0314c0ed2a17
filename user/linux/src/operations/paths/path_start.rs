//! Where a path starts: the directory that a call names beside it, and the few names that mean the
//! process itself.

use crate::abi::errno::{ENOENT, ENOTDIR, Errno};
use crate::abi::file_flags::{AT_FDCWD, CURRENT};
use crate::abi::registers::Frame;
use crate::process::Process;
use crate::process::exchange::Place;
use nacre_sys::Reference;

impl Process {
    /// The path at `address`, used with `descriptor`.
    pub fn place(&mut self, descriptor: u64, address: u64) -> Result<Place<'static>, Errno> {
        let path = self.memory.path(address)?;
        if path.is_empty() {
            return Err(ENOENT);
        }
        Ok(Place { directory: directory(self, descriptor, path)?, path })
    }
}

/// The directory that `path` starts at if it is used with `descriptor`.
pub fn directory(process: &mut Process, descriptor: u64, path: &[u8]) -> Result<Reference, Errno> {
    if path.first() == Some(&b'/') {
        return process.root_directory();
    }
    if descriptor as i32 == AT_FDCWD {
        return process.current_directory();
    }
    let file = process.descriptors.get(descriptor)?;
    if file.pipe().is_some() { Err(ENOTDIR) } else { file.reference() }
}

/// The place that a call without a descriptor names in its first argument.
pub fn first_place(process: &mut Process, frame: &Frame) -> Result<Place<'static>, Errno> {
    process.place(CURRENT, frame.arguments()[0])
}

/// The number in a path such as `/dev/fd/3`, whose file is a descriptor of the process.
pub fn own_descriptor(path: &[u8]) -> Option<Result<u64, Errno>> {
    match path {
        b"/dev/stdin" => return Some(Ok(0)),
        b"/dev/stdout" => return Some(Ok(1)),
        b"/dev/stderr" => return Some(Ok(2)),
        _ => {}
    }
    let digits = path.strip_prefix(b"/dev/fd/").or_else(|| path.strip_prefix(b"/proc/self/fd/"))?;
    let number = core::str::from_utf8(digits).ok().and_then(|digits| digits.parse::<u32>().ok());
    Some(number.map(u64::from).ok_or(ENOENT))
}

/// Returns true if a path names the file that the program was loaded from.
pub fn is_own_executable(path: &[u8]) -> bool {
    path == b"/proc/self/exe"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_descriptors_have_names() {
        assert_eq!(own_descriptor(b"/dev/stdout"), Some(Ok(1)));
        assert_eq!(own_descriptor(b"/dev/fd/17"), Some(Ok(17)));
        assert_eq!(own_descriptor(b"/proc/self/fd/x"), Some(Err(ENOENT)));
        assert_eq!(own_descriptor(b"/dev/null"), None);
    }
}
