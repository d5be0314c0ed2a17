//! Names in directories: made, removed, changed, followed; and the current directory.

use crate::abi::errno::{Answer, EEXIST, EINVAL, ENOENT, ENOTDIR, EPERM, ERANGE, Errno};
use crate::abi::file_flags::{AT_EMPTY_PATH, AT_SYMLINK_NOFOLLOW, CURRENT};
use crate::abi::registers::Frame;
use crate::operations::files::named_memory;
use crate::operations::paths::file_status;
use crate::operations::paths::path_of;
use crate::operations::paths::path_start::own_descriptor;
use crate::operations::paths::path_status;
use crate::operations::paths::permissions::{self, EXECUTE};
use crate::operations::proc;
use crate::operations::proc::open::Opened;
use crate::process::Process;
use crate::process::exchange::Place;
use crate::state::capabilities::DEVICES;
use crate::state::files::open_file::{Kind, OpenFile};
use crate::state::files::proc_node::Target;
use crate::state::memory::user_access::PATH_MAX;
use alloc::rc::Rc;
use alloc::vec::Vec;
use nacre_proto::directory;
use nacre_proto::structures::Status;
use nacre_sys::Reference;

const AT_REMOVEDIR: u64 = 0x200;
const AT_SYMLINK_FOLLOW: u64 = 0x400;
const S_IFMT: u64 = 0o170000;
const S_IFREG: u64 = 0o100000;
const S_IFDIR: u64 = 0o040000;
const S_IFCHR: u64 = 0o020000;
const S_IFBLK: u64 = 0o060000;

/// Two paths as one message carries them: the bytes, and the size of the first.
fn joined(first: &[u8], second: &[u8]) -> (Vec<u8>, u64) {
    let mut bytes = Vec::with_capacity(first.len() + second.len());
    bytes.extend_from_slice(first);
    bytes.extend_from_slice(second);
    (bytes, first.len() as u64)
}

/// Makes something at a place. What is to belong to the user, as `parent` says, is made and given
/// to him with the lock held: the place may mean something else afterwards.
fn make_at(process: &mut Process, place: Place<'_>, (parent, mode): (Option<Status>, u64), make: impl FnOnce(Reference, &[u8]) -> Result<(), Errno>) -> Answer {
    match parent {
        None => process.ask_at(place, make)?,
        parent => {
            make(place.directory, place.path)?;
            process.make_own(place, parent, mode)?;
        }
    }
    Ok(0)
}

fn make_directory(process: &mut Process, descriptor: u64, path: u64, mode: u64) -> Answer {
    let place = process.place(descriptor, path)?;
    let mode = mode & 0o1777 & !u64::from(process.identity.umask);
    let parent = permissions::check_new_name(process, place)?;
    make_at(process, place, (parent, 0), |directory, path| directory::make_directory(directory, mode, path).map(drop))
}

/// `mkdir(path, mode)`.
pub fn mkdir(process: &mut Process, frame: &mut Frame) -> Answer {
    let [path, mode, ..] = frame.arguments();
    make_directory(process, CURRENT, path, mode)
}

/// `mkdirat(directory, path, mode)`.
pub fn mkdirat(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, path, mode, ..] = frame.arguments();
    make_directory(process, descriptor, path, mode)
}

fn make_node(process: &mut Process, descriptor: u64, path: u64, mode: u64, device: u64) -> Answer {
    let place = process.place(descriptor, path)?;
    let kind = match mode & S_IFMT {
        0 => S_IFREG,
        S_IFDIR => return Err(EPERM),
        kind => kind,
    };
    let parent = permissions::check_new_name(process, place)?;
    if matches!(kind, S_IFCHR | S_IFBLK) && !process.identity.capabilities.has(DEVICES) {
        let is_there = path_status::of_place(process, place, AT_SYMLINK_NOFOLLOW).is_ok();
        return Err(if is_there { EEXIST } else { EPERM });
    }
    let bits = mode & 0o7777 & !u64::from(process.identity.umask);
    let bits = parent.as_ref().map_or(bits, |parent| permissions::mode_in(process, parent, bits));
    make_at(process, place, (parent, bits), |directory, path| directory::make_node(directory, kind | bits, device & 0xffff_ffff, path).map(drop))
}

