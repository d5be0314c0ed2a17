//! An open file: which node, what reading and writing it means, and where it stands.

use crate::table::Key;
use crate::tree::{NodeContent, Node, format, open};
use nacre_proto::Errno;

/// Numbers of devices (`major << 8 | minor`), those of Linux.
mod device {
    pub const NULL: u64 = 0x103;
    pub const ZERO: u64 = 0x105;
    pub const FULL: u64 = 0x107;
    pub const RANDOM: u64 = 0x108;
    pub const RANDOM_AT_ONCE: u64 = 0x109;
    /// Linux gives it a minor number at run time.
    pub const USER_FAULTS: u64 = 0xa7e;
    pub const TERMINAL: u64 = 0x500;
    pub const CONSOLE: u64 = 0x501;
    pub const FIRST_LINE: u64 = 0x440;
    pub const THIRD_LINE: u64 = 0x442;
    pub const FOURTH_LINE: u64 = 0x443;
    /// The first of the ports to the host. Linux gives them a number at run time.
    pub const HOST_PORTS: u64 = 0xf700;
}

/// The devices that are in `/dev`: path, number, permissions.
pub const DEVICES: &[(&[u8], u64, u32)] = &[
    (b"/dev/null", device::NULL, 0o666),
    (b"/dev/zero", device::ZERO, 0o666),
    (b"/dev/full", device::FULL, 0o666),
    (b"/dev/random", device::RANDOM, 0o666),
    (b"/dev/urandom", device::RANDOM_AT_ONCE, 0o666),
    (b"/dev/userfaultfd", device::USER_FAULTS, 0o600),
    (b"/dev/tty", device::TERMINAL, 0o666),
    (b"/dev/console", device::CONSOLE, 0o600),
    (b"/dev/stdin", device::FIRST_LINE, 0o620),
    (b"/dev/stdout", device::FIRST_LINE, 0o620),
    (b"/dev/stderr", device::THIRD_LINE, 0o620),
];

/// The device of a debugger, on machines that have its line.
pub const DEBUGGER: (&[u8], u64, u32) = (b"/dev/gdb", device::FOURTH_LINE, 0o600);

/// Streams that a program starts with.
#[derive(Clone, Copy, Debug)]
pub struct Streams {
    /// Set if input and output are a terminal.
    pub has_terminal: bool,
    /// Paths of the devices.
    pub paths: [&'static [u8]; 3],
}

/// Returns the streams that a program starts with. On a terminal, input and output are the console,
/// so that a program finds the terminal's name. With `has_no_input` the input is that of the
/// device without any.
pub fn streams(has_terminal: bool, has_no_input: bool) -> Streams {
    let paths: [&[u8]; 3] = match (has_terminal, has_no_input) {
        (true, _) => [b"/dev/console", b"/dev/console", b"/dev/stderr"],
        (false, true) => [b"/dev/null", b"/dev/stdout", b"/dev/stderr"],
        (false, false) => [b"/dev/stdin", b"/dev/stdout", b"/dev/stderr"],
    };
    Streams { has_terminal, paths }
}

/// Returns the number of the device that is a port to the host.
pub fn host_port_device(port: u8) -> u64 {
    device::HOST_PORTS | u64::from(port)
}

/// Returns true if a device is a port to the host, or the line to its debugger. Only root makes
/// nodes of these: a path rule that lets a program make devices does not lead there.
pub fn is_host_port(device: u64) -> bool {
    device & !0xff == device::HOST_PORTS || device == device::FOURTH_LINE
}

/// Meaning of reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileOperations {
    /// Reads and writes go to the node's content: a regular file, a directory, or only a place in
    /// the tree.
    Plain,
    /// Reads end at once, and writes take everything.
    Null,
    /// Zeros come out, everything goes in.
    Zero,
    /// Zeros come out, nothing goes in.
    Full,
    /// Random bytes come out.
    Random,
    /// The console: the program's input and output.
    Console,
    /// The program's errors; reads as the console.
    Errors,
    /// The line of a debugger.
    Debugger,
    /// A port to the host, by its number.
    HostPort(u8),
    /// Neither reads nor writes: the library for Linux programs does what the device does.
    Neither,
}

/// An open file.
#[derive(Clone, Copy, Debug)]
pub struct OpenFile {
    /// The node; it counts this file as open.
    pub node: Key,
    /// Meaning of its reads and writes.
    pub operations: FileOperations,
    /// Flags of `open`.
    pub flags: u64,
    /// Position of the next read or write without an offset.
    pub position: u64,
    /// The node counts it as a way to write.
    pub is_writer: bool,
    /// Directory that absolute paths start at, and above which `..` does not lead, if it is not the
    /// tree's root.
    pub root: Option<Key>,
}

/// Flags that `file.flags` can change.
pub const CHANGEABLE: u64 = open::APPEND | open::NONBLOCK;

impl OpenFile {
    /// Opens a node with these flags. There is a controlling terminal only if the console is one.
    pub fn new(key: Key, node: &Node, flags: u64, has_terminal: bool) -> Result<OpenFile, Errno> {
        let operations = match node.body {
            // Another side's file is no way to the host, whatever its number is.
            NodeContent::Special(number) if flags & open::PATH == 0 && node.origin.is_some() && is_host_port(number) => return Err(Errno::ENXIO),
            NodeContent::Special(number) if flags & open::PATH == 0 => behaviour_of(node.kind(), number, has_terminal)?,
            _ => FileOperations::Plain,
        };
        Ok(OpenFile { node: key, operations, flags, position: 0, is_writer: false, root: None })
    }

