//! Protocol 9, `channel`: pipes, local sockets and pseudo-terminals. Their ends are files, which
//! answer `file` too.

use crate::flags::{ENDS, MESSAGE_FLAGS, OPEN_FLAGS, POLL_EVENTS, S_IFCHR, SOCKETS, WAYS};
use crate::structures::Status;
use crate::sys::{Reference, Span, SpanMut};
use crate::{Errno, client};

crate::protocol! {
    /// Pipes, local sockets and pseudo-terminals. The first four operations are the service's, the
    /// others those of a socket, which `file.read`, `file.write`, `file.poll`, `file.watch` and
    /// `file.flags` work on too. An end closes when the last reference to it goes. A name is up to
    /// 108 bytes. Sockets are found by their names, or by a key that was given with it: those who
    /// name sockets by paths agree on what stands for a path. Who owns a socket - a process, its
    /// user and group - is what its holder says. Errors are Linux's; `EPIPE` comes without the
    /// signal.
    channel = 9;

    /// A pipe of 64 KiB. Up to 4096 bytes are written whole. `ENFILE`: too many are open. `ENOMEM`:
    /// no memory for one.
    1 pipe(flags: Flags(OPEN_FLAGS)) -> (; references reader: Own(End), writer: Own(End));
    /// The service at a port of its own for one process. What is made there is on an account, which
    /// holds at most as many ends as are still free. `EPERM`: the caller has such a port itself.
    50 account() -> (; references channels: Own(Channels));
    /// Two sockets that are connected to each other.
    2 pair(kind: Choice(SOCKETS), flags: Flags(OPEN_FLAGS), pid: Number, uid: Number, gid: Number) -> (; references first: Own(End), second: Own(End));
    /// A socket. `ESOCKTNOSUPPORT`: there is no such kind.
    3 socket(kind: Choice(SOCKETS), flags: Flags(OPEN_FLAGS)) -> (; references socket: Own(End));
    /// Opens the pipe of this name, which is there as long as somebody has it open. Waits for the
    /// other side, as Linux does. `ENXIO`: nobody reads, and `O_NONBLOCK` is set.
    4 fifo(flags: Flags(OPEN_FLAGS); bytes name: Data) -> (; references file: Own(End));
    /// Gives the socket a key of `key_size` bytes, and the name behind it; without a name, one that
    /// nobody has. `EADDRINUSE`: another has this key or name; of a key that starts with `/` who
    /// has it later is found. `EINVAL`: the socket has a name.
    5 bind(key_size: Number; bytes data: Data) -> ();
    /// Others may connect to it; so many wait at most. `EINVAL`: it has no name, or is connected.
    /// `EOPNOTSUPP`: not with datagrams.
    6 listen(backlog: Number, pid: Number, uid: Number, gid: Number) -> ();
    /// Connects to the socket that is found by this key or name; waits if too many do already
    /// (`EAGAIN` with `O_NONBLOCK`). Datagrams: where to they go from now on; nowhere, without a
    /// name. `ECONNREFUSED`, `EPROTOTYPE`, `EISCONN`, `EPERM`.
    7 connect(pid: Number, uid: Number, gid: Number; bytes name: Data) -> ();
    /// The next socket that has connected; waits for it. `EINVAL`: it does not listen.
    8 accept(flags: Flags(OPEN_FLAGS)) -> (; bytes name: Data; references socket: Own(End));
    /// Ends reading (0), writing (1) or both (2).
    9 shutdown(how: Number) -> ();
    /// Sends bytes, and up to 8 references with them. The bytes start with the key or name of whom
    /// they are for, if `name_size` is not 0, and with what is said of the references. `part`: 0,
    /// or how many messages with `MSG_MORE` came before, which are all one. `owner`: user, and
    /// group in the upper half. `EPIPE`, `ENOTCONN`, `EMSGSIZE`, `EAGAIN`, `ECONNREFUSED`,
    /// `EISCONN`, `EPERM`, `ETOOMANYREFS`.
    10 send(flags: Flags(MESSAGE_FLAGS), name_size: Number, control_size: Number, pid: Number, owner: Number, part: Number; bytes data: Data; up_to 8 given: Kept(Any)) -> (count: Number);
    /// Receives up to `size` bytes, and as many references as there are slots (at most
    /// `references`). The bytes start with who sent them (16 bytes, with `MSG_CREDENTIALS`), the
    /// name of whom they are from, and what is said of the references, but not with `MSG_BARE`.
    /// `total`: how long the whole message was. `offset`: with `MSG_PEEK`, how many bytes to pass
    /// over.
    11 receive(flags: Flags(MESSAGE_FLAGS), size: Number, references: Number, offset: Number) -> (count: Number, name_size: Number, total: Number, flags: Flags(MESSAGE_FLAGS), references: Number, control_size: Number; bytes data: Data; up_to 8 given: Found(Any));
    /// The socket's own name, or that of the other end. `ENOTCONN`: there is no other end.
    12 name(which: Choice(ENDS)) -> (; bytes name: Data);
    /// How many bytes it holds; sets it first if `size` is not 0. `EBUSY`: more is in it. `EPERM`:
    /// more than 1 MiB.
    13 capacity(size: Number) -> (size: Number);
    /// Its kind, and whether it listens.
    14 facts() -> (kind: Choice(SOCKETS), listens: Number);
    /// The error that waits, and does no more then; 0: none.
    15 error() -> (error: Number);
    /// Whom the other end belonged to when it connected. `ENOTCONN`.
    16 credentials() -> (pid: Number, uid: Number, gid: Number);
    /// Which events there are, as `file.poll`, and two numbers that grow whenever something comes,
    /// and whenever there is more room.
    17 look(events: Flags(POLL_EVENTS)) -> (events: Flags(POLL_EVENTS), arrivals: Number, departures: Number);
    /// The same. If the numbers are still these, the bits are notified at the port, once, when one
    /// of them may have grown.
    18 expect(events: Flags(POLL_EVENTS), arrivals: Number, departures: Number, bits: Hex; references port: Kept(Port)) -> (events: Flags(POLL_EVENTS), arrivals: Number, departures: Number);

    /// At the end of a pipe or a stream socket: the bytes that it receives or sends (of a pipe all)
    /// as memory, to be read and written without messages: a ring of so many pages, with a word
    /// about this end at `seat`, whose lock is taken with `number`; two conditions at which who
    /// waits for bytes, or for room, waits; and what says that its holder still has it. Others read
    /// and write by messages meanwhile. `ENODEV`: it is neither, or there is more than bytes in it
    /// (references, or who sent them), or no memory: messages do.
    19 share(way: Choice(WAYS)) -> (places: Number, number: Number, seat: Number; references region: Region(DATA), arrivals: Condition, departures: Condition, hold: Own(Hold));
    /// At the end of a pipe or stream that is shared: something has come or gone of which its
    /// server wanted to hear.
    20 changed() -> ();

    /// At the service: a pseudo-terminal with the lowest free number, locked, and the end of
    /// whoever is the keyboard and the screen. The terminal goes with that end. `ENOSPC`: there are
    /// as many as there may be.
    30 terminal(flags: Flags(OPEN_FLAGS)) -> (number: Number; references master: Own(End));
    /// At the service: the other end, where programs find a terminal; everybody who opens it has
    /// one of his own. `ENOENT`: there is none with this number. `EIO`: it is locked.
    31 terminal_open(number: Number, flags: Flags(OPEN_FLAGS)) -> (; references slave: Own(End));
    /// At the service: what is known of the terminal with this number; at an end, of its own.
    /// `is_slave`: of the end. `ENOTTY`: it is no end of a terminal.
    32 terminal_facts(number: Number) -> (number: Number, is_slave: Number, is_locked: Number);
    /// At the end of the keyboard: whether the other one can be opened.
    33 terminal_lock(locked: Number) -> ();
    /// At the service: what the name of the terminal with this number says of it as of a file.
    /// `ENOENT`: there is none.
    34 terminal_status(number: Number) -> (; bytes status: Structure("Status"));
    /// At the service: sets its mode, as `file.set_mode` does at its slave's end.
    35 terminal_set_mode(number: Number, mode: Mode) -> ();
    /// At the service: sets its owner; -1 keeps one.
    36 terminal_set_owner(number: Number, uid: Number, gid: Number) -> ();
    /// At the service: sets its times, of which each part is a time and no wish.
    37 terminal_set_times(number: Number, atime_sec: Number, atime_nsec: Number, mtime_sec: Number, mtime_nsec: Number) -> ();
}

