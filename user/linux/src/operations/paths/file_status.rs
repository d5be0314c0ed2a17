//! Status of open files.

use crate::abi::errno::{EIO, Errno};
use crate::operations::paths::permissions::S_IFLNK;
use crate::operations::proc;
use crate::process::Process;
use crate::state::files::open_file::OpenFile;
use crate::state::files::proc_node::Node;
use nacre_proto::{channel, directory, file, process as manager};
use nacre_proto::structures::Status;

const PIPE_MODE: u64 = 0o010600;

/// The status of an open file.
pub fn of_file(process: &mut Process, open: &OpenFile) -> Result<Status, Errno> {
    if let Some(end) = open.pipe() {
        return Ok(Status { mode: PIPE_MODE, links: 1, block_size: 4096, size: end.waiting() as u64, ..Status::default() });
    }
    if let Some(node) = open.node() {
        return status_of_node(process, node);
    }
    if let Some(found) = open.found_by.get() {
        return Ok((**found).clone());
    }
    if open.process().is_some() {
        return Ok(Status { mode: 0o600, links: 1, block_size: 4096, ..Status::default() });
    }
    let mut bytes = [0; Status::SIZE];
    let target = open.reference()?;
    process.unlocked(|| file::status(target, &mut bytes))?;
    Status::from_bytes(&bytes).ok_or(EIO)
}

pub(super) fn status_of_node(process: &mut Process, node: Node) -> Result<Status, Errno> {
    match node {
        Node::Terminal(Some(number)) => proc::terminals::status_of_terminal(process, number),
        Node::Terminal(None) => Ok(channel::terminal_as_file(0, false)),
        node => {
            let owner = node.process().map_or([0; 2], |pid| owner_of_process(process, pid));
            let [uid, gid] = owner;
            let status = node.status();
            let mode = mode_of_descriptor(process, node).unwrap_or(status.mode);
            Ok(Status { uid, gid, mode, ..status })
        }
    }
}

/// Returns the mode of a link to a file that the process has open: it says what for.
fn mode_of_descriptor(process: &mut Process, node: Node) -> Option<u64> {
    let Node::Descriptor(pid, number) = node else { return None };
    let open = process.descriptors.get(number).ok().filter(|_| pid == process.pid())?;
    let may = |is_open_so: bool, bits: u64| if is_open_so { bits } else { 0 };
    Some(S_IFLNK | may(open.can_read(), 0o500) | may(open.can_write(), 0o300))
}

/// Effective user and group of a process; the group of another one is not known.
fn owner_of_process(process: &mut Process, pid: u64) -> [u64; 2] {
    if pid == process.pid() {
        let [_, user, _, _, group, _] = process.identity.owner().map(u64::from);
        return [user, group];
    }
    manager::look(nacre_sys::Reference::PARENT, pid, &mut [0; 1024]).map_or([0; 2], |found| [found.effective, 0])
}

/// The status of what a path of the library's names.
pub fn of_path(directory: nacre_sys::Reference, path: &[u8]) -> Result<Status, Errno> {
    let mut bytes = [0; Status::SIZE];
    directory::status_at(directory, 0, path, &mut bytes)?;
    Status::from_bytes(&bytes).ok_or(EIO)
}
