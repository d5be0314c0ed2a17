//! Flags of `open` and of the `*at` calls, and kinds of files in a mode.

/// Access mode in the flags of `open`.
pub const O_ACCESS: u32 = 3;
/// Only to write.
pub const O_WRONLY: u32 = 1;
/// To read and write.
pub const O_RDWR: u32 = 2;
/// Writes go to the end.
pub const O_APPEND: u32 = 0o2000;
/// What would wait gives `EAGAIN`.
pub const O_NONBLOCK: u32 = 0o4000;
/// The descriptor is closed by `execve`.
pub const O_CLOEXEC: u32 = 0o2000000;
/// What is written to a pipe stays apart.
pub const O_DIRECT: u32 = 0o40000;
/// Who owns it is told of its events.
pub const O_ASYNC: u32 = 0o20000;
/// Flags that `fcntl` may change at the server.
pub const CHANGEABLE: u32 = O_APPEND | O_NONBLOCK;
/// Only names a place: neither to read nor to write.
pub const O_PATH: u32 = 0o10000000;
/// The kind of file in a mode.
pub const S_IFMT: u32 = 0o170000;
/// Regular file.
pub const S_IFREG: u32 = 0o100000;
/// Directory.
pub const S_IFDIR: u32 = 0o040000;
/// Only a directory is opened.
pub const O_DIRECTORY: u32 = 0o200000;
/// Pipe.
pub const S_IFIFO: u32 = 0o010000;
/// Socket.
pub const S_IFSOCK: u32 = 0o140000;
/// Device of characters.
pub const S_IFCHR: u32 = 0o020000;
pub const S_IFBLK: u32 = 0o060000;
/// In a mode, beyond what Linux has there: an end of a pseudo-terminal.
pub const PAIR: u32 = 1 << 24;
/// The same, of the master.
pub const MASTER: u32 = 1 << 25;
/// The same: a queue of messages.
pub const MAILBOX: u32 = 1 << 26;
/// The descriptor that stands for the current directory.
pub const AT_FDCWD: i32 = -100;
/// Flag: an empty path means the descriptor itself.
pub const AT_EMPTY_PATH: u64 = 0x1000;
/// Flag: a symbolic link at the end of a path is meant itself.
pub const AT_SYMLINK_NOFOLLOW: u64 = 0x100;
/// `AT_FDCWD` as calls pass it.
pub const CURRENT: u64 = AT_FDCWD as u64;