/// `mknod(path, mode, device)`.
pub fn mknod(process: &mut Process, frame: &mut Frame) -> Answer {
    let [path, mode, device, ..] = frame.arguments();
    make_node(process, CURRENT, path, mode, device)
}

/// `mknodat(directory, path, mode, device)`.
pub fn mknodat(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, path, mode, device, ..] = frame.arguments();
    make_node(process, descriptor, path, mode, device)
}

fn remove(process: &mut Process, descriptor: u64, path: u64, is_directory: bool) -> Answer {
    let named = process.memory.path(path)?;
    if let Some(removed) = named_memory::remove_named_memory(named, is_directory) {
        return removed;
    }
    let place = process.place(descriptor, path)?;
    permissions::check_old_name(process, place)?;
    process.ask_at(place, |directory, path| directory::remove(directory, u64::from(is_directory), path))?;
    Ok(0)
}

/// `rmdir(path)`.
pub fn rmdir(process: &mut Process, frame: &mut Frame) -> Answer {
    remove(process, CURRENT, frame.arguments()[0], true)
}

/// `unlink(path)`.
pub fn unlink(process: &mut Process, frame: &mut Frame) -> Answer {
    remove(process, CURRENT, frame.arguments()[0], false)
}

/// `unlinkat(directory, path, flags)`.
pub fn unlinkat(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, path, flags, ..] = frame.arguments();
    match flags & 0xffff_ffff {
        0 => remove(process, descriptor, path, false),
        AT_REMOVEDIR => remove(process, descriptor, path, true),
        _ => Err(EINVAL),
    }
}

fn rename_from(process: &mut Process, [old_descriptor, old, new_descriptor, new]: [u64; 4], flags: u64) -> Answer {
    const KNOWN: u64 = 7;
    if flags & !KNOWN != 0 {
        return Err(EINVAL);
    }
    let (old, new) = (process.place(old_descriptor, old)?, process.place(new_descriptor, new)?);
    permissions::check_old_name(process, old)?;
    permissions::check_new_name(process, new)?;
    permissions::check_old_name(process, new)?;
    let (paths, size) = joined(old.path, new.path);
    process.while_asking([old.directory, new.directory], |[from, to]| directory::rename(from, flags, size, paths.as_slice(), to))?;
    Ok(0)
}

/// `rename(old, new)`.
pub fn rename(process: &mut Process, frame: &mut Frame) -> Answer {
    let [old, new, ..] = frame.arguments();
    rename_from(process, [CURRENT, old, CURRENT, new], 0)
}

/// `renameat(directory, old, directory, new)`.
pub fn renameat(process: &mut Process, frame: &mut Frame) -> Answer {
    let [old_descriptor, old, new_descriptor, new, ..] = frame.arguments();
    rename_from(process, [old_descriptor, old, new_descriptor, new], 0)
}

/// `renameat2(directory, old, directory, new, flags)`.
pub fn renameat2(process: &mut Process, frame: &mut Frame) -> Answer {
    let [old_descriptor, old, new_descriptor, new, flags, _] = frame.arguments();
    rename_from(process, [old_descriptor, old, new_descriptor, new], flags & 0xffff_ffff)
}

/// The open file that a link is made of: a descriptor without a path, or with the path that leads
/// to one.
fn linked_descriptor(process: &Process, descriptor: u64, path: u64, flags: u64) -> Result<Option<Rc<OpenFile>>, Errno> {
    let path = process.memory.path(path)?;
    if path.is_empty() && flags & AT_EMPTY_PATH != 0 && descriptor as u32 != CURRENT as u32 {
        return process.descriptors.get(descriptor).map(Some);
    }
    match own_descriptor(path) {
        Some(number) if flags & AT_SYMLINK_FOLLOW != 0 => process.descriptors.get(number?).map(Some).map_err(|_| ENOENT),
        _ => Ok(None),
    }
}

