//! Flags of `open` and of the `*at` calls, and kinds of files in a mode.

/// Access mode in the flags of `open`.
pub const O_ACCESS: u32 = 3;
/// Opens for writing only.
pub const O_WRONLY: u32 = 1;
/// Opens for reading and writing.
pub const O_RDWR: u32 = 2;
/// Writes go to the end.
pub const O_APPEND: u32 = 0o2000;
/// Returns `EAGAIN` from calls that would block.
pub const O_NONBLOCK: u32 = 0o4000;
/// The descriptor is closed by `execve`.
pub const O_CLOEXEC: u32 = 0o2000000;
/// Keeps the boundaries between writes to a pipe.
pub const O_DIRECT: u32 = 0o40000;
/// Sends a signal to the file's owner on events.
pub const O_ASYNC: u32 = 0o20000;
/// Flags that `fcntl` may change at the server.
pub const CHANGEABLE: u32 = O_APPEND | O_NONBLOCK;
/// Opens a place only, neither for reading nor for writing.
pub const O_PATH: u32 = 0o10000000;
/// The kind of file in a mode.
pub const S_IFMT: u32 = 0o170000;
/// Regular file.
pub const S_IFREG: u32 = 0o100000;
/// Directory.
pub const S_IFDIR: u32 = 0o040000;
/// Fails if the file is not a directory.
pub const O_DIRECTORY: u32 = 0o200000;
/// Pipe.
pub const S_IFIFO: u32 = 0o010000;
/// Socket.
pub const S_IFSOCK: u32 = 0o140000;
/// Device of characters.
pub const S_IFCHR: u32 = 0o020000;
pub const S_IFBLK: u32 = 0o060000;
/// Mode bit that Linux does not have: the file is an end of a pseudo-terminal.
pub const PAIR: u32 = 1 << 24;
/// Mode bit that Linux does not have: the end is the master's.
pub const MASTER: u32 = 1 << 25;
/// Mode bit that Linux does not have: the file is a message queue.
pub const MAILBOX: u32 = 1 << 26;
/// Bit of a mode in an inheritance: the file may be served by anybody.
pub const FOREIGN: u32 = 1 << 27;
/// The descriptor that stands for the current directory.
pub const AT_FDCWD: i32 = -100;
/// Flag: an empty path means the descriptor itself.
pub const AT_EMPTY_PATH: u64 = 0x1000;
/// Flag: a symbolic link at the end of a path is meant itself.
pub const AT_SYMLINK_NOFOLLOW: u64 = 0x100;
/// `AT_FDCWD` as calls pass it.
pub const CURRENT: u64 = AT_FDCWD as u64;
