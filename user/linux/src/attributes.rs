//! What can be changed of a file besides its contents: mode, owner, times, size.

use crate::descriptors::OpenFile;
use crate::entry::Frame;
use crate::errno::{Answer, EINVAL, Errno};
use crate::place::{AT_EMPTY_PATH, AT_SYMLINK_NOFOLLOW, CURRENT};
use crate::process::Process;
use crate::time::pair_of_times;
use alloc::rc::Rc;
use nacre_proto::{directory, file};

const MODE: u64 = 0o7777;

/// An open file that a server holds.
fn remote(process: &mut Process, descriptor: u64) -> Result<(Rc<OpenFile>, nacre_sys::Reference), Errno> {
    let open = process.descriptors.get(descriptor)?;
    let target = process.services.reference(&open).map_err(|_| EINVAL)?;
    Ok((open, target))
}

/// Whether a call with `AT_EMPTY_PATH` means the descriptor itself.
fn means_descriptor(process: &Process, path: u64, flags: u64) -> Result<bool, Errno> {
    Ok(flags & AT_EMPTY_PATH != 0 && process.memory.path(path)?.is_empty())
}

fn check_flags(flags: u64) -> Result<u64, Errno> {
    let flags = flags & 0xffff_ffff;
    if flags & !(AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH) == 0 { Ok(flags) } else { Err(EINVAL) }
}

fn set_mode(process: &mut Process, descriptor: u64, path: u64, mode: u64, flags: u64) -> Answer {
    let flags = check_flags(flags)?;
    if means_descriptor(process, path, flags)? {
        file::set_mode(remote(process, descriptor)?.1, mode & MODE)?;
        return Ok(0);
    }
    let place = process.place(descriptor, path)?;
    directory::set_mode_at(place.directory, mode & MODE, flags & AT_SYMLINK_NOFOLLOW, place.path)?;
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
    let (_open, target) = remote(process, descriptor)?;
    file::set_mode(target, mode & MODE)?;
    Ok(0)
}

fn set_owner(process: &mut Process, descriptor: u64, path: u64, [uid, gid]: [u64; 2], flags: u64) -> Answer {
    let flags = check_flags(flags)?;
    let (uid, gid) = (uid & 0xffff_ffff, gid & 0xffff_ffff);
    if means_descriptor(process, path, flags)? {
        file::set_owner(remote(process, descriptor)?.1, uid, gid)?;
        return Ok(0);
    }
    let place = process.place(descriptor, path)?;
    directory::set_owner_at(place.directory, uid, gid, flags & AT_SYMLINK_NOFOLLOW, place.path)?;
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
    let (_open, target) = remote(process, descriptor)?;
    file::set_owner(target, uid & 0xffff_ffff, gid & 0xffff_ffff)?;
    Ok(0)
}

/// Sets times; without a path those of the descriptor.
fn set_times(process: &mut Process, descriptor: u64, path: u64, times: [u64; 4], flags: u64) -> Answer {
    let flags = check_flags(flags)?;
    let [atime, atime_nsec, mtime, mtime_nsec] = times;
    if path == 0 || means_descriptor(process, path, flags)? {
        let (_open, target) = remote(process, descriptor)?;
        file::set_times(target, atime, atime_nsec, mtime, mtime_nsec)?;
        return Ok(0);
    }
    let place = process.place(descriptor, path)?;
    directory::set_times_at(place.directory, atime, atime_nsec, mtime, mtime_nsec, flags & AT_SYMLINK_NOFOLLOW, place.path)?;
    Ok(0)
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
    let place = process.first_place(frame)?;
    let opened = directory::open(place.directory, u64::from(crate::descriptors::O_WRONLY), 0, place.path)?;
    if size > process.limits.file_size() && file::seek(opened.file.handle(), 0, nacre_proto::flags::SEEK_END)?.position < size {
        process.check_file_size(size)?;
    }
    file::set_size(opened.file.handle(), size)?;
    Ok(0)
}
