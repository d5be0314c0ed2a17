//! What the modes of files let a user do. The library looks before it asks the server, which does
//! not know whose a request is; so this is what Linux would say, and no protection from a program
//! that asks the server itself. The superuser pays nothing for it.

use crate::abi::errno::{EACCES, ENOENT, ENOTDIR, EPERM, Errno};
use crate::abi::file_flags::AT_SYMLINK_NOFOLLOW;
use crate::abi::registers::Frame;
use crate::operations::paths::path_start;
use crate::operations::paths::path_walk::{Walk, look};
use crate::process::Process;
use crate::process::exchange::Place;
use crate::state::capabilities::{FILES, FILE_BITS, FILE_OWNER, FILE_SEARCH};
use alloc::vec::Vec;
use nacre_proto::directory;
use nacre_proto::structures::Status;
use nacre_sys::Reference;

/// Read access, as in a mode's last digit.
pub const READ: u64 = 4;
/// Write access.
pub const WRITE: u64 = 2;
/// Execute or search access.
pub const EXECUTE: u64 = 1;
/// The kind of a file, in its mode.
pub const S_IFMT: u64 = 0o170000;
const S_IFDIR: u64 = 0o040000;
/// A symbolic link.
pub const S_IFLNK: u64 = 0o120000;
const S_IFREG: u64 = 0o100000;
const SET_USER: u64 = 0o4000;
const STICKY: u64 = 0o1000;
const SET_GROUP: u64 = 0o2000;

/// User and group whose access is judged.
pub type Who = [u32; 2];

/// File that a path leads to, as far as modes let the user look.
pub struct Found {
    /// The directory that the last name is in.
    pub parent: Status,
    /// Status of the file, if it exists.
    pub file: Option<Status>,
}

fn is_directory(status: &Status) -> bool {
    status.mode & S_IFMT == S_IFDIR
}

/// The part of a mode that holds for a user.
fn digit(status: &Status, [user, group]: Who, groups: &[u32]) -> u64 {
    let is_member = status.gid == u64::from(group) || groups.iter().any(|group| u64::from(*group) == status.gid);
    match status.mode & 0o777 {
        mode if status.uid == u64::from(user) => mode >> 6,
        mode if is_member => mode >> 3 & 7,
        mode => mode & 7,
    }
}

impl Process {
    /// Returns true if modes allow the access to the user.
    pub fn allows(&self, status: &Status, wanted: u64, who: Who) -> bool {
        let missing = wanted & !digit(status, who, &self.identity.groups);
        let has = |capability| self.identity.capabilities.has(capability);
        let is_searched = is_directory(status) || status.mode & 0o111 != 0;
        missing == 0
            || has(FILES) && (missing & EXECUTE == 0 || is_searched)
            || has(FILE_SEARCH) && (missing == READ || is_directory(status) && missing & WRITE == 0)
    }

    /// Makes what the user has just made in a directory his own. What changes hands loses the bits
    /// of `mode` that set IDs, and gets them again.
    pub fn make_own(&mut self, place: Place<'_>, parent: Option<Status>, mode: u64) -> Result<(), Errno> {
        let Some(parent) = parent else { return Ok(()) };
        let [user, group] = owner_in(self, &parent);
        directory::set_owner_at(place.directory, user, group, AT_SYMLINK_NOFOLLOW, place.path)?;
        if sets_ids(mode) {
            directory::set_mode_at(place.directory, mode & 0o7777, AT_SYMLINK_NOFOLLOW, place.path)?;
        }
        Ok(())
    }
}

/// Returns true if modes restrict this process. They do not restrict the superuser.
pub fn minds_modes(process: &Process) -> bool {
    !process.identity.capabilities.has(FILES) || process.identity.of_files != [0; 2]
}

/// `EACCES` unless the user may use a file so.
pub fn check_mode(process: &Process, status: &Status, wanted: u64) -> Result<(), Errno> {
    if process.allows(status, wanted, process.identity.of_files) { Ok(()) } else { Err(EACCES) }
}

/// Walks a path as the user; what is at its end.
pub fn walk_as(process: &mut Process, from: Reference, path: &[u8], follow: bool, who: Who) -> Result<Found, Errno> {
    let root = process.root_directory()?;
    let mut walk = Walk { from, done: Vec::new(), rest: Vec::new(), links: 0 };
    if path.first() == Some(&b'/') {
        (walk.from, walk.done) = (root, Vec::from(b"/"));
    }
    walk.push(path);
    let mut here = look(walk.from, &walk.done)?;
    loop {
        let Some(name) = walk.rest.pop() else { return Ok(Found { parent: here, file: Some(here) }) };
        if !is_directory(&here) {
            return Err(ENOTDIR);
        }
        if !process.allows(&here, EXECUTE, who) {
            return Err(EACCES);
        }
        let is_last = walk.rest.is_empty();
        let next = walk.with(&name);
        match look(walk.from, &next) {
            Ok(status) if status.mode & S_IFMT == S_IFLNK && (follow || !is_last) => {
                // In a directory such as `/tmp` others' links lead nowhere.
                let is_trap = is_last && here.mode & (STICKY | 2) == STICKY | 2 && ![u64::from(who[0]), here.uid].contains(&status.uid);
                if is_trap {
                    return Err(EACCES);
                }
                walk.follow(&next, root)?;
                here = look(walk.from, &walk.done)?;
            }
            Ok(status) if is_last => return Ok(Found { parent: here, file: Some(status) }),
            Ok(status) => (walk.done, here) = (next, status),
            Err(ENOENT) if is_last => return Ok(Found { parent: here, file: None }),
            Err(error) => return Err(error),
        }
    }
}

