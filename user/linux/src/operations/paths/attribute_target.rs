//! What a call about attributes means: a file of the server's, an open file, or the name of a
//! terminal, which no server of files knows.

use crate::abi::errno::{EBADF, ENOENT, EPERM, Errno};
use crate::abi::file_flags::{AT_EMPTY_PATH, AT_SYMLINK_NOFOLLOW, CURRENT, O_PATH};
use crate::operations::paths::path_start::own_descriptor;
use crate::operations::proc;
use crate::process::Process;
use crate::state::files::proc_node::{Node, Target};
use crate::state::files::terminal_name::{Name, name};
use alloc::vec::Vec;
use nacre_sys::Reference;

/// File or other object whose attributes a call reads or sets.
pub enum Subject {
    /// An open file.
    Descriptor(u64),
    /// The terminal with this number.
    Terminal(u64),
    /// A path that starts at this directory.
    Path(Reference, Vec<u8>),
}

/// Resolves the path at `address`, used with a descriptor and `AT_` flags.
pub fn subject(process: &mut Process, descriptor: u64, address: u64, flags: u64) -> Result<Subject, Errno> {
    let path = process.memory.path(address)?;
    let follow = flags & AT_SYMLINK_NOFOLLOW == 0;
    if path.is_empty() && flags & AT_EMPTY_PATH != 0 {
        return open_subject(process, descriptor);
    }
    if let Some(number) = own_descriptor(path).filter(|_| follow) {
        return open_subject(process, number?).map_err(|_| ENOENT);
    }
    let elsewhere = match proc::tree::in_proc(process, descriptor, path, follow) {
        Some(found) => match found? {
            Target::Node(Node::Descriptor(pid, number)) if follow && pid == process.pid() => return open_subject(process, number),
            Target::Node(node @ Node::Descriptor(..)) if follow => {
                Some(proc::tree::target_of(process, node)?).filter(|path| path.starts_with(b"/")).map(Some).ok_or(EPERM)?
            }
            Target::Node(_) => return Err(EPERM),
            Target::Outside(path) => Some(path),
        },
        None => None,
    };
    if let Some(Name::Slave(number)) = name(elsewhere.as_deref().unwrap_or(path)).filter(|_| proc::terminals::has_terminals(process)) {
        return Ok(Subject::Terminal(number));
    }
    match elsewhere {
        Some(path) => Ok(Subject::Path(process.services.files()?, path)),
        None => process.place(descriptor, address).map(|place| Subject::Path(place.directory, place.path.to_vec())),
    }
}

/// Returns the target of an open file, or of the current directory.
fn open_subject(process: &mut Process, descriptor: u64) -> Result<Subject, Errno> {
    if descriptor as u32 == CURRENT as u32 {
        return Ok(Subject::Path(process.current_directory()?, Vec::from(b".")));
    }
    match process.descriptors.get(descriptor)?.node() {
        Some(Node::Terminal(Some(number))) => Ok(Subject::Terminal(number)),
        Some(_) => Err(EPERM),
        None => Ok(Subject::Descriptor(descriptor)),
    }
}

/// `EBADF` for a descriptor that is the name of a file, and not the file.
pub fn check_opened(process: &Process, descriptor: u64) -> Result<(), Errno> {
    if process.descriptors.get(descriptor)?.flags.get() & O_PATH == 0 { Ok(()) } else { Err(EBADF) }
}
