//! Protocol 9, `channel`: pipes, local sockets and pseudo-terminals. Their ends are files, which
//! answer `file` too.

use crate::flags::{BIND_FLAGS, ENDS, MESSAGE_FLAGS, OPEN_FLAGS, POLL_EVENTS, S_IFCHR, SOCKETS, WAYS};
use crate::structures::Status;
use crate::sys::{Reference, Span, SpanMut};
use crate::{Errno, client, sender};

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
    /// holds at most as many ends as are still free. An account that is made at the port of another
    /// takes its ends from that one's. `EPERM`: there are too many below that account.
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
    /// has it later is found. `EINVAL`: the socket has a name. `ENOBUFS`: the account has as many
    /// sockets that hear all messages of ICMP as it may. Sockets of the internet have one key where
    /// `sharing` of all of them allows it ([0077](../proposals/0077-shared-ports.md)); `user` is
    /// that of the owner.
    5 bind(key_size: Number, sharing: Flags(BIND_FLAGS), user: Number; bytes data: Data) -> ();
    /// Makes a socket accept connections; at most `backlog` of them wait. `EINVAL`: it has no name,
    /// or is connected. `EOPNOTSUPP`: a datagram socket.
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
    /// or how many messages with `MSG_MORE` came before, which are all one (32 bits). `owner`:
    /// user, and group in the upper half. `EPIPE`, `ENOTCONN`, `EMSGSIZE`, `EAGAIN`,
    /// `ECONNREFUSED`, `EISCONN`, `EPERM`, `ETOOMANYREFS`.
    10 send(flags: Flags(MESSAGE_FLAGS), name_size: Number, control_size: Number, pid: Number, owner: Number, part: Number; bytes data: Data; up_to 8 given: Kept(Any)) -> (count: Number);
    /// Receives up to `size` bytes, and as many references as there are slots (at most
    /// `references`). The bytes start with who sent them (16 bytes, with `MSG_CREDENTIALS`), the
    /// name of whom they are from, and what is said of the references, but not with `MSG_BARE`.
    /// `total`: how long the whole message was. `offset`: with `MSG_PEEK`, how many bytes to pass
    /// over.
    11 receive(flags: Flags(MESSAGE_FLAGS), size: Number, references: Number, offset: Number) -> (count: Number, name_size: Number, total: Number, flags: Flags(MESSAGE_FLAGS), references: Number, control_size: Number; bytes data: Data; up_to 8 given: Found(Any));
    /// The socket's own name, or that of the other end. `ENOTCONN`: there is no other end.
    12 name(which: Choice(ENDS)) -> (; bytes name: Data);
    /// Returns the capacity in bytes, after setting it if `size` is not 0. `EBUSY`: the pipe holds
    /// more bytes than that. `EPERM`: more than 1 MiB.
    13 capacity(size: Number) -> (size: Number);
    /// Returns the kind of the end, and whether it listens.
    14 facts() -> (kind: Choice(SOCKETS), listens: Number);
    /// The error that waits, and does no more then; 0: none.
    15 error() -> (error: Number);
    /// Returns the credentials that the peer had when it connected. `ENOTCONN`.
    16 credentials() -> (pid: Number, uid: Number, gid: Number);
    /// Returns the present events, as `file.poll`, and two counters. `arrivals` grows whenever
    /// something arrives, `departures` whenever room becomes free.
    17 look(events: Flags(POLL_EVENTS)) -> (events: Flags(POLL_EVENTS), arrivals: Number, departures: Number);
    /// Does what `look` does. If neither counter has changed, the server also notifies the bits at
    /// the port, once, as soon as one of them may have grown.
    18 expect(events: Flags(POLL_EVENTS), arrivals: Number, departures: Number, bits: Hex; references port: Kept(Port)) -> (events: Flags(POLL_EVENTS), arrivals: Number, departures: Number);

    /// Shares the bytes that the end receives or sends (of a pipe: all bytes) as memory, a ring of
    /// `places` pages, so that both sides read and write them without messages. The reply has the
    /// word of this end at `seat`, whose lock is taken with `number`; two conditions, at which
    /// those wait that want bytes or room; and an object that shows that its holder still has the
    /// ring. Other clients use messages meanwhile. Port: an end of a pipe or of a stream socket.
    /// `ENODEV`: the end is of another kind, holds references or senders' names besides bytes, or
    /// there is no memory. The client then uses messages.
    19 share(way: Choice(WAYS)) -> (places: Number, number: Number, seat: Number; references region: Region(DATA), arrivals: Condition, departures: Condition, hold: Own(Hold));
    /// Tells the server that bytes came or went, which the server asked to hear. Port: an end that
    /// is shared.
    20 changed() -> ();
    /// Makes the process's board, in place of the one before. Port: the service at a port of one
    /// process. The bits are notified at the port given when the board holds something that the
    /// process has not fetched. `ENODEV`: the port is not that of one process.
    21 board(bits: Hex; references port: Kept(Port)) -> (board: Number);
    /// Returns the present events and the two counters as `look`, and lets the server put `id` on
    /// the board, once. With -1 for both counters: if there is none of the events, as soon as there
    /// is one. Else: if neither counter has changed, as soon as one of them may have grown. Port:
    /// an end. `ENODEV`: the server has no such board; ask with `file.watch` or `expect`.
    22 enroll(board: Number, id: Number, events: Flags(POLL_EVENTS), arrivals: Number, departures: Number) -> (events: Flags(POLL_EVENTS), arrivals: Number, departures: Number);
    /// Takes up to five numbers from the process's board. `count`: how many there were, and -1 if
    /// some were lost, so that any file may have changed. Port: the service at a port of one
    /// process. `ENODEV`: there is no board.
    23 told() -> (count: Number, first: Number, second: Number, third: Number, fourth: Number, fifth: Number);

    /// Makes a pseudo-terminal with the lowest free number, locked, and returns the master's end,
    /// which is keyboard and screen. The terminal lives as long as that end. Port: the service.
    /// `ENOSPC`: there are as many as possible.
    30 terminal(flags: Flags(OPEN_FLAGS)) -> (number: Number; references master: Own(End));
    /// Opens the slave's end of a terminal. Each client that opens it has an end of its own. Port:
    /// the service. `ENOENT`: no terminal has this number. `EIO`: it is locked.
    31 terminal_open(number: Number, flags: Flags(OPEN_FLAGS)) -> (; references slave: Own(End));
    /// Returns number, side and lock of a terminal: at the service, of the one with this number; at
    /// an end, of its own. `is_slave`: the end is the slave's. `ENOTTY`: the end belongs to no
    /// terminal.
    32 terminal_facts(number: Number) -> (number: Number, is_slave: Number, is_locked: Number);
    /// Locks or unlocks the slave's end, which cannot be opened while it is locked. Port: the
    /// master's end.
    33 terminal_lock(locked: Number) -> ();
    /// Returns the status of the terminal with this number, as of a file. Port: the service.
    /// `ENOENT`: no terminal has this number.
    34 terminal_status(number: Number) -> (; bytes status: Structure("Status"));
    /// Sets the mode, as `file.set_mode` does at an end of the slave. Port: the service.
    35 terminal_set_mode(number: Number, mode: Mode) -> ();
    /// Sets the owner; -1 keeps the old number. Port: the service.
    36 terminal_set_owner(number: Number, uid: Number, gid: Number) -> ();
    /// Sets the times. Each part is a time; the special values of `file.set_times` are not allowed.
    /// Port: the service.
    37 terminal_set_times(number: Number, atime_sec: Number, atime_nsec: Number, mtime_sec: Number, mtime_nsec: Number) -> ();

    /// Tells of the network card by which others are reached: the machine's address there, the
    /// number of leading bits that all addresses on the wire have alike, whoever reaches all others
    /// (0: nobody), the card's own address, and the largest packet in bytes. First bytes are the
    /// lowest. Port: the service. `ENODEV`: there is none.
    51 interface() -> (address: Hex, prefix: Number, gateway: Hex, card: Hex, packet: Number);
    /// Lists sockets with numbers above `after`, as records of [`SocketRecord`], and returns the
    /// number to go on after (0: that was all). At an account's port these are the sockets of all
    /// accounts that were made where it was, and of those made below them. Port: the service.
    52 sockets(after: Number) -> (next: Number; bytes sockets: Data);
    /// Returns how many packets came and went by the network card, and their bytes. Port: the
    /// service. `ENODEV`: there is none.
    53 traffic() -> (packets_in: Number, bytes_in: Number, packets_out: Number, bytes_out: Number);
    /// The service at a port of its own, on an account as `account` makes one, with bounds on what
    /// goes to the outside and comes from there: connections at once (`ENOBUFS`), and bytes for
    /// good (`EDQUOT`); -1: none. What comes by datagrams beyond that is lost. Accounts that are
    /// made at that port count for it. Port: the service. `ENODEV`: there is no outside.
    54 limit(connections: Number, bytes_in: Number, bytes_out: Number) -> (; references channels: Own(Channels));
    /// Tells of the machine's address of version 6, the number of leading bits that all addresses
    /// on the wire have alike, and whoever reaches all others (0: nobody). First bytes are the
    /// highest. Port: the service. `ENODEV`: there is none.
    55 interface_6() -> (high: Hex, low: Hex, prefix: Number, gateway_high: Hex, gateway_low: Hex);
}

