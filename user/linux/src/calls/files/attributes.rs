//! What can be changed of a file besides its contents: mode, owner, times, size.

use crate::abi::errno::{Answer, EINVAL, EPERM, Errno};
use crate::abi::file_flags::{AT_EMPTY_PATH, AT_SYMLINK_NOFOLLOW, CURRENT, O_WRONLY};
use crate::abi::registers::Frame;
use crate::calls::time::clocks::pair_of_times;
use crate::operations::files::busy_file;
use crate::operations::limit_checks;
use crate::operations::paths::attribute_target::{self, Subject};
use crate::operations::paths::file_status;
use crate::operations::paths::permissions::{self, WRITE};
use crate::operations::proc;
use crate::operations::terminals::job_control;
use crate::process::Process;
use crate::process::exchange::Place;
use crate::state::capabilities::{FILE_BITS, OWNERS};
use crate::state::files::open_file::OpenFile;
use alloc::rc::Rc;
use nacre_proto::{channel, directory, file};
use nacre_proto::structures::Status;

const MODE: u64 = 0o7777;

/// An open file that a server holds.
fn remote(process: &mut Process, descriptor: u64) -> Result<(Rc<OpenFile>, nacre_sys::Reference), Errno> {
    let open = process.descriptors.get(descriptor)?;
    let target = open.reference().map_err(|_| EINVAL)?;
    Ok((open, target))
}

fn check_flags(flags: u64) -> Result<u64, Errno> {
    let flags = flags & 0xffff_ffff;
    if flags & !(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) == 0 { Ok(flags) } else { Err(EINVAL) }
}

fn set_mode(process: &mut Process, descriptor: u64, path: u64, mode: u64, flags: u64) -> Answer {
    let flags = check_flags(flags)?;
    match attribute_target::subject(process, descriptor, path, flags)? {
        Subject::Descriptor(descriptor) => set_mode_of(process, descriptor, mode),
        Subject::Terminal(number) => {
            let status = judged_terminal(process, number)?;
            let mode = allowed_mode(process, status, mode)? & MODE;
            channel::terminal_set_mode(process.services.channels()?, number, mode)?;
            Ok(0)
        }
        Subject::Path(directory, path) => {
            let status = judged_place(process, Place { directory, path: &path }, flags)?;
            let mode = allowed_mode(process, status, mode)?;
            directory::set_mode_at(directory, mode & MODE, flags & AT_SYMLINK_NOFOLLOW, &path[..])?;
            Ok(0)
        }
    }
}

/// The status of an open file, if modes say anything to the user.
fn judged(process: &mut Process, open: &OpenFile) -> Result<Option<Status>, Errno> {
    if permissions::minds_modes(process) { file_status::of_file(process, open).map(Some) } else { Ok(None) }
}

/// Checks access to a terminal's name as `judged` does to a file.
fn judged_terminal(process: &mut Process, number: u64) -> Result<Option<Status>, Errno> {
    let status = proc::terminals::status_of_terminal(process, number)?;
    Ok(Some(status).filter(|_| permissions::minds_modes(process)))
}

/// Checks access to the file at a place as `judged` does.
fn judged_place(process: &mut Process, place: Place<'_>, flags: u64) -> Result<Option<Status>, Errno> {
    Ok(permissions::judge(process, place, flags & AT_SYMLINK_NOFOLLOW == 0)?.and_then(|found| found.file))
}

/// The mode that a file gets if the user asks for this one.
fn allowed_mode(process: &Process, status: Option<Status>, mode: u64) -> Result<u64, Errno> {
    const SET_GROUP: u64 = 0o2000;
    let Some(status) = status else { return Ok(mode) };
    if !permissions::owns(process, &status) {
        return Err(EPERM);
    }
    let keeps_group = permissions::is_in(process, status.gid) || process.identity.capabilities.has(FILE_BITS);
    Ok(if keeps_group { mode } else { mode & !SET_GROUP })
}

/// `EPERM` unless the user may give a file to these; of his own ones he may change the group to
/// another of his.
fn check_owner(process: &Process, status: Option<Status>, [uid, gid]: [u64; 2]) -> Result<(), Errno> {
    const NONE: u64 = 0xffff_ffff;
    let Some(status) = status.filter(|_| !process.identity.capabilities.has(OWNERS)) else {
        return Ok(());
    };
    let is_owner = status.uid == u64::from(process.identity.of_files[0]);
    let keeps_user = uid == NONE || is_owner && uid == status.uid;
    let keeps_group = gid == NONE || is_owner && (gid == status.gid || permissions::is_in(process, gid));
    if keeps_user && keeps_group { Ok(()) } else { Err(EPERM) }
}

