//! Protocol 9, `channel`: pipes and local sockets. Their ends are files, which answer `file` too.

use crate::flags::{ENDS, MESSAGE_FLAGS, OPEN_FLAGS, SOCKETS};
use crate::sys::{Reference, Span, SpanMut};
use crate::{Errno, client};

crate::protocol! {
    /// Pipes and local sockets. The first four operations are the service's, the others those of a socket, which `file.read`, `file.write`, `file.poll`, `file.watch` and `file.flags` work on too. An end closes when the last reference to it goes.
    /// A name is up to 108 bytes, with no meaning but that a second socket cannot have it: those who name sockets by paths agree on what stands for a path. Errors are Linux's; `EPIPE` comes without the signal.
    channel = 9;

    /// A pipe of 64 KiB. Up to 4096 bytes are written whole. `ENFILE`: too many are open. `ENOMEM`: no memory for one.
    1 pipe(flags: Flags(OPEN_FLAGS)) -> (; references reader, writer);
    /// Two sockets that are connected to each other.
    2 pair(kind: Choice(SOCKETS), flags: Flags(OPEN_FLAGS)) -> (; references first, second);
    /// A socket. `ESOCKTNOSUPPORT`: there is no such kind.
    3 socket(kind: Choice(SOCKETS), flags: Flags(OPEN_FLAGS)) -> (; references socket);
    /// Opens the pipe of this name, which is there as long as somebody has it open. Waits for the other side, as Linux does. `ENXIO`: nobody reads, and `O_NONBLOCK` is set.
    4 fifo(flags: Flags(OPEN_FLAGS); bytes name: Data) -> (; references file);
    /// Gives the socket a name; without bytes, one that nobody has. `EADDRINUSE`, `EINVAL`: it has one.
    5 bind(; bytes name: Data) -> ();
    /// Others may connect to it; so many wait at most. `EINVAL`: it has no name, or is connected. `EOPNOTSUPP`: not with datagrams.
    6 listen(backlog: Number) -> ();
    /// Connects to the socket of this name; waits if too many do already (`EAGAIN` with `O_NONBLOCK`). Datagrams: where to they go from now on. `ECONNREFUSED`, `EPROTOTYPE`, `EISCONN`.
    7 connect(; bytes name: Data) -> ();
    /// The next socket that has connected; waits for it. `EINVAL`: it does not listen.
    8 accept(flags: Flags(OPEN_FLAGS)) -> (; bytes name: Data; references socket);
    /// Ends reading (0), writing (1) or both (2). `ENOTCONN`.
    9 shutdown(how: Number) -> ();
    /// Sends bytes, and up to 8 references with them. The bytes start with the name of whom they are for, if `name_size` is not 0. `EPIPE`, `ENOTCONN`, `EMSGSIZE`, `EAGAIN`, `ECONNREFUSED`, `EISCONN`, `EDESTADDRREQ`.
    10 send(flags: Flags(MESSAGE_FLAGS), name_size: Number; bytes data: Data) -> (count: Number);
    /// Receives up to `size` bytes, and as many references as there are slots (at most `references`). The bytes start with the name of whom they are from. `total`: how long the whole message was.
    11 receive(flags: Flags(MESSAGE_FLAGS), size: Number, references: Number) -> (count: Number, name_size: Number, total: Number, flags: Flags(MESSAGE_FLAGS), references: Number; bytes data: Data);
    /// The socket's own name, or that of the other end. `ENOTCONN`: there is no other end.
    12 name(which: Choice(ENDS)) -> (; bytes name: Data);
    /// How many bytes it holds; sets it first if `size` is not 0. `EBUSY`: more is in it. `EPERM`: more than 1 MiB.
    13 capacity(size: Number) -> (size: Number);
    /// Its kind, whether it listens, and the error that waits (then no more).
    14 facts() -> (kind: Choice(SOCKETS), listens: Number, error: Number);
    /// Whom it belongs to, as the other end is told.
    15 credentials_set(pid: Number, uid: Number, gid: Number) -> ();
    /// Whom the other end belonged to when it connected. `ENOTCONN`.
    16 credentials() -> (pid: Number, uid: Number, gid: Number);
}

/// [`send`] with references.
pub fn send_with<'a>(target: Reference, flags: u64, name_size: u64, data: impl Into<Span<'a>>, references: &[Reference]) -> Result<u64, Errno> {
    let words = client::words([flags, name_size]);
    let received = client::call(target, send::LABEL, words, (data.into(), references), (SpanMut::EMPTY, &[]))?;
    Ok(received.words[0])
}

/// [`receive`] with references: they come into the first of `slots`, which are free, and the reply's word says into how many.
pub fn receive_with<'a>(target: Reference, flags: u64, size: u64, slots: &[Reference], into: impl Into<SpanMut<'a>>) -> Result<receive::Reply, Errno> {
    let words = client::words([flags, size, slots.len() as u64]);
    let received = client::call_for_some(target, receive::LABEL, words, (Span::EMPTY, &[]), (into.into(), slots))?;
    let [count, name_size, total, flags, ..] = received.words;
    Ok(receive::Reply { count, name_size, total, flags, references: received.references() as u64, data: received.bytes() })
}