    /// `EBADF` unless it can be read.
    pub fn check_read(&self) -> Result<(), Errno> {
        if self.flags & open::PATH != 0 || self.flags & open::ACCESS == open::WRITE_ONLY { Err(Errno::EBADF) } else { Ok(()) }
    }

    /// `EBADF` unless it can be written.
    pub fn check_write(&self) -> Result<(), Errno> {
        if self.flags & open::PATH != 0 || self.flags & open::ACCESS == 0 { Err(Errno::EBADF) } else { Ok(()) }
    }

    /// `EBADF` if it is only a place in the tree.
    pub fn check_open(&self) -> Result<(), Errno> {
        if self.flags & open::PATH != 0 { Err(Errno::EBADF) } else { Ok(()) }
    }

    /// Returns true if it is a stream of the console.
    pub fn is_stream(&self) -> bool {
        matches!(self.operations, FileOperations::Console | FileOperations::Errors)
    }

    /// Returns the number of the port to the host, if the file is one.
    pub fn host_port(&self) -> Option<u8> {
        if let FileOperations::HostPort(port) = self.operations { Some(port) } else { None }
    }

    /// Returns true if reads that would wait fail instead.
    pub fn is_nonblocking(&self) -> bool {
        self.flags & open::NONBLOCK != 0
    }

    /// The position that an offset and a beginning (`SEEK_SET`, `SEEK_CUR`, `SEEK_END`) mean.
    pub fn seek(&self, offset: u64, whence: u64, size: u64) -> Result<u64, Errno> {
        let from = match whence {
            0 => 0,
            1 => self.position,
            2 => size,
            _ => return Err(Errno::EINVAL),
        };
        let position = i128::from(from) + i128::from(offset as i64);
        u64::try_from(position).ok().filter(|&position| position <= i64::MAX as u64).ok_or(Errno::EINVAL)
    }
}

fn behaviour_of(kind: u32, number: u64, has_terminal: bool) -> Result<FileOperations, Errno> {
    match number {
        _ if kind != format::CHARACTER => Err(Errno::ENXIO),
        device::NULL => Ok(FileOperations::Null),
        device::ZERO => Ok(FileOperations::Zero),
        device::FULL => Ok(FileOperations::Full),
        device::RANDOM | device::RANDOM_AT_ONCE => Ok(FileOperations::Random),
        device::TERMINAL if !has_terminal => Err(Errno::ENXIO),
        device::TERMINAL | device::CONSOLE | device::FIRST_LINE => Ok(FileOperations::Console),
        device::THIRD_LINE => Ok(FileOperations::Errors),
        device::FOURTH_LINE => Ok(FileOperations::Debugger),
        device::USER_FAULTS => Ok(FileOperations::Neither),
        number if is_host_port(number) => Ok(FileOperations::HostPort(number as u8)),
        _ => Err(Errno::ENXIO),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Time;

    fn opened(kind: u32, number: u64, flags: u64) -> Result<OpenFile, Errno> {
        let node = Node::new(kind | 0o666, NodeContent::Special(number), Time::default());
        OpenFile::new(Key::from_word(1), &node, flags, false)
    }

    #[test]
    fn devices_behave_by_their_number() {
        assert_eq!(opened(format::CHARACTER, device::FULL, 0).unwrap().operations, FileOperations::Full);
        assert_eq!(opened(format::CHARACTER, device::TERMINAL, 0).unwrap_err(), Errno::ENXIO);
        assert_eq!(opened(format::FIFO, 0, 0).unwrap_err(), Errno::ENXIO);
        assert_eq!(opened(format::FIFO, 0, open::PATH).unwrap().operations, FileOperations::Plain);
    }

    #[test]
    fn a_file_of_another_side_is_no_way_to_the_host() {
        let mut node = Node::new(format::CHARACTER | 0o666, NodeContent::Special(host_port_device(1)), Time::default());
        let open = |node: &Node| OpenFile::new(Key::from_word(1), node, 0, false).map(|file| file.host_port());
        assert_eq!(open(&node).unwrap(), Some(1));
        node.origin = Some(crate::tree::Away { side: 0, id: 1 });
        assert_eq!(open(&node), Err(Errno::ENXIO));
    }

    #[test]
    fn access_is_what_was_asked_for() {
        let file = opened(format::CHARACTER, device::NULL, open::WRITE_ONLY).unwrap();
        assert_eq!((file.check_read(), file.check_write()), (Err(Errno::EBADF), Ok(())));
        let file = opened(format::CHARACTER, device::NULL, open::PATH | open::READ_WRITE).unwrap();
        assert_eq!((file.check_read(), file.check_write()), (Err(Errno::EBADF), Err(Errno::EBADF)));
    }

    #[test]
    fn seeking_stays_in_bounds() {
        let mut file = opened(format::CHARACTER, device::NULL, 0).unwrap();
        file.position = 10;
        assert_eq!(file.seek(-10i64 as u64, 1, 0), Ok(0));
        assert_eq!(file.seek(-11i64 as u64, 1, 0), Err(Errno::EINVAL));
        assert_eq!(file.seek(5, 2, 7), Ok(12));
        assert_eq!(file.seek(i64::MAX as u64, 1, 0), Err(Errno::EINVAL));
        assert_eq!(file.seek(0, 9, 0), Err(Errno::EINVAL));
    }
}
