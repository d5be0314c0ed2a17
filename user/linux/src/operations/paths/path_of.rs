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

/// The path of the current directory.
pub fn current_path(process: &mut Process) -> Result<Vec<u8>, Errno> {
    match process.current.as_ref().and_then(|current| current.node()) {
        Some(node) => Ok(node.path().into_bytes()),
        None => path_of(process.current_directory()?),
    }
}
