//! Files that an environment has made, changed or removed: which they are, and what is in them.

use crate::origin::join;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;
use nacre_proto::attribute_values::{self, MAX_VALUE};
use nacre_proto::flags::{AT_SYMLINK_NOFOLLOW, O_CREAT, O_NOFOLLOW, O_PATH, O_RDONLY, O_TRUNC, O_WRONLY, S_IFDIR, S_IFIFO, S_IFLNK, S_IFREG, S_IFSOCK};
use nacre_proto::structures::Status;
use nacre_proto::{Errno, directory, file};
use nacre_snapshot::image::Change;
use nacre_sys::Reference;

/// Maximum number of paths that are remembered.
const MAX_PATHS: usize = 16384;
/// Maximum number of bytes of a file that are kept.
const MAX_CONTENTS: usize = 64 << 20;
/// Bits of a mode that tell the kind of a file.
const KIND: u64 = 0o170000;
/// Bytes that are read or written at a time.
const PART: usize = 16384;

/// Paths that an environment may have changed.
#[derive(Clone, Default)]
pub struct Changes {
    paths: BTreeSet<Vec<u8>>,
    is_incomplete: bool,
    /// Inode numbers that the environment knows, by those that files have here.
    inodes: BTreeMap<u64, u64>,
}

/// Added to the number of a file that came here after the environment and has a number which that
/// knows another file by.
const SECOND: u64 = 1 << 40;

impl Changes {
    /// A path is changed, relative to a directory of this path.
    pub fn note(&mut self, directory: Option<&[u8]>, path: &[u8]) {
        match directory {
            Some(directory) if self.paths.len() < MAX_PATHS => drop(self.paths.insert(join(directory, path))),
            _ => self.is_incomplete = true,
        }
    }

    /// The open file of this path is changed. One without a path goes with what has it open.
    pub fn note_file(&mut self, path: Option<&[u8]>) {
        if let Some(path) = path {
            self.note(Some(b"/"), path);
        }
    }

    /// Takes over the paths of an image, whose files were made here.
    pub fn take_over(&mut self, files: Reference, changes: &[Change]) {
        self.paths.extend(changes.iter().map(|change| change.path.clone()));
        for change in changes.iter().filter(|change| change.mode != 0) {
            if let Some(status) = status(files, &change.path) {
                self.inodes.insert(status.inode, change.inode);
            }
        }
    }

    /// The number by which the environment knows a file that has this inode number here.
    pub fn inode(&self, here: u64) -> u64 {
        match self.inodes.get(&here) {
            Some(known) => *known,
            None if self.inodes.values().any(|known| *known == here) => here | SECOND,
            None => here,
        }
    }

    /// Puts the number by which the environment knows a file into its status.
    pub fn translate(&self, bytes: &mut [u8]) {
        if let Some(status) = Status::from_bytes(bytes).filter(|_| !self.inodes.is_empty()) {
            let status = Status { inode: self.inode(status.inode), ..status };
            bytes.iter_mut().zip(status.to_bytes()).for_each(|(place, byte)| *place = byte);
        }
    }

    /// Returns true if there were too many to remember, or some could not be named.
    pub fn is_incomplete(&self) -> bool {
        self.is_incomplete
    }

    /// Returns the files at the paths now, each directory before what lies in it, and the number of
    /// those that cannot be kept: special files, and those that are too large or may not be read.
    pub fn collect(&self, files: Reference) -> (Vec<Change>, usize) {
        let mut found: Vec<Change> = self.paths.iter().filter_map(|path| look(files, path)).collect();
        found.iter_mut().for_each(|change| change.inode = self.inode(change.inode));
        let missing = self.paths.len() - found.len();
        (found, missing)
    }
}

/// Status of a file; none if it is not there.
fn status(files: Reference, path: &[u8]) -> Option<Status> {
    let mut bytes = [0; Status::SIZE];
    directory::status_at(files, AT_SYMLINK_NOFOLLOW, path, &mut bytes[..]).ok()?;
    Status::from_bytes(&bytes)
}

fn look(files: Reference, path: &[u8]) -> Option<Change> {
    let gone = Change { path: path.to_vec(), ..Change::default() };
    let Some(found) = status(files, path) else { return Some(gone) };
    let contents = match found.mode & KIND {
        S_IFREG => {
            let opened = directory::open(files, O_RDONLY | O_NOFOLLOW, 0, path).ok()?.file;
            read_whole(opened.handle(), MAX_CONTENTS)?
        }
        S_IFLNK => {
            let mut target = vec![0; 4096];
            let size = directory::read_link(files, path, &mut target[..]).ok()?.target;
            target.truncate(size);
            target
        }
        S_IFDIR | S_IFIFO | S_IFSOCK => Vec::new(),
        _ => return None,
    };
    let Status { mode, inode, uid, gid, atime_sec, atime_nsec, mtime_sec, mtime_nsec, .. } = found;
    let attributes = attributes(files, path);
    Some(Change { attributes, mode, inode, owner: [uid, gid], times: [atime_sec, atime_nsec, mtime_sec, mtime_nsec], contents, ..gone })
}