fn link_from(process: &mut Process, [old_descriptor, old, new_descriptor, new]: [u64; 4], flags: u64) -> Answer {
    if flags & !(AT_SYMLINK_FOLLOW | AT_EMPTY_PATH) != 0 {
        return Err(EINVAL);
    }
    if let Some(file) = linked_descriptor(process, old_descriptor, old, flags)? {
        let new = process.place(new_descriptor, new)?;
        permissions::check_new_name(process, new)?;
        let (target, path) = (file.reference()?, new.path.to_vec());
        process.while_asking([target, new.directory], |[target, to]| directory::link(target, AT_EMPTY_PATH, 0, path.as_slice(), to))?;
        return Ok(0);
    }
    let (old, new) = (process.place(old_descriptor, old)?, process.place(new_descriptor, new)?);
    permissions::check_linked(process, old, flags & AT_SYMLINK_FOLLOW != 0)?;
    permissions::check_new_name(process, new)?;
    let (paths, size) = joined(old.path, new.path);
    process.while_asking([old.directory, new.directory], |[from, to]| directory::link(from, flags & AT_SYMLINK_FOLLOW, size, paths.as_slice(), to))?;
    Ok(0)
}

/// `link(old, new)`.
pub fn link(process: &mut Process, frame: &mut Frame) -> Answer {
    let [old, new, ..] = frame.arguments();
    link_from(process, [CURRENT, old, CURRENT, new], 0)
}

/// `linkat(directory, old, directory, new, flags)`.
pub fn linkat(process: &mut Process, frame: &mut Frame) -> Answer {
    let [old_descriptor, old, new_descriptor, new, flags, _] = frame.arguments();
    link_from(process, [old_descriptor, old, new_descriptor, new], flags & 0xffff_ffff)
}

fn make_symbolic_link(process: &mut Process, target: u64, descriptor: u64, path: u64) -> Answer {
    let target = process.memory.path(target)?;
    if target.is_empty() {
        return Err(ENOENT);
    }
    let place = process.place(descriptor, path)?;
    let parent = permissions::check_new_name(process, place)?;
    let (paths, size) = joined(target, place.path);
    make_at(process, place, (parent, 0), |directory, _| directory::symbolic_link(directory, size, paths.as_slice()).map(drop))
}

/// `symlink(target, path)`.
pub fn symlink(process: &mut Process, frame: &mut Frame) -> Answer {
    let [target, path, ..] = frame.arguments();
    make_symbolic_link(process, target, CURRENT, path)
}

/// `symlinkat(target, directory, path)`.
pub fn symlinkat(process: &mut Process, frame: &mut Frame) -> Answer {
    let [target, descriptor, path, ..] = frame.arguments();
    make_symbolic_link(process, target, descriptor, path)
}

/// Returns the target of a symbolic link. A name of one of the process's own files leads to the
/// place that the server reports.
fn link_target(process: &mut Process, descriptor: u64, path: u64) -> Result<Vec<u8>, Errno> {
    let text = process.memory.path(path)?;
    let text = match own_descriptor(text) {
        Some(number) => alloc::format!("/proc/self/fd/{}", number?).into_bytes(),
        None => text.to_vec(),
    };
    match proc::tree::in_proc(process, descriptor, &text, false) {
        None => {}
        Some(Ok(Target::Node(node))) => {
            let target = proc::tree::target_of(process, node)?;
            return Ok(path_of::seen(process, &target)?.unwrap_or(target));
        }
        Some(Ok(Target::Outside(_))) => return Err(EINVAL),
        Some(Err(error)) => return Err(error),
    }
    let mut target = [0; PATH_MAX as usize];
    let (directory, text) = match &text[..] {
        // The link itself, which was opened as a place.
        [] if descriptor as u32 != CURRENT as u32 => {
            let file = process.descriptors.get(descriptor)?;
            (file.reference().map_err(|_| ENOENT)?, &text[..])
        }
        _ => {
            let place = process.place(descriptor, path)?;
            permissions::check_place(process, place, false, 0)?;
            (place.directory, place.path)
        }
    };
    let size = process.ask_at(Place { directory, path: text }, |directory, text| directory::read_link(directory, text, &mut target))?.target;
    Ok(target.get(..size).unwrap_or_default().to_vec())
}

