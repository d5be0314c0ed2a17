//! Statuses of files as they travel.

use crate::message::{Reader, Writer};
use crate::tree::{Changes, Errno, FileSystem, Status, Time, TimeChange};

/// Kind of a file in a mode.
const KIND: u32 = 0o170000;
pub const DIRECTORY: u32 = 0o040000;
pub const LINK: u32 = 0o120000;
/// Kinds in a number.
const NUMBER_DIRECTORY: u8 = 0x80;
const NUMBER_LINK: u8 = 2;
/// Fields of a status that are always there: all of `stat`.
const BASIC: u64 = 0x7ff;
/// Fields of a change.
const MODE: u32 = 1;
const UID: u32 = 2;
const GID: u32 = 4;
const SIZE: u32 = 8;
const ACCESSED: u32 = 0x10;
const MODIFIED: u32 = 0x20;
const ACCESSED_SET: u32 = 0x80;
const MODIFIED_SET: u32 = 0x100;
/// Number of this kind of file system, as `statfs` tells.
const FILE_SYSTEM: u32 = 0x0102_1997;
const MAX_NAME: u32 = 255;

/// Returns true for a directory's mode.
pub fn is_directory(mode: u32) -> bool {
    mode & KIND == DIRECTORY
}

/// Returns the kind of an entry of a directory, as Linux's `d_type`.
pub fn kind_of(mode: u32) -> u8 {
    (mode >> 12 & 0xf) as u8
}

/// Returns a file's number of 13 bytes: kind, version, path.
pub fn number(mode: u32, inode: u64, version: u32) -> [u8; 13] {
    let kind = match mode & KIND {
        DIRECTORY => NUMBER_DIRECTORY,
        LINK => NUMBER_LINK,
        _ => 0,
    };
    let mut bytes = [kind; 13];
    bytes[1..5].copy_from_slice(&version.to_le_bytes());
    bytes[5..].copy_from_slice(&inode.to_le_bytes());
    bytes
}

/// Returns the number of a file with this status. It has another one on each device.
pub fn number_of(status: &Status) -> [u8; 13] {
    let Time { seconds, nanoseconds } = status.modified;
    let version = seconds ^ nanoseconds ^ status.size << 8;
    number(status.mode, status.inode.wrapping_add(status.device << 48), version as u32)
}

/// Writes a status.
pub fn put(answer: &mut Writer<'_>, status: &Status) -> Result<(), Errno> {
    answer.put(&BASIC.to_le_bytes())?;
    answer.put(&number_of(status))?;
    for word in [status.mode, status.uid, status.gid] {
        answer.put(&word.to_le_bytes())?;
    }
    let sizes = [status.links, status.rdevice, status.size, status.block_size, status.blocks];
    let times = [status.accessed, status.modified, status.changed, Time::default()];
    let times = times.into_iter().flat_map(|time| [time.seconds, time.nanoseconds]);
    // Generation and version of the data are not known.
    for word in sizes.into_iter().chain(times).chain([0, 0]) {
        answer.put(&word.to_le_bytes())?;
    }
    Ok(())
}

/// Reads a change.
pub fn changes(message: &mut Reader<'_>) -> Result<Changes, Errno> {
    let fields = message.u32()?;
    let has = |field| fields & field != 0;
    let [mode, uid, gid] = [message.u32()?, message.u32()?, message.u32()?];
    let size = message.u64()?;
    let mut time = |field, set| -> Result<Option<TimeChange>, Errno> {
        let moment = Time { seconds: message.u64()?, nanoseconds: message.u64()? };
        let change = if has(set) { TimeChange::Set(moment) } else { TimeChange::Now };
        Ok(has(field).then_some(change))
    };
    Ok(Changes {
        mode: has(MODE).then_some(mode & 0o7777),
        uid: has(UID).then_some(uid),
        gid: has(GID).then_some(gid),
        size: has(SIZE).then_some(size),
        accessed: time(ACCESSED, ACCESSED_SET)?,
        modified: time(MODIFIED, MODIFIED_SET)?,
    })
}

/// Writes the sizes of a file system.
pub fn put_file_system(answer: &mut Writer<'_>, sizes: &FileSystem) -> Result<(), Errno> {
    let block_size = u32::try_from(sizes.block_size).unwrap_or(u32::MAX);
    answer.put(&FILE_SYSTEM.to_le_bytes())?;
    answer.put(&block_size.to_le_bytes())?;
    let FileSystem { blocks, free, files, files_free, .. } = *sizes;
    for word in [blocks, free, free, files, files_free, 0] {
        answer.put(&word.to_le_bytes())?;
    }
    answer.put(&MAX_NAME.to_le_bytes())
}