/// `EPERM` unless the user may set these times: who may write may set them to what it is now.
fn check_times(process: &Process, status: Option<Status>, [_, atime, _, mtime]: [u64; 4]) -> Result<(), Errno> {
    const NOW: u64 = 0x3fff_ffff;
    const UNCHANGED: u64 = 0x3fff_fffe;
    let Some(status) = status.filter(|status| !permissions::owns(process, status) && [atime, mtime] != [UNCHANGED; 2]) else {
        return Ok(());
    };
    if [atime, mtime] == [NOW; 2] { permissions::check_mode(process, &status, WRITE) } else { Err(EPERM) }
}

fn set_mode_of(process: &mut Process, descriptor: u64, mode: u64) -> Answer {
    let (open, target) = remote(process, descriptor)?;
    let status = judged(process, &open)?;
    file::set_mode(target, allowed_mode(process, status, mode)? & MODE)?;
    Ok(0)
}

/// `chmod(path, mode)`.
pub fn chmod(process: &mut Process, frame: &mut Frame) -> Answer {
    let [path, mode, ..] = frame.arguments();
    set_mode(process, CURRENT, path, mode, 0)
}

/// `fchmodat(directory, path, mode)`.
pub fn fchmodat(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, path, mode, ..] = frame.arguments();
    set_mode(process, descriptor, path, mode, 0)
}

/// `fchmodat2(directory, path, mode, flags)`.
pub fn fchmodat2(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, path, mode, flags, ..] = frame.arguments();
    set_mode(process, descriptor, path, mode, flags)
}

/// `fchmod(descriptor, mode)`.
pub fn fchmod(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, mode, ..] = frame.arguments();
    attribute_target::check_opened(process, descriptor)?;
    set_mode_of(process, descriptor, mode)
}

fn set_owner(process: &mut Process, descriptor: u64, path: u64, [uid, gid]: [u64; 2], flags: u64) -> Answer {
    let flags = check_flags(flags)?;
    let (uid, gid) = (uid & 0xffff_ffff, gid & 0xffff_ffff);
    match attribute_target::subject(process, descriptor, path, flags)? {
        Subject::Descriptor(descriptor) => set_owner_of(process, descriptor, [uid, gid]),
        Subject::Terminal(number) => {
            let status = judged_terminal(process, number)?;
            check_owner(process, status, [uid, gid])?;
            channel::terminal_set_owner(process.services.channels()?, number, uid, gid)?;
            Ok(0)
        }
        Subject::Path(directory, path) => {
            let status = judged_place(process, Place { directory, path: &path }, flags)?;
            check_owner(process, status, [uid, gid])?;
            directory::set_owner_at(directory, uid, gid, flags & AT_SYMLINK_NOFOLLOW, &path[..])?;
            Ok(0)
        }
    }
}

fn set_owner_of(process: &mut Process, descriptor: u64, [uid, gid]: [u64; 2]) -> Answer {
    let (open, target) = remote(process, descriptor)?;
    let status = judged(process, &open)?;
    check_owner(process, status, [uid, gid])?;
    file::set_owner(target, uid, gid)?;
    Ok(0)
}

/// `chown(path, user, group)`.
pub fn chown(process: &mut Process, frame: &mut Frame) -> Answer {
    let [path, uid, gid, ..] = frame.arguments();
    set_owner(process, CURRENT, path, [uid, gid], 0)
}

/// `lchown(path, user, group)`.
pub fn lchown(process: &mut Process, frame: &mut Frame) -> Answer {
    let [path, uid, gid, ..] = frame.arguments();
    set_owner(process, CURRENT, path, [uid, gid], AT_SYMLINK_NOFOLLOW)
}

/// `fchownat(directory, path, user, group, flags)`.
pub fn fchownat(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, path, uid, gid, flags, _] = frame.arguments();
    set_owner(process, descriptor, path, [uid, gid], flags)
}

/// `fchown(descriptor, user, group)`.
pub fn fchown(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, uid, gid, ..] = frame.arguments();
    attribute_target::check_opened(process, descriptor)?;
    set_owner_of(process, descriptor, [uid & 0xffff_ffff, gid & 0xffff_ffff])
}