fn read_link(process: &mut Process, descriptor: u64, path: u64, buffer: u64, size: u64) -> Answer {
    if size as i32 <= 0 {
        return Err(EINVAL);
    }
    let target = link_target(process, descriptor, path)?;
    let count = target.len().min(size as u32 as usize);
    process.memory.write_bytes(buffer, &target[..count])?;
    Ok(count as u64)
}

/// `readlink(path, buffer, size)`.
pub fn readlink(process: &mut Process, frame: &mut Frame) -> Answer {
    let [path, buffer, size, ..] = frame.arguments();
    read_link(process, CURRENT, path, buffer, size)
}

/// `readlinkat(directory, path, buffer, size)`.
pub fn readlinkat(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, path, buffer, size, ..] = frame.arguments();
    read_link(process, descriptor, path, buffer, size)
}

/// Begins in the directory of which the path stands at this address: where its maker is. If that is
/// gone meanwhile, or not to be entered, it begins in the root directory.
pub fn start_in(process: &mut Process, path: u64) {
    const O_DIRECTORY: u64 = 0o200000;
    let Ok(path) = process.memory.path(path).map(Vec::from) else { return };
    let Ok(files) = process.services.files() else { return };
    process.current = directory::open(files, O_DIRECTORY, 0, path.as_slice()).ok().map(opened_directory);
}

/// `getcwd(buffer, size)`: the size with its final zero.
pub fn getcwd(process: &mut Process, frame: &mut Frame) -> Answer {
    let [buffer, size, ..] = frame.arguments();
    let whole = path_of::current_path(process)?;
    let mut path = path_of::seen(process, &whole)?.unwrap_or_else(|| [&b"(unreachable)"[..], &whole].concat());
    path.push(0);
    if (path.len() as u64) > size {
        return Err(ERANGE);
    }
    process.memory.write_bytes(buffer, &path)?;
    Ok(path.len() as u64)
}

/// `chdir(path)`.
pub fn chdir(process: &mut Process, frame: &mut Frame) -> Answer {
    const O_DIRECTORY: u64 = 0o200000;
    let text = process.memory.path(frame.arguments()[0])?;
    let mut elsewhere = None;
    if let Some(opened) = proc::open::open_in_proc(process, CURRENT, text, O_DIRECTORY as u32) {
        match opened? {
            Opened::Outside(path) => elsewhere = Some(path),
            Opened::Descriptor(number) => return fchdir_to(process, number),
            Opened::Here(number) => {
                process.current = Some(process.descriptors.close(number)?);
                return Ok(0);
            }
        }
    }
    let opened = match elsewhere {
        Some(path) => directory::open(process.services.files()?, O_DIRECTORY, 0, path.as_slice())?,
        None => {
            let place = permissions::first_place_to(process, frame, EXECUTE)?;
            directory::open(place.directory, O_DIRECTORY, 0, place.path)?
        }
    };
    process.current = Some(opened_directory(opened));
    Ok(0)
}

fn opened_directory(opened: directory::open::Reply) -> Rc<OpenFile> {
    Rc::new(OpenFile::new(Kind::Remote(opened.file), opened.mode as u32, 0))
}

/// `fchdir(descriptor)`.
pub fn fchdir(process: &mut Process, frame: &mut Frame) -> Answer {
    fchdir_to(process, frame.arguments()[0])
}

fn fchdir_to(process: &mut Process, descriptor: u64) -> Answer {
    let file = process.descriptors.get(descriptor)?;
    if file_status::of_file(process, &file)?.mode & S_IFMT != S_IFDIR {
        return Err(ENOTDIR);
    }
    process.current = Some(file);
    Ok(0)
}