/// Returns names and values of a file's extended attributes, as far as they can be read.
fn attributes(files: Reference, path: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let Ok(opened) = directory::open(files, O_PATH | O_NOFOLLOW, 0, path) else { return Vec::new() };
    let file = opened.file.handle();
    let names = attribute_values::read(file, b"", MAX_VALUE).map_or(Vec::new(), |(_, names)| names);
    let names = names.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.filter_map(|name| Some((name.to_vec(), attribute_values::read(file, name, MAX_VALUE).ok()?.1))).collect()
}

/// Gives a file the extended attributes that it had, and no others, as far as that is allowed.
fn set_attributes(files: Reference, change: &Change) {
    let Ok(opened) = directory::open(files, O_PATH | O_NOFOLLOW, 0, &change.path[..]) else { return };
    let file = opened.file.handle();
    let found = attribute_values::read(file, b"", MAX_VALUE).map_or(Vec::new(), |(_, names)| names);
    for name in found.split(|byte| *byte == 0).filter(|name| !change.attributes.iter().any(|(kept, _)| kept == name)) {
        let _ = file::remove_attribute(file, name);
    }
    for (name, value) in &change.attributes {
        let _ = attribute_values::set(file, name, value, 0);
    }
}

/// Makes the files of an image as they were. Returns the number of those that could not be made.
pub fn apply(files: Reference, changes: &[Change]) -> usize {
    let removed = changes.iter().rev().filter(|change| change.mode == 0);
    removed.for_each(|change| {
        if directory::remove(files, 0, &change.path[..]).is_err() {
            let _ = directory::remove(files, 1, &change.path[..]);
        }
    });
    let missing = changes.iter().filter(|change| change.mode != 0 && make(files, change).is_err()).count();
    // Those of a directory change with what is made in it.
    changes.iter().filter(|change| change.mode != 0).for_each(|change| {
        set_attributes(files, change);
        set_facts(files, change);
    });
    missing
}

/// Gives a file its owner and times, as far as that is allowed.
fn set_facts(files: Reference, change: &Change) {
    let (path, [atime, atime_rest, mtime, mtime_rest]) = (&change.path[..], change.times);
    let _ = directory::set_owner_at(files, change.owner[0], change.owner[1], AT_SYMLINK_NOFOLLOW, path);
    let _ = directory::set_times_at(files, atime, atime_rest, mtime, mtime_rest, AT_SYMLINK_NOFOLLOW, path);
}

fn make(files: Reference, change: &Change) -> Result<(), Errno> {
    let (path, mode) = (&change.path[..], change.mode & 0o7777);
    match change.mode & KIND {
        S_IFDIR => match directory::make_directory(files, mode, path) {
            Ok(_) | Err(Errno::EEXIST) => {}
            Err(errno) => return Err(errno),
        },
        S_IFLNK => {
            let _ = directory::remove(files, 0, path);
            let both = [&change.contents[..], path].concat();
            directory::symbolic_link(files, change.contents.len() as u64, &both[..])?;
            return Ok(());
        }
        kind @ (S_IFIFO | S_IFSOCK) => {
            let _ = directory::remove(files, 0, path);
            directory::make_node(files, kind | mode, 0, path)?;
        }
        _ => {
            let opened = directory::open(files, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, mode, path)?.file;
            write_whole(opened.handle(), &change.contents)?;
        }
    }
    directory::set_mode_at(files, mode, 0, path).map(drop)
}

/// All that is in a file; `None` if it is no regular file, is not open for reading, or has more
/// than `limit` bytes.
pub fn read_whole(file: Reference, limit: usize) -> Option<Vec<u8>> {
    let mut bytes = [0; Status::SIZE];
    file::status(file, &mut bytes[..]).ok()?;
    let status = Status::from_bytes(&bytes)?;
    if status.mode & KIND != S_IFREG || status.size as usize > limit {
        return None;
    }
    let mut contents = Vec::new();
    contents.try_reserve_exact(status.size as usize).ok()?;
    let mut part = vec![0; PART];
    while contents.len() < status.size as usize {
        let count = file::read(file, contents.len() as u64, PART as u64, &mut part[..]).ok()?.count as usize;
        if count == 0 {
            break;
        }
        contents.extend_from_slice(part.get(..count)?);
    }
    Some(contents)
}

/// Writes all of it, from the start on.
pub fn write_whole(file: Reference, contents: &[u8]) -> Result<(), Errno> {
    let mut at = 0;
    while at < contents.len() {
        let end = contents.len().min(at + PART);
        match file::write(file, at as u64, &contents[at..end])?.count as usize {
            0 => return Err(Errno::ENOSPC),
            count => at += count,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_keep_their_numbers_and_no_two_have_one() {
        let changes = Changes { inodes: BTreeMap::from([(7, 9), (8, 7)]), ..Changes::default() };
        assert_eq!([7, 8, 9, 10].map(|here| changes.inode(here)), [9, 7, 9 | SECOND, 10]);
        let mut bytes = Status { inode: 7, size: 3, ..Status::default() }.to_bytes();
        changes.translate(&mut bytes);
        assert_eq!(Status::from_bytes(&bytes), Some(Status { inode: 9, size: 3, ..Status::default() }));
        let mut short = [1; 8];
        changes.translate(&mut short);
        assert_eq!(short, [1; 8]);
    }
}