/// Checks the way to a place and returns what is there, if modes restrict this process.
pub fn judge(process: &mut Process, place: Place<'_>, follow: bool) -> Result<Option<Found>, Errno> {
    if !minds_modes(process) {
        return Ok(None);
    }
    let who = process.identity.of_files;
    walk_as(process, place.directory, place.path, follow, who).map(Some)
}

/// `EACCES` unless the user may come to a place, and use what is there so.
pub fn check_place(process: &mut Process, place: Place<'_>, follow: bool, wanted: u64) -> Result<(), Errno> {
    match judge(process, place, follow)? {
        Some(Found { file: Some(status), .. }) => check_mode(process, &status, wanted),
        _ => Ok(()),
    }
}

/// Checks that the user may make or remove a name in the directory of the place. The server refuses
/// a name that exists.
pub fn check_new_name(process: &mut Process, place: Place<'_>) -> Result<Option<Status>, Errno> {
    match judge(process, place, false)? {
        Some(Found { parent, file: None }) => check_mode(process, &parent, WRITE | EXECUTE).map(|()| Some(parent)),
        _ => Ok(None),
    }
}

/// `EPERM` unless the user may give a file another name: others' only if he could read and write
/// them anyway, as Debian's kernel has it.
pub fn check_linked(process: &mut Process, place: Place<'_>, follow: bool) -> Result<(), Errno> {
    let Some(Found { file: Some(file), .. }) = judge(process, place, follow)? else { return Ok(()) };
    let is_plain = file.mode & S_IFMT == S_IFREG && file.mode & SET_USER == 0 && file.mode & (SET_GROUP | 0o10) != SET_GROUP | 0o10;
    let may = owns(process, &file) || is_plain && check_mode(process, &file, READ | WRITE).is_ok();
    if may { Ok(()) } else { Err(EPERM) }
}

/// Checks that the user may remove a name. In a sticky directory such as `/tmp` these are his own.
pub fn check_old_name(process: &mut Process, place: Place<'_>) -> Result<(), Errno> {
    let Some(Found { parent, file: Some(file) }) = judge(process, place, false)? else { return Ok(()) };
    check_mode(process, &parent, WRITE | EXECUTE)?;
    let is_others = parent.mode & STICKY != 0 && !owns(process, &file) && !owns(process, &parent);
    if is_others { Err(EPERM) } else { Ok(()) }
}

/// Returns true if the user may do what the file's owner may.
pub fn owns(process: &Process, status: &Status) -> bool {
    status.uid == u64::from(process.identity.of_files[0]) || process.identity.capabilities.has(FILE_OWNER)
}

/// Returns true if the user belongs to a group.
pub fn is_in(process: &Process, group: u64) -> bool {
    group == u64::from(process.identity.of_files[1]) || process.identity.groups.iter().any(|other| u64::from(*other) == group)
}

/// Returns user and group of a new file in a directory.
pub fn owner_in(process: &Process, parent: &Status) -> [u64; 2] {
    let [user, group] = process.identity.of_files.map(u64::from);
    [user, if parent.mode & SET_GROUP != 0 { parent.gid } else { group }]
}

/// Returns the mode of a new file in a directory. A program that others run does not get the group
/// of a directory that the user is not in.
pub fn mode_in(process: &Process, parent: &Status, mode: u64) -> u64 {
    let sets_group = parent.mode & SET_GROUP != 0 && mode & (SET_GROUP | 0o10) == SET_GROUP | 0o10;
    let may = is_in(process, parent.gid) || process.identity.capabilities.has(FILE_BITS);
    if sets_group && !may { mode & !SET_GROUP } else { mode }
}

/// Returns true if a mode sets the user or the group of a program.
pub fn sets_ids(mode: u64) -> bool {
    mode & (SET_USER | SET_GROUP) != 0
}

/// The place that a call without a descriptor names in its first argument, if the user may come
/// there.
pub fn first_place_to(process: &mut Process, frame: &Frame, wanted: u64) -> Result<Place<'static>, Errno> {
    let place = path_start::first_place(process, frame)?;
    check_place(process, place, true, wanted)?;
    Ok(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(mode: u64, uid: u64, gid: u64) -> Status {
        Status { mode, uid, gid, ..Status::default() }
    }

    #[test]
    fn the_owner_has_the_first_digit_even_if_it_says_less() {
        assert_eq!(digit(&file(0o100047, 7, 8), [7, 8], &[]), 0);
        assert_eq!(digit(&file(0o100047, 1, 8), [7, 8], &[]), 4);
        assert_eq!(digit(&file(0o100047, 1, 9), [7, 8], &[3, 9]), 4);
        assert_eq!(digit(&file(0o100047, 1, 1), [7, 8], &[3, 9]), 7);
    }
}
