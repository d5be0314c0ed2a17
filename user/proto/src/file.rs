//! Protocol 4, `file`: an open file, directory or stream.

use crate::flags::{FILE_FLAGS, NONE, POLL_EVENTS, TIMES, WHENCE};

crate::protocol! {
    /// An open file, directory or stream. Errors are Linux's for the call of the same purpose. When the last reference is gone the file is closed.
    file = 4;

    /// Reads up to `size` bytes (at most 16384) from `offset`, or from the file's own position, which moves. No bytes: the end.
    /// Waits if there is nothing to read yet. `EBADF`: not open for reading. `EISDIR`: a directory. `EAGAIN`: it would wait, and `O_NONBLOCK` is set.
    1 read(offset: Choice(NONE), size: Number) -> (count: Number; bytes data: Data);
    /// Writes bytes to `offset`, or to the file's own position, which moves; with `O_APPEND` to the end. How many were written.
    /// `EBADF`: not open for writing. `ENOSPC`: no memory for the contents. `EFBIG`: beyond the largest size. `EAGAIN`: it would wait, and `O_NONBLOCK` is set.
    2 write(offset: Choice(NONE); bytes data: Data) -> (count: Number);
    /// What is known of the file.
    3 status() -> (; bytes status: Structure("Status"));
    /// Sets the size; new bytes are zeros. `EINVAL`: not open for writing, or no regular file.
    4 set_size(size: Number) -> ();
    /// Sets the permissions.
    5 set_mode(mode: Mode) -> ();
    /// Sets owner and group; `-1` (of 32 bits) leaves one as it is.
    6 set_owner(uid: Number, gid: Number) -> ();
    /// Sets the times of the last read and of the last change.
    7 set_times(atime_sec: Signed, atime_nsec: Choice(TIMES), mtime_sec: Signed, mtime_nsec: Choice(TIMES)) -> ();
    /// The contents from `offset` (a multiple of 4096) as a region that can be read and executed, and how many bytes of it are the file's.
    /// `ENODEV`: the contents do not lie so that they could be mapped: read them.
    8 map(offset: Number, size: Number) -> (size: Number; references region);
    /// Which of the events are there, without waiting.
    9 poll(events: Flags(POLL_EVENTS)) -> (events: Flags(POLL_EVENTS));
    /// Moves the file's own position. `ESPIPE`: a stream has none. `EINVAL`: before the start. `ENXIO`: beyond the end (data and holes).
    10 seek(offset: Signed, whence: Choice(WHENCE)) -> (position: Number);
    /// Returns when what was written is where it is to stay.
    11 sync() -> ();
    /// Sets those flags of an open file that can change, unless `KEEP_FLAGS`; the flags that were set before.
    12 flags(new: Flags(FILE_FLAGS)) -> (old: Flags(FILE_FLAGS));
    /// Which of the events are there. If none is, the bits are notified at the port, once, when one may be: then it is asked again. Regular files have all at once. Whoever has a port waiting here need not ask again until it was notified;
    /// if very many wait, the oldest are notified for nothing.
    13 watch(events: Flags(POLL_EVENTS), bits: Hex; references port) -> (events: Flags(POLL_EVENTS));
}
