//! Protocol 4, `file`: an open file, directory or stream.

use crate::flags::{ALLOCATE_FLAGS, ATTRIBUTE_FLAGS, FILE_FLAGS, LOCK_FLAGS, LOCKS, NONE, POLL_EVENTS, SEALS, SHARE_FLAGS, TIMES, WHENCE};

crate::protocol! {
    /// An open file, directory or stream. Errors are Linux's for the call of the same purpose. When
    /// the last reference is gone the file is closed.
    file = 4;

    /// Reads up to `size` bytes (at most 16384) from `offset`, or from the file's own position,
    /// which moves. No bytes: the end. Waits if there is nothing to read yet. `EBADF`: not open for
    /// reading. `EISDIR`: a directory. `EAGAIN`: it would wait, and `O_NONBLOCK` is set.
    1 read(offset: Choice(NONE), size: Number) -> (count: Number; bytes data: Data);
    /// Writes bytes to `offset`, or to the file's own position, which moves; with `O_APPEND` to the
    /// end. How many were written. `EBADF`: not open for writing. `ENOSPC`: no memory for the
    /// contents. `EFBIG`: beyond the largest size. `EAGAIN`: it would wait, and `O_NONBLOCK` is
    /// set.
    2 write(offset: Choice(NONE); bytes data: Data) -> (count: Number);
    /// Returns the status of the file.
    3 status() -> (; bytes status: Structure("Status"));
    /// Sets the size; new bytes are zeros. `EINVAL`: not open for writing, or no regular file.
    4 set_size(size: Number) -> ();
    /// Sets the permissions.
    5 set_mode(mode: Mode) -> ();
    /// Sets owner and group; `-1` (of 32 bits) leaves one as it is.
    6 set_owner(uid: Number, gid: Number) -> ();
    /// Sets the times of the last read and of the last change.
    7 set_times(atime_sec: Signed, atime_nsec: Choice(TIMES), mtime_sec: Signed, mtime_nsec: Choice(TIMES)) -> ();
    /// The contents from `offset` (a multiple of 4096) as a region that can be read and executed,
    /// and how many bytes of it are the file's. `ENODEV`: the contents do not lie so that they
    /// could be mapped: read them.
    8 map(offset: Number, size: Number) -> (size: Number; references region: Region(CODE));
    /// Returns which of the events are present, without waiting.
    9 poll(events: Flags(POLL_EVENTS)) -> (events: Flags(POLL_EVENTS));
    /// Moves the file's own position. `ESPIPE`: a stream has none. `EINVAL`: before the start.
    /// `ENXIO`: beyond the end (data and holes).
    10 seek(offset: Signed, whence: Choice(WHENCE)) -> (position: Number);
    /// Returns when what was written is where it is to stay.
    11 sync() -> ();
    /// Sets those flags of an open file that can change, unless `KEEP_FLAGS`; the flags that were
    /// set before.
    12 flags(new: Flags(FILE_FLAGS)) -> (old: Flags(FILE_FLAGS));
    /// Returns which of the events are present. If none is, the server notifies the bits at the
    /// port, once, when one may be; the client then asks again. Regular files always have all
    /// events. A client whose port waits here need not ask again before it is notified. If very
    /// many ports wait, the server notifies the oldest ones early.
    13 watch(events: Flags(POLL_EVENTS), bits: Hex; references port: Kept(Port)) -> (events: Flags(POLL_EVENTS));
    /// The contents as memory that changes with them: a region of at least `size` bytes, and a port
    /// that keeps it, which answers `segment`'s `wait` and `wake`. Pages appear when they are
    /// touched; those behind the end do not, and those that the file gives up go. It keeps the
    /// file, whoever closes or removes it. `EACCES`: the file is not open so. `ENODEV`: no regular
    /// file. `EPERM`: a seal forbids it. `ENOMEM`: too large, or too many.
    14 share(size: Number, access: Flags(SHARE_FLAGS)) -> (size: Number; references region: Region(CONTENTS), hold: Own(Hold));
    /// Adds seals, which stay for ever; those that there are. `EINVAL`: the file takes none.
    /// `EPERM`: it takes no more. `EBUSY`: others can write its memory.
    15 seals(add: Flags(SEALS)) -> (seals: Flags(SEALS));
    /// Makes room for a part of the file, and makes it longer if need be; or takes the part's
    /// memory away, so that it reads as zeros. `EOPNOTSUPP`: flags that have no meaning here.
    16 allocate(flags: Flags(ALLOCATE_FLAGS), offset: Number, size: Number) -> ();
    /// Locks the bytes from `start` to `end` (`0xffff_ffff_ffff_ffff`: all that may come) against
    /// other open files and owners, for this open file; with `LOCK_WHOLE` the file as `flock` does.
    /// The lock goes with the open file. With `LOCK_TEST` it only looks: kind, first byte, last
    /// byte and process of a lock in the way, or `LOCK_NONE`. `EAGAIN`: somebody else has it, and
    /// it was not to wait. `EBADF`: not open so. `ENOLCK`: too many.
    17 lock(kind: Choice(LOCKS), flags: Flags(LOCK_FLAGS), start: Number, end: Number) -> (kind: Choice(LOCKS), start: Number, end: Number, pid: Number);
    /// Does what `lock` does, for the process to which `owner` belongs. `EDEADLK`: the process
    /// would wait for itself.
    18 lock_owned(kind: Choice(LOCKS), flags: Flags(LOCK_FLAGS), start: Number, end: Number; references owner: Peer(Owner)) -> (kind: Choice(LOCKS), start: Number, end: Number, pid: Number);
    /// An owner of locks, which go when the last reference to it is gone.
    19 lock_owner(pid: Number) -> (; references owner: Own(Owner));
    /// Ends a watch of this watcher. `EINVAL`: there is none with this number.
    20 unwatch(number: Number) -> ();
    /// Returns a reference that stands for a program which runs the file. While the reference
    /// lives, nobody opens the file to write or cuts it off. `ETXTBSY`: the file is open to be
    /// written. `EACCES`: not a regular file that somebody may execute.
    21 execute() -> (; references hold: Own(Hold));
    /// Hands the contents out to whoever runs the system, under this path, from which `.` and `..`
    /// are taken out first. `EACCES`: the path does not lead to this file. `EBADF`: not open for
    /// reading. `EINVAL`: not a regular file, or the path has control characters or more than 1,000
    /// bytes. `EAGAIN`: too much waits to go out.
    22 hand_out(; bytes name: Path) -> ();
    /// Up to `size` bytes from `offset` of the value of an extended attribute, and the size of the
    /// whole value. The file may have been opened as a place. `ENODATA`: there is none of this
    /// name. `EOPNOTSUPP`: the file system keeps none of this kind.
    23 attribute(offset: Number, size: Number; bytes name: Text) -> (size: Number; bytes value: Data);
    /// Sets an extended attribute to a value of `size` bytes, at most 65,536, of which those from
    /// `offset` on come behind the name. A value that one message cannot carry comes in parts, from
    /// its start on: the last one sets it. `EEXIST`, `ENODATA` as Linux's `setxattr`. `ENOSPC`:
    /// there is no room for it. `EAGAIN`: the parts before this one are gone; begin again.
    24 set_attribute(flags: Flags(ATTRIBUTE_FLAGS), name_size: Number, offset: Number, size: Number; bytes named: Named(1)) -> ();
    /// Up to `size` bytes from `offset` of the names of all extended attributes, a zero behind
    /// each, and the size of all of them.
    25 attributes(offset: Number, size: Number) -> (size: Number; bytes names: Data);
    /// Removes an extended attribute. `ENODATA`: there is none of this name.
    26 remove_attribute(; bytes name: Text) -> ();
}
