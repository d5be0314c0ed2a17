//! Open files of `/proc`: texts that are made when they are read from their start, and folders.
//! Descriptors of processes are here too.

use crate::abi::errno::{Answer, EACCES, EINVAL, EISDIR, ELOOP, ENOENT, ENOTDIR, Errno};
use crate::abi::file_flags::{O_ACCESS, O_CLOEXEC, O_DIRECTORY, O_PATH, O_WRONLY, S_IFDIR, S_IFREG};
use crate::operations::proc::ask_process::{self, link_of_other};
use crate::operations::proc::memory_facts;
use crate::operations::proc::names::{self, pack};
use crate::operations::proc::remote_query;
use crate::operations::proc::text;
use crate::operations::proc::tree;
use crate::process::Process;
use crate::state::files::in_process_file::InProcessFile;
use crate::state::files::open_file::{Kind, OpenFile};
use crate::state::files::proc_node::{Node, Shown, Target};
use alloc::vec::Vec;
use core::cell::RefCell;

/// Opens something in `/proc`, if the path leads there; `Outside` is where it leads otherwise.
pub fn open_in_proc(process: &mut Process, descriptor: u64, path: &[u8], flags: u32) -> Option<Result<Opened, Errno>> {
    const O_CREAT: u32 = 0o100;
    const O_NOFOLLOW: u32 = 0o400_000;
    let node = match tree::in_proc(process, descriptor, path, flags & O_NOFOLLOW == 0)? {
        Ok(Target::Outside(path)) => return Some(Ok(Opened::Outside(path))),
        Ok(Target::Node(node)) => node,
        Err(ENOENT) if flags & O_CREAT != 0 => return Some(Err(EACCES)),
        Err(error) => return Some(Err(error)),
    };
    Some(match node {
        Node::Descriptor(pid, number) if pid == process.pid() => Ok(Opened::Descriptor(number)),
        Node::Descriptor(pid, number) => open_of_other(process, pid, number, flags),
        Node::Descriptors(..) if let Err(error) = ask_process::numbers_in(process, node) => Err(error),
        node if flags & O_DIRECTORY != 0 && !node.is_folder() => Err(ENOTDIR),
        node if flags & O_ACCESS != 0 && flags & O_PATH == 0 && !(node.is_written() && node.process() == Some(process.pid())) => Err(if node.is_folder() { EISDIR } else { EACCES }),
        Node::Link(_) | Node::Own | Node::OwnThread | Node::Place(..) => Err(ELOOP),
        node => process.open(Shown::open(node, 0, flags & (O_ACCESS | O_PATH)), flags & O_CLOEXEC != 0).map(Opened::Here),
    })
}

/// Reads what is shown, at a position or (`None`) at its own.
pub fn read_shown(process: &mut Process, file: &RefCell<InProcessFile>, at: Option<u64>, into: &mut [u8]) -> Result<usize, Errno> {
    let (node, position) = match &*file.borrow() {
        InProcessFile::Shown(shown) => (shown.node, at.unwrap_or(shown.position)),
        _ => return Err(EINVAL),
    };
    if node.is_folder() {
        return Err(EISDIR);
    }
    if let Node::Fact(pid, _, "pagemap") = node
        && pid == process.pid()
    {
        return read_pages(process, file, position, at.is_none(), into);
    }
    let fresh = if position == 0 { Some(text::text_of(process, node)?) } else { None };
    let is_empty = matches!(&*file.borrow(), InProcessFile::Shown(shown) if shown.text.is_empty());
    let fresh = match fresh {
        None if is_empty => Some(text::text_of(process, node)?),
        fresh => fresh,
    };
    let InProcessFile::Shown(shown) = &mut *file.borrow_mut() else { return Err(EINVAL) };
    shown.text = fresh.unwrap_or(core::mem::take(&mut shown.text));
    let rest = usize::try_from(position).ok().and_then(|start| shown.text.get(start..)).unwrap_or_default();
    let count = rest.len().min(into.len());
    into[..count].copy_from_slice(&rest[..count]);
    if at.is_none() {
        shown.position += count as u64;
    }
    Ok(count)
}

/// Reads what there is of pages of memory, at a position that may be far.
fn read_pages(process: &Process, file: &RefCell<InProcessFile>, position: u64, moves: bool, into: &mut [u8]) -> Result<usize, Errno> {
    if !position.is_multiple_of(8) || !into.len().is_multiple_of(8) {
        return Err(EINVAL);
    }
    let bytes = memory_facts::pagemap(process, position, into.len());
    into[..bytes.len()].copy_from_slice(&bytes);
    if let InProcessFile::Shown(shown) = &mut *file.borrow_mut()
        && moves
    {
        shown.position += bytes.len() as u64;
    }
    Ok(bytes.len())
}

/// Entries of a folder, as a server gives them.
pub fn list_shown(process: &mut Process, node: Node, cookie: u64, batch: &mut [u8]) -> Result<(u64, usize), Errno> {
    Ok(pack(&names::names_in(process, node), cookie, batch))
}

/// Moves the position of what is shown, as `lseek` does.
pub fn seek(file: &OpenFile, offset: u64, whence: u64) -> Option<Answer> {
    let Kind::Local(local) = &file.kind else { return None };
    let InProcessFile::Shown(shown) = &mut *local.borrow_mut() else { return None };
    let from = match whence {
        0 => 0,
        1 => shown.position,
        _ => return Some(Err(EINVAL)),
    };
    let position = from.wrapping_add(offset);
    if (position as i64) < 0 {
        return Some(Err(EINVAL));
    }
    shown.position = position;
    Some(Ok(position))
}

/// Result of opening a path in `/proc`.
pub enum Opened {
    /// File that is open now.
    Here(u64),
    /// Name of a descriptor.
    Descriptor(u64),
    /// Link to this path outside of `/proc`.
    Outside(Vec<u8>),
}

impl Shown {
    /// Makes the open file of a node at a position.
    pub fn open(node: Node, position: u64, flags: u32) -> OpenFile {
        let mode = if node.is_folder() { S_IFDIR | 0o555 } else { S_IFREG | node.mode() as u32 & 0o777 };
        OpenFile::new(Kind::Local(RefCell::new(InProcessFile::Shown(Shown { node, position, text: Vec::new() }))), mode, flags)
    }
}

/// Opens what another process has open, by its name, or as it is if it has none.
pub fn open_of_other(process: &mut Process, pid: u64, number: u64, flags: u32) -> Result<Opened, Errno> {
    let path = link_of_other(process, Node::Descriptor(pid, number))?;
    if path.starts_with(b"/") {
        return Ok(Opened::Outside(path));
    }
    let file = remote_query::ask_file(process, pid, number)?;
    if flags & O_ACCESS != O_WRONLY && !file.can_read() || flags & O_ACCESS != 0 && !file.can_write() {
        return Err(EACCES);
    }
    process.open(file, flags & O_CLOEXEC != 0).map(Opened::Here)
}
