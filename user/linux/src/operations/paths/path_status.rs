//! Status of files by path.

use crate::abi::errno::{EINVAL, EIO, ENOENT, Errno};
use crate::abi::file_flags::{AT_EMPTY_PATH, AT_SYMLINK_NOFOLLOW, CURRENT};
use crate::operations::files::named_memory;
use crate::operations::paths::file_status::{self, of_file};
use crate::operations::paths::path_start;
use crate::operations::paths::permissions;
use crate::operations::proc;
use crate::process::Process;
use crate::process::exchange::Place;
use crate::state::files::proc_node::{Node, Target};
use nacre_proto::{directory, file};
use nacre_proto::structures::Status;

const AT_NO_AUTOMOUNT: u64 = 0x800;
pub const AT_STATX_SYNC: u64 = 0x6000;

/// The status of what a place names.
pub fn of_place(process: &mut Process, place: Place<'_>, flags: u64) -> Result<Status, Errno> {
    let mut bytes = [0; Status::SIZE];
    process.ask_at(place, |directory, path| directory::status_at(directory, flags & AT_SYMLINK_NOFOLLOW, path, &mut bytes).map(drop))?;
    Status::from_bytes(&bytes).ok_or(EIO)
}

/// The status of the path at `address`, used with a descriptor and `AT_` flags.
pub fn at(process: &mut Process, descriptor: u64, address: u64, flags: u64) -> Result<Status, Errno> {
    if flags & !(AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT | AT_STATX_SYNC) != 0 {
        return Err(EINVAL);
    }
    let path = if address == 0 && flags & AT_EMPTY_PATH != 0 { &[] } else { process.memory.path(address)? };
    if path.is_empty() && flags & AT_EMPTY_PATH != 0 {
        return of_descriptor(process, descriptor);
    }
    if let Some(number) = path_start::own_descriptor(path).filter(|_| flags & AT_SYMLINK_NOFOLLOW == 0) {
        return of_descriptor(process, number?).map_err(|_| ENOENT);
    }
    if let Some(known) = proc::terminals::terminal_status(process, path) {
        return known;
    }
    if let Some(known) = named_memory::status_of_named_memory(path) {
        return known;
    }
    match proc::tree::in_proc(process, descriptor, path, flags & AT_SYMLINK_NOFOLLOW == 0) {
        Some(target) => of_target(process, target?, flags),
        None => {
            let place = process.place(descriptor, address)?;
            permissions::check_place(process, place, flags & AT_SYMLINK_NOFOLLOW == 0, 0)?;
            of_place(process, place, flags)
        }
    }
}

/// The status of what a path in `/proc` leads to.
fn of_target(process: &mut Process, target: Target, flags: u64) -> Result<Status, Errno> {
    match target {
        Target::Node(Node::Descriptor(pid, number)) if flags & AT_SYMLINK_NOFOLLOW == 0 && pid == process.pid() => {
            of_descriptor(process, number).map_err(|_| ENOENT)
        }
        Target::Node(node @ Node::Descriptor(..)) if flags & AT_SYMLINK_NOFOLLOW == 0 => match proc::ask_process::status_of_other(process, node)? {
            Ok(status) => Ok(status),
            Err(path) => of_target(process, Target::Outside(path), flags),
        },
        Target::Node(node) => file_status::status_of_node(process, node),
        Target::Outside(path) => {
            if let Some(known) = proc::terminals::terminal_status(process, &path) {
                return known;
            }
            let mut bytes = [0; Status::SIZE];
            directory::status_at(process.services.files()?, flags & AT_SYMLINK_NOFOLLOW, path.as_slice(), &mut bytes)?;
            Status::from_bytes(&bytes).ok_or(EIO)
        }
    }
}

/// The status of a descriptor, or of the current directory.
fn of_descriptor(process: &mut Process, descriptor: u64) -> Result<Status, Errno> {
    if descriptor as u32 != CURRENT as u32 {
        let open = process.descriptors.get(descriptor)?;
        return of_file(process, &open);
    }
    if let Some(node) = process.current.as_ref().and_then(|current| current.node()) {
        return Ok(node.status());
    }
    let mut bytes = [0; Status::SIZE];
    let current = process.current_directory()?;
    process.while_asking([current], |[current]| file::status(current, &mut bytes).map(drop))?;
    Status::from_bytes(&bytes).ok_or(EIO)
}