/// The device that stands for every terminal that is none of these.
pub const CONSOLE: u64 = 5 << 8 | 1;

/// Major number of the devices that pseudo-terminals are.
const TERMINALS: u64 = 136;

/// The device that a pseudo-terminal's slave is.
pub const fn terminal_device(number: u64) -> u64 {
    TERMINALS << 8 | number & 0xff | (number & 0xfff00) << 12
}

/// The number of a pseudo-terminal, if that is what the device is.
pub const fn terminal_number(device: u64) -> Option<u64> {
    let number = device & 0xff | device >> 12 & 0xfff00;
    if device == terminal_device(number) { Some(number) } else { None }
}

/// What is known of an end of a pseudo-terminal as of a file, before anybody changes it.
pub fn terminal_as_file(number: u64, is_slave: bool) -> Status {
    const DIRECTORY: u64 = 24;
    const MULTIPLEXER: u64 = 5 << 8 | 2;
    let common = Status { device: DIRECTORY, links: 1, block_size: 1024, ..Status::default() };
    match is_slave {
        true => Status { inode: number + 3, mode: S_IFCHR | 0o620, gid: 5, rdevice: terminal_device(number), ..common },
        false => Status { inode: 2, mode: S_IFCHR | 0o666, rdevice: MULTIPLEXER, ..common },
    }
}

