//! Opening files.

use crate::abi::errno::{Answer, E2BIG, EACCES, EINVAL, EMFILE, ENOENT, ENOTDIR, EPERM};
use crate::abi::file_flags::{CURRENT, O_ACCESS, O_APPEND, O_CLOEXEC, O_DIRECT, O_NONBLOCK, O_PATH, O_WRONLY, S_IFCHR, S_IFDIR, S_IFMT};
use crate::abi::file_flags::S_IFREG;
use crate::abi::registers::Frame;
use crate::operations::files::busy_file;
use crate::operations::files::named_memory;
use crate::operations::files::named_pipe;
use crate::operations::paths::file_status;
use crate::operations::paths::path_resolve::{Resolved, Rules};
use crate::operations::paths::path_of;
use crate::operations::paths::path_start::{self, own_descriptor};
use crate::operations::paths::path_status;
use crate::operations::paths::permissions::{self, EXECUTE, Found, READ, WRITE};
use crate::operations::proc;
use crate::operations::proc::open::Opened;
use crate::operations::terminals::terminal_io;
use crate::process::Process;
use crate::process::exchange::Place;
use crate::state::files::open_file::{Kind, OpenFile};
use crate::state::files::proc_node::Node;
use alloc::rc::Rc;
use alloc::vec::Vec;
use nacre_proto::{Errno, directory, file};
use nacre_proto::structures::Status;

const O_CREAT: u32 = 0o100;
const O_EXCL: u32 = 0o200;
const O_NOCTTY: u32 = 0o400;
const O_TRUNC: u32 = 0o1000;
const O_DIRECTORY: u32 = 0o200000;
const O_LARGEFILE: u32 = 0o100000;
const O_NOFOLLOW: u32 = 0o400000;
const O_SYNC: u32 = 0o4010000;
const O_NOATIME: u32 = 0o1000000;
/// Without `O_DIRECTORY`, which comes with it.
const O_TMPFILE: u32 = 0o20000000;
/// Flags that mean something to this library alone, or nothing.
const OWN: u32 = O_CLOEXEC | O_NOCTTY | O_LARGEFILE;
/// Flags that stay with the open file.
const KEPT: u32 = O_ACCESS | O_APPEND | O_NONBLOCK | O_PATH | O_SYNC | O_DIRECT | O_DIRECTORY | O_NOFOLLOW | O_NOATIME;
const MODE: u64 = 0o7777;
/// All flags that there are.
const KNOWN: u32 = KEPT | OWN | O_CREAT | O_EXCL | O_TRUNC | O_TMPFILE | O_ASYNC;
const O_ASYNC: u32 = 0o20000;
/// Size of what `openat2` is told.
const HOW: u64 = 24;
const AT_EACCESS_EFFECTIVE: u64 = 0x200;
const ENXIO: Errno = Errno::ENXIO;

/// Opens the path at `address`.
fn open_at(process: &mut Process, descriptor: u64, address: u64, flags: u64, mode: u64) -> Answer {
    let flags = flags as u32;
    let path = process.memory.path(address)?;
    if path.is_empty() {
        return Err(ENOENT);
    }
    if let Some(number) = own_descriptor(path) {
        return open_own(process, number?, flags);
    }
    let mut elsewhere = None;
    match proc::open::open_in_proc(process, descriptor, path, flags) {
        None => {}
        Some(opened) => match opened? {
            Opened::Here(number) => return Ok(number),
            Opened::Descriptor(number) => return open_own(process, number, flags),
            Opened::Outside(path) => elsewhere = Some(path_of::seen(process, &path)?.ok_or(ENOENT)?),
        },
    }
    let path = elsewhere.as_deref().unwrap_or(path);
    if let Some(opened) = terminal_io::open_terminal(process, path, flags) {
        return opened;
    }
    if let Some(opened) = named_memory::open_named_memory(process, &path.to_vec(), flags) {
        return opened;
    }
    open_path(process, descriptor, path, flags, mode)
}

