//! `inotify`: hearing what happens to files. Their server keeps the watches; the descriptor is read
//! like a file.

use crate::abi::errno::{Answer, EINVAL, ENOSYS};
use crate::abi::file_flags::{AT_SYMLINK_NOFOLLOW, CURRENT, O_CLOEXEC, O_NONBLOCK};
use crate::abi::registers::Frame;
use crate::process::Process;
use crate::state::files::open_file::{Kind, OpenFile};
use nacre_proto::{directory, file};

/// Bits of a mask that mean something.
const KNOWN: u64 = 0xf700_0fff;

fn create(process: &mut Process, flags: u32) -> Answer {
    if flags & !(O_NONBLOCK | O_CLOEXEC) != 0 {
        return Err(EINVAL);
    }
    let reference = directory::watcher(process.services.files()?)?.file;
    if flags & O_NONBLOCK != 0 {
        file::flags(reference.handle(), O_NONBLOCK.into())?;
    }
    process.open(OpenFile::new(Kind::Remote(reference), 0o600, flags & O_NONBLOCK), flags & O_CLOEXEC != 0)
}

/// `inotify_init()`.
pub fn inotify_init(process: &mut Process, _: &mut Frame) -> Answer {
    create(process, 0)
}

/// `inotify_init1(flags)`.
pub fn inotify_init1(process: &mut Process, frame: &mut Frame) -> Answer {
    create(process, frame.arguments()[0] as u32)
}

/// `inotify_add_watch(descriptor, path, mask)`.
pub fn inotify_add_watch(process: &mut Process, frame: &mut Frame) -> Answer {
    const DONT_FOLLOW: u64 = 0x200_0000;
    let [descriptor, path, mask, ..] = frame.arguments();
    let mask = mask & 0xffff_ffff;
    if mask & KNOWN == 0 {
        return Err(EINVAL);
    }
    let file = process.descriptors.get(descriptor)?;
    let watcher = file.reference().map_err(|_| EINVAL)?;
    let place = process.place(CURRENT, path)?;
    let flags = if mask & DONT_FOLLOW != 0 { AT_SYMLINK_NOFOLLOW } else { 0 };
    Ok(directory::watch(place.directory, mask & KNOWN, flags, place.path, watcher)?.number)
}

/// `inotify_rm_watch(descriptor, number)`.
pub fn inotify_rm_watch(process: &mut Process, frame: &mut Frame) -> Answer {
    let [descriptor, number, ..] = frame.arguments();
    let file = process.descriptors.get(descriptor)?;
    let watcher = file.reference().map_err(|_| EINVAL)?;
    match file::unwatch(watcher, number & 0xffff_ffff) {
        Ok(_) => Ok(0),
        Err(ENOSYS) => Err(EINVAL),
        Err(error) => Err(error),
    }
}