/// Longest message of a socket, with all its parts.
pub const MOST_MESSAGE: usize = 212_960;

/// Words of [`send`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Outgoing {
    /// `MSG_` flags.
    pub flags: u64,
    /// How many of the bytes name whom they are for.
    pub name_size: usize,
    /// How many behind those are about the references.
    pub control_size: usize,
    /// The process that sends.
    pub pid: u64,
    /// Its user and group.
    pub owner: u64,
    /// How many parts came before.
    pub part: u64,
}

impl Outgoing {
    /// As words.
    pub fn words(self) -> [u64; 6] {
        [self.flags, self.name_size as u64, self.control_size as u64, self.pid, self.owner, self.part]
    }
}

/// [`send`] with references.
pub fn send_with<'a>(target: Reference, outgoing: Outgoing, data: impl Into<Span<'a>>, references: &[Reference]) -> Result<u64, Errno> {
    let received = client::call(target, send::LABEL, outgoing.words(), (data.into(), references), (SpanMut::EMPTY, &[]))?;
    Ok(received.words[0])
}

/// [`receive`] with references: they come into the first of `slots`, which are free, and the
/// reply's word says into how many.
pub fn receive_with<'a>(target: Reference, flags: u64, size: u64, slots: &[Reference], into: impl Into<SpanMut<'a>>) -> Result<receive::Reply, Errno> {
    let words = client::words([flags, size, slots.len() as u64]);
    let received = client::call_for_some(target, receive::LABEL, words, (Span::EMPTY, &[]), (into.into(), slots))?;
    let [count, name_size, total, flags, _, control_size] = received.words;
    Ok(receive::Reply { count, name_size, total, flags, references: received.references() as u64, control_size, data: received.bytes() })
}
