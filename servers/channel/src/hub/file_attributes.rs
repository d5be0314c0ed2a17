//! What the name of a terminal says of it as of a file: mode, owner and times, which it has until
//! the terminal goes. Whoever opens it is told; nobody is kept from it here.

use nacre_proto::channel::terminal_as_file;
use nacre_proto::flags::S_IFCHR;
use nacre_proto::structures::Status;

/// All bits of a mode that can be set.
const PERMISSIONS: u64 = 0o7777;
/// The group of terminals.
const GROUP: u64 = 5;
/// A number of a user or group; all of its bits: the one that there is stays.
const KEEP: u64 = 0xffff_ffff;
const NANOSECONDS: u64 = 1_000_000_000;

/// Mode, owner and times.
#[derive(Debug)]
pub struct FileAttributes {
    mode: u64,
    owner: [u64; 2],
    times: [[u64; 2]; 2],
}

impl Default for FileAttributes {
    fn default() -> FileAttributes {
        FileAttributes { mode: 0o620, owner: [0, GROUP], times: [[0; 2]; 2] }
    }
}

impl FileAttributes {
    /// The whole of it, of the terminal with this number.
    pub fn status(&self, number: u64) -> Status {
        let ([uid, gid], [[atime_sec, atime_nsec], [mtime_sec, mtime_nsec]]) = (self.owner, self.times);
        let times = Status { atime_sec, atime_nsec, mtime_sec, mtime_nsec, ctime_sec: mtime_sec, ctime_nsec: mtime_nsec, ..terminal_as_file(number, true) };
        Status { mode: S_IFCHR | self.mode, uid, gid, ..times }
    }

    /// Sets the mode.
    pub fn set_mode(&mut self, mode: u64) {
        self.mode = mode & PERMISSIONS;
    }

    /// Sets user and group.
    pub fn set_owner(&mut self, owner: [u64; 2]) {
        for (place, new) in self.owner.iter_mut().zip(owner).filter(|(_, new)| new & KEEP != KEEP) {
            *place = new & KEEP;
        }
    }

    /// Sets when it was read and written last; what is no time is a wish, and stays as it is.
    pub fn set_times(&mut self, times: [[u64; 2]; 2]) {
        for (place, new) in self.times.iter_mut().zip(times).filter(|(_, [_, part])| *part < NANOSECONDS) {
            *place = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_to_change_stays() {
        let mut looks = FileAttributes::default();
        looks.set_mode(0o170_600);
        looks.set_owner([7, u64::from(u32::MAX)]);
        looks.set_times([[5, 6], [8, NANOSECONDS]]);
        let status = looks.status(3);
        assert_eq!((status.mode, status.uid, status.gid, status.rdevice), (S_IFCHR | 0o600, 7, GROUP, 136 << 8 | 3));
        assert_eq!([status.atime_sec, status.atime_nsec, status.mtime_sec, status.mtime_nsec], [5, 6, 0, 0]);
        looks.set_owner([u64::MAX, 9]);
        assert_eq!((looks.status(3).uid, looks.status(3).gid), (7, 9));
    }
}