/// Opens what a server has at a path.
fn open_path(process: &mut Process, descriptor: u64, path: &[u8], flags: u32, mode: u64) -> Answer {
    if process.descriptors.is_full(process.limits.descriptors()) {
        return Err(EMFILE);
    }
    let directory = path_start::directory(process, descriptor, path)?;
    let parent = check_open(process, Place { directory, path }, flags)?;
    let mode = mode & MODE & !u64::from(process.identity.umask);
    let mode = parent.as_ref().map_or(mode, |parent| permissions::mode_in(process, parent, mode));
    // Another thread may close the directory while this one waits for the answer.
    let base = match path.first() {
        Some(b'/') => process.root.clone(),
        _ if descriptor as u32 == CURRENT as u32 => process.current.clone(),
        _ => Some(process.descriptors.get(descriptor)?),
    };
    // A copy, because another thread may change or unmap what the program passed.
    let owned = path.to_vec();
    let path = &owned[..];
    let mut file = match busy_file::while_busy(process, |process| process.unlocked(|| directory::open(directory, u64::from(flags & !OWN), mode, path))) {
        Ok(opened) => {
            if let Some(parent) = parent {
                let [user, group] = permissions::owner_in(process, &parent);
                file::set_owner(opened.file.handle(), user, group)?;
                // A file that changes hands loses what it was trusted with.
                if permissions::sets_ids(mode) {
                    file::set_mode(opened.file.handle(), mode)?;
                }
            }
            OpenFile::new(Kind::Remote(opened.file), opened.mode as u32, flags & KEPT)
        }
        // The server has no pipes.
        Err(ENXIO) => named_pipe::open_fifo(process, directory, path, flags & (KEPT | O_DIRECT))?,
        Err(error) => return Err(error),
    };
    file.is_null = path == b"/dev/null" && file.mode.get() & S_IFMT == S_IFCHR;
    *file.opened_by.borrow_mut() = Some(opened_by(base, owned));
    process.open(file, flags & O_CLOEXEC != 0)
}

/// Returns the path that a file was opened by, and its base. A path from another root is relative
/// to that.
fn opened_by(base: Option<Rc<OpenFile>>, path: Vec<u8>) -> (Option<Rc<OpenFile>>, Vec<u8>) {
    let start = path.iter().position(|byte| *byte != b'/').unwrap_or(path.len());
    match base {
        Some(base) if start == path.len() => (Some(base), b".".to_vec()),
        Some(base) => (Some(base), path[start..].to_vec()),
        None => (None, path),
    }
}

/// Checks that modes let the user open a place. Returns the directory if the call makes a file in
/// it.
fn check_open(process: &mut Process, place: Place<'_>, flags: u32) -> Result<Option<Status>, Errno> {
    let is_new = flags & (O_CREAT | O_EXCL) == O_CREAT | O_EXCL;
    let Some(Found { parent, file }) = permissions::judge(process, place, flags & O_NOFOLLOW == 0 && !is_new)? else {
        return Ok(None);
    };
    let writes = flags & O_ACCESS != 0 || flags & O_TRUNC != 0;
    match file {
        None if flags & O_CREAT != 0 => permissions::check_mode(process, &parent, WRITE | EXECUTE).map(|()| Some(parent)),
        Some(folder) if flags & O_TMPFILE != 0 => permissions::check_mode(process, &folder, WRITE | EXECUTE).map(|()| Some(folder)),
        // Which of them there may not be, or may not be written, the server says.
        Some(status) if !is_new && flags & O_PATH == 0 && !(writes && status.mode & u64::from(S_IFMT) == u64::from(S_IFDIR)) => {
            let wanted = if flags & O_ACCESS == O_WRONLY { 0 } else { READ } | if writes { WRITE } else { 0 };
            permissions::check_mode(process, &status, wanted)?;
            if flags & O_NOATIME != 0 && !permissions::owns(process, &status) { Err(EPERM) } else { Ok(None) }
        }
        _ => Ok(None),
    }
}

/// Returns the path of a descriptor's file. Pipes, sockets and files that have lost their name have
/// none.
fn name_of_own(process: &mut Process, number: u64, file: &OpenFile) -> Option<Vec<u8>> {
    let has_name = file.node().is_some() || matches!(file.kind, Kind::Remote(_)) && matches!(file.mode.get() & S_IFMT, S_IFREG | S_IFDIR | S_IFCHR);
    if !has_name || file.is_master() {
        return None;
    }
    let own = process.pid();
    let path = proc::tree::target_of(process, Node::Descriptor(own, number)).ok()?;
    if proc::terminals::terminal_status(process, &path).is_some() || file.node().is_some() {
        return Some(path);
    }
    let (now, then) = (file_status::of_path(process.services.files().ok()?, &path).ok()?, file_status::of_file(process, file).ok()?);
    ((now.device, now.inode) == (then.device, then.inode)).then_some(path)
}

