//! Numbers that operations take: Linux's where Linux has them. The tables give their names to tracers.

use crate::describe::Flag;

/// Declares constants, and a table of them.
macro_rules! table {
    ($(#[$doc:meta])* $table:ident: $($name:ident = $value:literal $(of $mask:literal)?, $text:literal;)*) => {
        $(#[doc = $text] pub const $name: u64 = $value;)*

        $(#[$doc])*
        pub const $table: &[Flag] = &[$(Flag { name: stringify!($name), value: $value, mask: table!(@mask $value $($mask)?) },)*];
    };
    (@mask $value:literal) => { $value };
    (@mask $value:literal $mask:literal) => { $mask };
}

table! {
    /// Services of a parent.
    SERVICES:
    SERVICE_FILES = 1 of 0xffff_ffff_ffff_ffff, "The root directory.";
    SERVICE_MEMORY = 2 of 0xffff_ffff_ffff_ffff, "A memory pool.";
    SERVICE_PROCESS = 3 of 0xffff_ffff_ffff_ffff, "The process manager.";
    SERVICE_CLOCK = 4 of 0xffff_ffff_ffff_ffff, "The clock.";
}

table! {
    /// Kinds of report.
    REPORTS:
    REPORT_MESSAGE = 0 of 0xffff_ffff_ffff_ffff, "A message for people.";
    REPORT_FOREIGN_CALL = 1 of 0xffff_ffff_ffff_ffff, "A foreign call that is not implemented: `name(number)`.";
    REPORT_FILE = 2 of 0xffff_ffff_ffff_ffff, "The path of a file to be handed out to whoever runs the system.";
}

table! {
    /// Flags of `directory.open`.
    OPEN_FLAGS:
    O_RDONLY = 0 of 3, "Open for reading.";
    O_WRONLY = 1 of 3, "Open for writing.";
    O_RDWR = 2 of 3, "Open for both.";
    O_CREAT = 0o100, "Make the file if it is not there.";
    O_EXCL = 0o200, "With `O_CREAT`: fail if it is there.";
    O_NOCTTY = 0o400, "The terminal does not become the controlling one.";
    O_TRUNC = 0o1000, "Cut it to size 0.";
    O_APPEND = 0o2000, "Write at the end.";
    O_NONBLOCK = 0o4000, "Fail with `EAGAIN` instead of waiting.";
    O_DSYNC = 0o10000, "Ignored.";
    O_DIRECT = 0o40000, "Ignored.";
    O_LARGEFILE = 0o100000, "Ignored.";
    O_DIRECTORY = 0o200000, "Fail with `ENOTDIR` unless it is a directory.";
    O_NOFOLLOW = 0o400000, "Fail with `ELOOP` if it is a symbolic link.";
    O_NOATIME = 0o1000000, "Ignored.";
    O_CLOEXEC = 0o2000000, "Ignored by servers.";
    O_PATH = 0o10000000, "Only a place in the tree: neither read nor written.";
}

table! {
    /// Flags of operations on paths.
    AT_FLAGS:
    AT_SYMLINK_NOFOLLOW = 0x100, "Not what the symbolic link at the end leads to, but the link.";
    AT_SYMLINK_FOLLOW = 0x400, "Of `link`: what the symbolic link at the end leads to.";
    AT_EMPTY_PATH = 0x1000, "An empty path is the directory or file itself.";
}

table! {
    /// Flags of `directory.rename`.
    RENAME_FLAGS:
    RENAME_NOREPLACE = 1, "Fail with `EEXIST` if the new name is there.";
    RENAME_EXCHANGE = 2, "Exchange the two.";
}

table! {
    /// Events of `file.poll`.
    POLL_EVENTS:
    POLLIN = 1, "Reading would not wait.";
    POLLPRI = 2, "Something exceptional.";
    POLLOUT = 4, "Writing would not wait.";
    POLLERR = 8, "An error.";
    POLLHUP = 0x10, "The other end is gone.";
    POLLRDNORM = 0x40, "As `POLLIN`.";
    POLLWRNORM = 0x100, "As `POLLOUT`.";
}

table! {
    /// Where `file.seek` counts from.
    WHENCE:
    SEEK_SET = 0 of 0xffff_ffff_ffff_ffff, "The start.";
    SEEK_CUR = 1 of 0xffff_ffff_ffff_ffff, "The position.";
    SEEK_END = 2 of 0xffff_ffff_ffff_ffff, "The end.";
    SEEK_DATA = 3 of 0xffff_ffff_ffff_ffff, "The next data at or after the offset.";
    SEEK_HOLE = 4 of 0xffff_ffff_ffff_ffff, "The next hole at or after the offset.";
}

table! {
    /// Nanoseconds with a meaning of their own, in times that are set.
    TIMES:
    UTIME_NOW = 0x3fff_ffff of 0xffff_ffff_ffff_ffff, "The present time.";
    UTIME_OMIT = 0x3fff_fffe of 0xffff_ffff_ffff_ffff, "No change.";
}

table! {
    /// Offsets and flags with a meaning of their own.
    NONE:
    OWN_POSITION = 0xffff_ffff_ffff_ffff of 0xffff_ffff_ffff_ffff, "The file's own position, which moves.";
}

table! {
    /// Flags of `file.flags`.
    FILE_FLAGS:
    KEEP_FLAGS = 0xffff_ffff_ffff_ffff of 0xffff_ffff_ffff_ffff, "No change.";
    FILE_APPEND = 0o2000, "Write at the end.";
    FILE_NONBLOCK = 0o4000, "Fail with `EAGAIN` instead of waiting.";
}

table! {
    /// When `terminal.set_attributes` acts.
    WHEN:
    TCSANOW = 0 of 0xffff_ffff_ffff_ffff, "At once.";
    TCSADRAIN = 1 of 0xffff_ffff_ffff_ffff, "When the output is out.";
    TCSAFLUSH = 2 of 0xffff_ffff_ffff_ffff, "When the output is out, and input not yet read is dropped.";
}

table! {
    /// Clocks.
    CLOCKS:
    CLOCK_REALTIME = 0 of 0xffff_ffff_ffff_ffff, "Time since 1970.";
    CLOCK_MONOTONIC = 1 of 0xffff_ffff_ffff_ffff, "Time since the machine started.";
}

table! {
    /// Kinds of file in a mode (`st_mode & 0o170000`).
    FILE_KINDS:
    S_IFIFO = 0o010000 of 0o170000, "A pipe.";
    S_IFCHR = 0o020000 of 0o170000, "A character device.";
    S_IFDIR = 0o040000 of 0o170000, "A directory.";
    S_IFBLK = 0o060000 of 0o170000, "A block device.";
    S_IFREG = 0o100000 of 0o170000, "A regular file.";
    S_IFLNK = 0o120000 of 0o170000, "A symbolic link.";
    S_IFSOCK = 0o140000 of 0o170000, "A socket.";
}
