//! Protocol 6, `directory`: a place in a tree of files.

use crate::flags::{AT_FLAGS, OPEN_FLAGS, RENAME_FLAGS, TIMES, WATCH_FLAGS};

crate::protocol! {
    /// A directory: a place in a tree of files. It answers `file` too. Paths are relative to it, or
    /// absolute from the server's root; symbolic links are followed, and `..` stops at the root.
    /// What is no directory takes no paths, not even absolute ones (`ENOTDIR`); an empty path is
    /// itself. On the way of a path that begins with a zero no link is followed (`ELOOP`). Errors
    /// are Linux's: `ENOENT`, `ENOTDIR`, `ELOOP`, `ENAMETOOLONG` for the path; more with each
    /// operation.
    directory = 6;

    /// Opens a file, and makes it if the flags say so: its mode, and the open file. `EEXIST`,
    /// `EISDIR`, `ENOTDIR`, `EACCES`, `ENXIO` as Linux's `openat`.
    1 open(flags: Flags(OPEN_FLAGS), mode: Mode; bytes path: Path) -> (mode: Mode; references file: Own(Opened));
    /// Returns the status of the file at `path`.
    2 status_at(flags: Flags(AT_FLAGS); bytes path: Path) -> (; bytes status: Structure("Status"));
    /// Makes a directory. `EEXIST`: the name is there.
    3 make_directory(mode: Mode; bytes path: Path) -> ();
    /// Removes a name, of a directory if `is_directory`, else of anything else. `EISDIR`,
    /// `ENOTDIR`, `ENOTEMPTY`, `EBUSY`.
    4 remove(is_directory: Number; bytes path: Path) -> ();
    /// Gives a file another name; the first path is the old one, the second, relative to the
    /// directory given, the new one. `EINVAL`: a directory cannot move into itself. `EXDEV`:
    /// another server's directory.
    5 rename(flags: Flags(RENAME_FLAGS), first_size: Number; bytes paths: Paths(1); references new_directory: Peer(Directory)) -> ();
    /// Gives a file one more name. `EPERM`: not to a directory. `EMLINK`: it has too many. `EXDEV`:
    /// another server's directory.
    6 link(flags: Flags(AT_FLAGS), first_size: Number; bytes paths: Paths(1); references new_directory: Peer(Directory)) -> ();
    /// Makes a symbolic link; the first path is what it leads to, the second its own.
    7 symbolic_link(first_size: Number; bytes paths: Paths(0)) -> ();
    /// Returns the target of a symbolic link. `EINVAL`: the file is no link.
    8 read_link(; bytes path: Path) -> (; bytes target: Path);
    /// Entries from `cookie` on (0: the first), as many as fit, and the cookie of the next ones (0:
    /// there are no more).
    9 list(cookie: Number, size: Number) -> (next: Number; bytes entries: Structure("Entries"));
    /// Sets the permissions of a file.
    10 set_mode_at(mode: Mode, flags: Flags(AT_FLAGS); bytes path: Path) -> ();
    /// Sets owner and group of a file; `-1` (of 32 bits) leaves one as it is.
    11 set_owner_at(uid: Number, gid: Number, flags: Flags(AT_FLAGS); bytes path: Path) -> ();
    /// Sets the times of a file.
    12 set_times_at(atime_sec: Signed, atime_nsec: Choice(TIMES), mtime_sec: Signed, mtime_nsec: Choice(TIMES), flags: Flags(AT_FLAGS); bytes path: Path) -> ();
    /// Makes a file of the kind that the mode says.
    13 make_node(mode: Mode, device: Hex; bytes path: Path) -> ();
    /// Tells of the file system whose files have this device number in their status, or else the
    /// next higher one: that number, the size of a block, and how many blocks, free blocks, files,
    /// and free files there are; and as text its kind, `ro` or `rw`, and where its outermost
    /// directory is, with a space behind the first two. Blocks of 0 bytes: it cannot be asked for
    /// its sizes. `ENODEV`: there is none.
    14 file_system_status(from: Number) -> (device: Number, block_size: Number, blocks: Number, free: Number, files: Number, files_free: Number; bytes about: Text);
    /// The absolute path of the directory. `ENAMETOOLONG`: it is longer than a path may be.
    15 path() -> (; bytes path: Path);
    /// A file that has no name, for memory that is shared; whether seals can be put on it.
    /// `ENOSPC`: no memory.
    16 memory(takes_seals: Number) -> (; references file: Own(Unnamed));
    /// A counter that is read and written as Linux's `eventfd`: each read takes all, or 1.
    17 counter(value: Number, takes_one: Number) -> (; references file: Own(Unnamed));
    /// Something from which events can be read as Linux's `inotify` gives them, once it watches
    /// something.
    18 watcher() -> (; references file: Own(Watcher));
    /// Lets a watcher hear what happens to a file, or in a directory: the watch's number.
    /// `ENOTDIR`: it was to be a directory. `EEXIST`: it is watched already. `ENOSPC`: too many.
    19 watch(mask: Flags(WATCH_FLAGS), flags: Flags(AT_FLAGS); bytes path: Path; references watcher: Peer(Watcher)) -> (number: Number);
    /// Returns the same directory with an account of its own, for another client. The server counts
    /// files, locks, watches and views that are opened through it on that account. They take at
    /// most three quarters of what is left to the caller's account. `ENFILE`: nothing is left.
    20 share() -> (; references directory: Own(Directory));
    /// Finds where a path leads: the absolute path without `.`, `..` and symbolic links, and
    /// whether the path can only mean a directory. The last name may be absent.
    21 find(flags: Flags(AT_FLAGS); bytes path: Path) -> (is_directory: Number; bytes found: Path);
    /// Returns the directory at `path` as one whose root it is itself: absolute paths used from it,
    /// and from directories opened through it, start there, and `..` stops there. A path that
    /// begins with a zero is still of the server's root, as the answers of `path` and `find` are.
    /// It keeps nobody in who has other directories. `ENOTDIR`.
    22 root(; bytes path: Path) -> (; references directory: Own(Directory));
    /// Returns the same directory as `share` does, with bounds for its account and all accounts
    /// inside it. At most `objects` are open at once: files, directories, watchers, counters, views
    /// and holds of files that run. Locks, waits and watches take 4,096 bytes for each of these at
    /// most. Contents and names of files take at most `storage` bytes. What is written to files
    /// that lie outside this server's memory, as on a disk, counts for good. All ones: no bound.
    /// `ENFILE`: nothing is left for an account. Later on, `ENFILE` and `ENOSPC` tell of a bound.
    23 limit(objects: Number, storage: Number) -> (; references directory: Own(Directory));
    /// Returns an open file once more, with its mode. Whatever is asked there counts on the account
    /// of this directory: files that are opened through it, contents, locks. The position is the
    /// one of the open file, and locks are its own. `EXDEV`: the reference leads to no open file of
    /// this server's that can be counted so.
    24 charge(; references opened: Peer(Any)) -> (mode: Mode; references file: Own(Opened));
}