fn set_times_of(process: &mut Process, descriptor: u64, times: [u64; 4]) -> Answer {
    let (open, target) = remote(process, descriptor)?;
    let status = judged(process, &open)?;
    check_times(process, status, times)?;
    if let Some(number) = job_control::terminal_of(&open).filter(|_| !open.is_master()).and_then(channel::terminal_number) {
        return proc::terminals::set_times_of_terminal(process, number, times).map(|()| 0);
    }
    let [atime, atime_nsec, mtime, mtime_nsec] = times;
    file::set_times(target, atime, atime_nsec, mtime, mtime_nsec)?;
    Ok(0)
}

/// Sets times; without a path those of the descriptor.
fn set_times(process: &mut Process, descriptor: u64, path: u64, times: [u64; 4], flags: u64) -> Answer {
    let flags = check_flags(flags)?;
    let [atime, atime_nsec, mtime, mtime_nsec] = times;
    let subject = match path {
        0 => attribute_target::check_opened(process, descriptor).map(|()| Subject::Descriptor(descriptor))?,
        path => attribute_target::subject(process, descriptor, path, flags)?,
    };
    match subject {
        Subject::Descriptor(descriptor) => set_times_of(process, descriptor, times),
        Subject::Terminal(number) => {
            let status = judged_terminal(process, number)?;
            check_times(process, status, times)?;
            proc::terminals::set_times_of_terminal(process, number, times).map(|()| 0)
        }
        Subject::Path(directory, path) => {
            let status = judged_place(process, Place { directory, path: &path }, flags)?;
            check_times(process, status, times)?;
            directory::set_times_at(directory, atime, atime_nsec, mtime, mtime_nsec, flags & AT_SYMLINK_NOFOLLOW, &path[..])?;
            Ok(0)
        }
    }
}

/// `utimensat(directory, path, times, flags)`.
pub fn utimensat(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, path, times, flags, ..] = frame.arguments();
    let times = pair_of_times(&process.memory, times)?;
    set_times(process, descriptor, path, times, flags)
}

/// Times in microseconds as times in nanoseconds.
fn pair_of_timevals(process: &Process, address: u64) -> Result<[u64; 4], Errno> {
    if address == 0 {
        return pair_of_times(&process.memory, 0);
    }
    let [atime, atime_part, mtime, mtime_part] = process.memory.read_words(address)?;
    if atime_part >= 1_000_000 || mtime_part >= 1_000_000 {
        return Err(EINVAL);
    }
    Ok([atime, 1000 * atime_part, mtime, 1000 * mtime_part])
}

/// `utimes(path, times)`.
pub fn utimes(process: &mut Process, frame: &mut Frame) -> Answer {
    let [path, times, ..] = frame.arguments();
    let times = pair_of_timevals(process, times)?;
    set_times(process, CURRENT, path, times, 0)
}

/// `futimesat(directory, path, times)`.
pub fn futimesat(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, path, times, ..] = frame.arguments();
    let times = pair_of_timevals(process, times)?;
    set_times(process, descriptor, path, times, 0)
}

/// `utime(path, times)`: whole seconds.
pub fn utime(process: &mut Process, frame: &mut Frame) -> Answer {
    let [path, address, ..] = frame.arguments();
    let times = match address {
        0 => pair_of_times(&process.memory, 0)?,
        address => {
            let [atime, mtime] = process.memory.read_words(address)?;
            [atime, 0, mtime, 0]
        }
    };
    set_times(process, CURRENT, path, times, 0)
}

/// `truncate(path, size)`: opens, sets, closes.
pub fn truncate(process: &mut Process, frame: &mut Frame) -> Answer {
    let size = frame.arguments()[1];
    if (size as i64) < 0 {
        return Err(EINVAL);
    }
    let place = permissions::first_place_to(process, frame, WRITE)?;
    let opened = busy_file::while_busy(process, |_| directory::open(place.directory, u64::from(O_WRONLY), 0, place.path))?;
    if size > process.limits.file_size() && file::seek(opened.file.handle(), 0, nacre_proto::flags::SEEK_END)?.position < size {
        limit_checks::check_file_size(process, size)?;
    }
    process.unlocked(|| file::set_size(opened.file.handle(), size))?;
    Ok(0)
}