/// Opens a name of one of the process's own descriptors: its file once more, or, where that has no
/// name, a second descriptor of the same open file.
fn open_own(process: &mut Process, number: u64, flags: u32) -> Answer {
    let file = process.descriptors.get(number).map_err(|_| ENOENT)?;
    if flags & (O_CREAT | O_EXCL) == O_CREAT | O_EXCL {
        return Err(Errno::EEXIST);
    }
    if let Some(path) = name_of_own(process, number, &file) {
        return match terminal_io::open_terminal(process, &path, flags) {
            Some(opened) => opened,
            None => match proc::open::open_in_proc(process, CURRENT, &path, flags) {
                Some(Ok(Opened::Here(number))) => Ok(number),
                Some(Err(error)) => Err(error),
                _ => match path_of::seen(process, &path)? {
                    Some(path) => open_path(process, CURRENT, &path, flags & !(O_CREAT | O_NOFOLLOW), 0),
                    None => Err(ENOENT),
                },
            },
        };
    }
    let (to_read, to_write) = (flags & O_ACCESS != O_WRONLY, flags & O_ACCESS != 0);
    if to_read && !file.can_read() || to_write && !file.can_write() {
        return Err(EACCES);
    }
    if flags & O_DIRECTORY != 0 {
        return Err(ENOTDIR);
    }
    let limit = process.limits.descriptors();
    process.descriptors.insert(file, 0, flags & O_CLOEXEC != 0, limit)
}

/// `open(path, flags, mode)`.
pub fn open(process: &mut Process, frame: &mut Frame) -> Answer {
    let [path, flags, mode, ..] = frame.arguments();
    open_at(process, CURRENT, path, flags, mode)
}

/// `creat(path, mode)`.
pub fn creat(process: &mut Process, frame: &mut Frame) -> Answer {
    let [path, mode, ..] = frame.arguments();
    open_at(process, CURRENT, path, u64::from(O_CREAT | O_WRONLY | O_TRUNC), mode)
}

/// `openat(directory, path, flags, mode)`.
pub fn openat(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, path, flags, mode, ..] = frame.arguments();
    open_at(process, descriptor, path, flags, mode)
}

/// `openat2(directory, path, how, size)`: flags, mode and how to resolve. What lies behind those
/// must be zeros.
pub fn openat2(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, address, how, size, ..] = frame.arguments();
    if size < HOW {
        return Err(EINVAL);
    }
    if size > nacre_abi::PAGE_SIZE || process.memory.readable(how + HOW, size - HOW)?.iter().any(|byte| *byte != 0) {
        return Err(E2BIG);
    }
    let [flags, mode, rules] = process.memory.read_words(how)?;
    let makes = flags & u64::from(O_CREAT | O_TMPFILE) != 0;
    let is_odd_place = flags & u64::from(O_PATH) != 0 && flags & !u64::from(O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) != 0;
    if flags & !u64::from(KNOWN) != 0 || mode & !MODE != 0 || mode != 0 && !makes || is_odd_place {
        return Err(EINVAL);
    }
    let rules = Rules::of(rules)?;
    if rules == Rules::default() {
        return open_at(process, descriptor, address, flags, mode);
    }
    let path = process.memory.path(address)?;
    if path.is_empty() {
        return Err(ENOENT);
    }
    let flags = flags as u32;
    match process.resolve(descriptor, path, flags & O_NOFOLLOW == 0 && flags & (O_CREAT | O_EXCL) != O_CREAT | O_EXCL, rules)? {
        Resolved::AsItIs => open_at(process, descriptor, address, flags.into(), mode),
        Resolved::At(path, is_directory) => open_path(process, descriptor, &path, flags | if is_directory { O_DIRECTORY } else { 0 }, mode),
    }
}

/// Checks that the path at `address` may be used as `wanted` says (read 4, write 2, execute 1). The
/// superuser may do all but execute a file that no user may execute.
fn access_at(process: &mut Process, descriptor: u64, address: u64, wanted: u64, flags: u64) -> Answer {
    if wanted & !7 != 0 {
        return Err(EINVAL);
    }
    let identity = &mut process.identity;
    let (files, capabilities) = (identity.of_files, identity.capabilities);
    if flags & AT_EACCESS_EFFECTIVE == 0 {
        identity.of_files = identity.real();
        identity.capabilities = capabilities.of_real(identity.of_files[0]);
    }
    // No other thread may see the process as somebody else.
    let lock = process.lock.take();
    let status = path_status::at(process, descriptor, address, flags & !AT_EACCESS_EFFECTIVE);
    let done = status.and_then(|status| permissions::check_mode(process, &status, wanted));
    process.lock = lock;
    (process.identity.of_files, process.identity.capabilities) = (files, capabilities);
    done.map(|()| 0)
}

/// `access(path, mode)`.
pub fn access(process: &mut Process, frame: &mut Frame) -> Answer {
    let [path, mode, ..] = frame.arguments();
    access_at(process, CURRENT, path, mode & 0xffff_ffff, 0)
}

/// `faccessat(directory, path, mode)`.
pub fn faccessat(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, path, mode, ..] = frame.arguments();
    access_at(process, descriptor, path, mode & 0xffff_ffff, 0)
}

/// `faccessat2(directory, path, mode, flags)`.
pub fn faccessat2(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, path, mode, flags, ..] = frame.arguments();
    access_at(process, descriptor, path, mode & 0xffff_ffff, flags)
}
