//! The disk below a volume, as its owner implements it, and numbers of errors.

use nacre_machine_9p::Errno;

/// A disk. Positions and lengths that a volume asks for are multiples of the volume's block size,
/// at least 1,024 bytes; at most 512 KiB are written and as much as a caller reads is read at once.
pub trait Disk {
    /// Returns the size in bytes.
    fn size(&self) -> u64;

    /// Reads bytes from a position. All are read, or the result is an error.
    fn read(&mut self, at: u64, into: &mut [u8]) -> Result<(), Errno>;

    /// Begins to read so many bytes from a position: they are wanted soon. A hint; nothing fails.
    fn prefetch(&mut self, _at: u64, _size: u64) {}

    /// Writes bytes to a position. They may stay in a cache of the disk's until the next flush, and
    /// a failure may be told by a later call.
    fn write(&mut self, at: u64, bytes: &[u8]) -> Result<(), Errno>;

    /// Returns when everything written so far will be there after a loss of power.
    fn flush(&mut self) -> Result<(), Errno>;
}

/// Error numbers that a volume answers with.
pub mod errno {
    use super::Errno;

    macro_rules! numbers {
        ($($name:ident = $number:literal, $about:literal;)*) => {
            $(#[doc = $about] pub const $name: Errno = Errno($number);)*
        };
    }

    numbers! {
        PERM = 1, "The file is immutable.";
        NOENT = 2, "The name is not there.";
        IO = 5, "The disk failed.";
        NXIO = 6, "The file cannot be opened here: it is a device, FIFO or socket.";
        BADF = 9, "The file is not open for this.";
        AGAIN = 11, "Another open file has the lock.";
        EXIST = 17, "The name is there.";
        NOTDIR = 20, "The file is no directory.";
        ISDIR = 21, "The file is a directory.";
        INVAL = 22, "An argument makes no sense.";
        FBIG = 27, "The file would become too large.";
        NOSPC = 28, "The volume is full.";
        ROFS = 30, "The volume is read-only.";
        MLINK = 31, "The file has as many names as it can have.";
        NAMETOOLONG = 36, "A name has more than 255 bytes, or a target does not fit a block.";
        RANGE = 34, "A name of an attribute is too long.";
        NOLCK = 37, "There are too many locks.";
        NOTEMPTY = 39, "The directory has entries.";
        LOOP = 40, "The file is a symbolic link.";
        NODATA = 61, "The file has no attribute of this name.";
        NOTSUP = 95, "Attributes of this kind are not shown.";
        CORRUPT = 117, "The volume contradicts itself (EUCLEAN).";
    }
}