pub use crate::socket_records::{SocketRecord, SocketRecords};

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

/// Status of an end of a pseudo-terminal as a file, before any client has changed it.
pub fn terminal_as_file(number: u64, is_slave: bool) -> Status {
    const DIRECTORY: u64 = 24;
    const MULTIPLEXER: u64 = 5 << 8 | 2;
    let common = Status { device: DIRECTORY, links: 1, block_size: 1024, ..Status::default() };
    match is_slave {
        true => Status { inode: number + 3, mode: S_IFCHR | 0o620, gid: 5, rdevice: terminal_device(number), ..common },
        false => Status { inode: 2, mode: S_IFCHR | 0o666, rdevice: MULTIPLEXER, ..common },
    }
}

/// First byte of names of sockets of the internet: of version 4, of version 6, and of both.
pub const INTERNET: u8 = b'i';
/// Names of version 6.
pub const INTERNET_6: u8 = b'j';
/// Names of those who take part in both versions.
pub const INTERNET_BOTH: u8 = b'k';

/// Kind in the name of a socket that sends requests for an echo (ICMP). Its port is the number that
/// the requests and their answers carry.
pub const ECHO: u8 = 3;
/// Kind in the name of a socket that sends and hears all messages of ICMP. Its port only tells it
/// from others.
pub const MESSAGES: u8 = 4;

