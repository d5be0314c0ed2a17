//! What a file is: the `stat` family, and what its file system has left.

use crate::abi::errno::{Answer, EINVAL, EIO};
use crate::abi::file_flags::{AT_SYMLINK_NOFOLLOW, CURRENT};
use crate::abi::registers::Frame;
use crate::operations::file_systems::FileSystem;
use crate::operations::paths::file_status::of_file;
use crate::operations::paths::path_status::{AT_STATX_SYNC, at};
use crate::operations::proc;
use crate::process::Process;
use crate::state::files::proc_node::Target;
use nacre_proto::structures::Status;

const fn halves(low: u64, high: u64) -> u64 {
    low & 0xffff_ffff | high << 32
}

/// Linux's `struct stat` on x86-64, as words.
fn stat_words(status: &Status) -> [u64; 18] {
    let Status { device, inode, mode, links, uid, gid, rdevice, size, block_size, blocks, .. } = *status;
    let mut words = [0; 18];
    words[..10].copy_from_slice(&[device, inode, links, halves(mode, uid), gid, rdevice, size, block_size, blocks, status.atime_sec]);
    words[10..15].copy_from_slice(&[status.atime_nsec, status.mtime_sec, status.mtime_nsec, status.ctime_sec, status.ctime_nsec]);
    words
}

/// The halves of a device number, as `statx` gives them: major, minor.
const fn device_halves(device: u64) -> u64 {
    let major = device >> 8 & 0xfff | device >> 32 & !0xfff;
    let minor = device & 0xff | device >> 12 & 0xffff_ff00;
    halves(major, minor)
}

/// Linux's `struct statx`, as words. The time of birth is not known.
fn statx_words(status: &Status) -> [u64; 32] {
    const BASIC: u64 = 0x7ff;
    let mut words = [0; 32];
    words[..7].copy_from_slice(&[
        halves(BASIC, status.block_size),
        0,
        halves(status.links, status.uid),
        halves(status.gid, status.mode & 0xffff),
        status.inode,
        status.size,
        status.blocks,
    ]);
    words[8..10].copy_from_slice(&[status.atime_sec, status.atime_nsec]);
    words[12..14].copy_from_slice(&[status.ctime_sec, status.ctime_nsec]);
    words[14..18].copy_from_slice(&[status.mtime_sec, status.mtime_nsec, device_halves(status.rdevice), device_halves(status.device)]);
    words
}

fn write_stat(process: &mut Process, address: u64, status: &Status) -> Answer {
    process.memory.write_words(address, &stat_words(status))?;
    Ok(0)
}

/// `stat(path, buffer)`.
pub fn stat(process: &mut Process, frame: &mut Frame) -> Answer {
    let [path, buffer, ..] = frame.arguments();
    let status = at(process, CURRENT, path, 0)?;
    write_stat(process, buffer, &status)
}

/// `lstat(path, buffer)`.
pub fn lstat(process: &mut Process, frame: &mut Frame) -> Answer {
    let [path, buffer, ..] = frame.arguments();
    let status = at(process, CURRENT, path, AT_SYMLINK_NOFOLLOW)?;
    write_stat(process, buffer, &status)
}

/// `fstat(descriptor, buffer)`.
pub fn fstat(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, buffer, ..] = frame.arguments();
    let open = process.descriptors.get(descriptor)?;
    let status = of_file(process, &open)?;
    write_stat(process, buffer, &status)
}

/// `newfstatat(directory, path, buffer, flags)`.
pub fn newfstatat(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, path, buffer, flags, ..] = frame.arguments();
    let status = at(process, descriptor, path, flags & 0xffff_ffff)?;
    write_stat(process, buffer, &status)
}

/// `statx(directory, path, flags, mask, buffer)`.
pub fn statx(process: &mut Process, frame: &mut Frame) -> Answer {
    const RESERVED: u64 = 0x8000_0000;
    let [descriptor, path, flags, mask, buffer, _] = frame.arguments();
    if mask & RESERVED != 0 || flags & AT_STATX_SYNC == AT_STATX_SYNC {
        return Err(EINVAL);
    }
    let status = at(process, descriptor, path, flags & 0xffff_ffff)?;
    process.memory.write_words(buffer, &statx_words(&status))?;
    Ok(0)
}

/// Writes Linux's `struct statfs`, as words, of the file system whose files have this number. What
/// is in none, such as a pipe, is told to be in memory.
fn write_statfs(process: &mut Process, device: u64, buffer: u64) -> Answer {
    const LONGEST_NAME: u64 = 255;
    let files = process.services.files()?;
    let found = process.while_asking([files], |[files]| match FileSystem::find(files, device) {
        Ok(found) if found.sizes.device == device => Ok(found),
        _ => FileSystem::find(files, 0),
    })?;
    let (magic, flags, sizes) = (found.magic(), found.flags(), found.sizes);
    if sizes.block_size == 0 {
        return Err(EIO);
    }
    let words =
        [magic, sizes.block_size, sizes.blocks, sizes.free, sizes.free, sizes.files, sizes.files_free, device, LONGEST_NAME, sizes.block_size, flags, 0, 0, 0, 0];
    process.memory.write_words(buffer, &words)?;
    Ok(0)
}

/// Writes the `statfs` of `/proc`, which has no room and needs none.
fn write_proc_statfs(process: &mut Process, buffer: u64) -> Answer {
    const PROC_MAGIC: u64 = 0x9fa0;
    process.memory.write_words(buffer, &[PROC_MAGIC, 4096, 0, 0, 0, 0, 0, 0, 255, 4096, 0, 0, 0, 0, 0])?;
    Ok(0)
}

/// `statfs(path, buffer)`
pub fn statfs(process: &mut Process, frame: &mut Frame) -> Answer {
    let [path, buffer, ..] = frame.arguments();
    let text = process.memory.path(path)?;
    if let Some(Ok(Target::Node(_))) = proc::tree::in_proc(process, CURRENT, text, true) {
        return write_proc_statfs(process, buffer);
    }
    let device = at(process, CURRENT, path, 0)?.device;
    write_statfs(process, device, buffer)
}

/// `fstatfs(descriptor, buffer)`.
pub fn fstatfs(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, buffer, ..] = frame.arguments();
    if process.descriptors.get(descriptor)?.node().is_some() {
        return write_proc_statfs(process, buffer);
    }
    let open = process.descriptors.get(descriptor)?;
    let device = of_file(process, &open)?.device;
    write_statfs(process, device, buffer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status() -> Status {
        Status {
            device: 0x801,
            inode: 77,
            mode: 0o100644,
            links: 2,
            uid: 3,
            gid: 4,
            size: 5,
            block_size: 4096,
            blocks: 8,
            atime_sec: 10,
            mtime_sec: 12,
            ctime_nsec: 15,
            ..Status::default()
        }
    }

    #[test]
    fn stat_has_linuxs_layout() {
        let words = stat_words(&status());
        assert_eq!(words[..4], [0x801, 77, 2, 3 << 32 | 0o100644]);
        assert_eq!(words[4..9], [4, 0, 5, 4096, 8]);
        assert_eq!((words[9], words[11], words[14]), (10, 12, 15));
    }

    #[test]
    fn statx_has_linuxs_layout() {
        let words = statx_words(&status());
        assert_eq!(words[0], 4096 << 32 | 0x7ff);
        assert_eq!(words[2..7], [3 << 32 | 2, 0o100644 << 32 | 4, 77, 5, 8]);
        assert_eq!((words[8], words[13], words[14]), (10, 15, 12));
        assert_eq!(words[17], 1 << 32 | 8);
    }
}