/// Name of a socket of the internet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InternetName {
    /// Version.
    pub version: u8,
    /// `SOCK_STREAM` for TCP, `SOCK_DGRAM` for UDP, [`ECHO`] and [`MESSAGES`] for ICMP.
    pub kind: u8,
    /// Address.
    pub address: Address,
    /// Port. Of a receiver or sender of ICMP: the number of hops that the packet may take, or could
    /// still have taken.
    pub port: u16,
}

impl InternetName {
    /// Bytes of a name with an address of version 4, and of any name at most.
    pub const SIZE: usize = 8;
    /// Bytes of the longest name.
    pub const MAX_SIZE: usize = 20;
    /// Every address of the machine.
    pub const ANY: Address = Address::Four([0; 4]);
    /// The address of the machine for itself.
    pub const LOOPBACK: Address = Address::Four([127, 0, 0, 1]);

    /// Decodes a name, if it is one of the internet. A long name has an address of version 6 that
    /// stands for no other: `::`, `::1` and those that hold one of version 4 have no long name.
    pub fn read(name: &[u8]) -> Option<InternetName> {
        let ([version @ (INTERNET | INTERNET_6 | INTERNET_BOTH), kind @ (1 | 2 | ECHO | MESSAGES), address @ ..], port) = name.split_last_chunk()? else { return None };
        let address = match (version, kind) {
            _ if address.len() == 4 => Address::Four(address.try_into().ok()?),
            (&INTERNET_6, 1 | 2) => Address::Six(address.try_into().ok().filter(|long: &[u8; 16]| long[..10] != [0; 10])?),
            _ => return None,
        };
        Some(InternetName { version: *version, kind: *kind, address, port: u16::from_be_bytes(*port) })
    }

    /// Encodes it.
    pub fn bytes(self) -> alloc::vec::Vec<u8> {
        [&[self.version, self.kind][..], self.address.bytes(), &self.port.to_be_bytes()].concat()
    }

    /// Returns true for a socket of ICMP.
    pub fn is_icmp(self) -> bool {
        [ECHO, MESSAGES].contains(&self.kind)
    }

    /// Returns true if the address is any, or one of the machine's for itself.
    pub fn is_of_machine(self) -> bool {
        self.address == Self::ANY || self.address.is_loopback()
    }
}

/// Address of a name of the internet. In names of version 6 an address of version 4 stands for the
/// machine's own: any of them (`::`), or the one for itself (`::1`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Address {
    /// Address of version 4.
    Four([u8; 4]),
    /// Address of version 6.
    Six([u8; 16]),
}

impl Address {
    /// Bytes of the address.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Address::Four(address) => address,
            Address::Six(address) => address,
        }
    }

    /// Returns the address if it is one of version 4.
    pub fn four(self) -> Option<[u8; 4]> {
        if let Address::Four(address) = self { Some(address) } else { None }
    }

    /// Returns true for the addresses of a machine for itself.
    pub fn is_loopback(self) -> bool {
        matches!(self, Address::Four([127, ..]))
    }
}

impl From<[u8; 4]> for Address {
    fn from(address: [u8; 4]) -> Address {
        Address::Four(address)
    }
}

impl From<[u8; 16]> for Address {
    fn from(address: [u8; 16]) -> Address {
        Address::Six(address)
    }
}

/// Maximum size of a socket's message with all its parts, in bytes.
pub const MAX_MESSAGE: usize = 212_960;

/// Words of [`send`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Outgoing {
    /// `MSG_` flags.
    pub flags: u64,
    /// Number of leading bytes that name the receiver.
    pub name_size: usize,
    /// Number of bytes after the name that describe the references.
    pub control_size: usize,
    /// The process that sends.
    pub pid: u64,
    /// User and group of the sending process.
    pub owner: u64,
    /// Number of parts that came before this one.
    pub part: u64,
}

impl Outgoing {
    /// As words, with the number of the thread that sends it.
    pub fn words(self) -> [u64; 6] {
        [self.flags, self.name_size as u64, self.control_size as u64, self.pid, self.owner, self.part | sender::mark()]
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
    let words = sender::words([flags, size, slots.len() as u64]);
    let received = client::call_for_some(target, receive::LABEL, words, (Span::EMPTY, &[]), (into.into(), slots))?;
    let [count, name_size, total, flags, _, control_size] = received.words;
    Ok(receive::Reply { count, name_size, total, flags, references: received.references() as u64, control_size, data: received.bytes() })
}
