//! Protocol 11, `mailbox`: POSIX's queues of messages.

use crate::flags::{MESSAGE_FLAGS, NOTICES, OPEN_FLAGS};

crate::protocol! {
    /// POSIX's queues of messages, found by names, whose messages have priorities. Rules and errors
    /// are Linux's. `open` and `unlink` are the service's, at the port of `channel`; the others are
    /// a queue's, which `file.poll`, `file.watch`, `file.flags` and `file.status` work on too, and
    /// whose `file.read` says how it is. Who somebody is - a process, its user - is what he says:
    /// whoever opens a queue looks at its mode himself. A queue stays until it is unlinked and
    /// nobody has it open.
    mailbox = 11;

    /// Opens a queue, or makes it with `O_CREAT`: of so many messages (`0xffff_ffff_ffff_ffff`: the
    /// usual number) of so many bytes. `owner`: user, and group in the upper half, to whom it
    /// belongs; `limit`: how many bytes all queues of the user may take. `PRIVILEGED` among the
    /// flags: only the hard limits hold. `ENOENT`, `EEXIST`; `EACCES`, `ENAMETOOLONG`: the name is
    /// none. `EINVAL`: no such sizes. `EMFILE`: beyond the limit. `ENOSPC`: too many queues.
    1 open(flags: Flags(OPEN_FLAGS), owner: Hex, mode: Mode, messages: Number, size: Number, limit: Number; bytes name: Data) -> (is_new: Number; references queue: Own(Queue));
    /// Takes away its name. `EPERM`: it is another user's; `user` `0xffff_ffff_ffff_ffff`: it may
    /// be anybody's.
    2 unlink(user: Number; bytes name: Data) -> ();
    /// A part of a message that is longer than one message here: number 0 begins it. Each `writer`,
    /// a thread, has one.
    3 part(writer: Number, number: Number; bytes data: Data) -> ();
    /// Sends a message; with `MSG_MORE` the parts of this writer come before. Waits for room; who
    /// has the higher rank is first. `EAGAIN`: it would wait, and is not to. `EMSGSIZE`, `EBADF`,
    /// `EINVAL`: no priority. `ENOMEM`.
    4 send(flags: Flags(MESSAGE_FLAGS), priority: Number, rank: Number, pid: Number, user: Number, writer: Number; bytes data: Data) -> ();
    /// The oldest message of the highest priority; waits for one. `size`: what there is room for.
    /// `EMSGSIZE`: a message of this queue can be longer. `EAGAIN`, `EBADF`. What does not fit one
    /// message is fetched by `rest`.
    5 receive(flags: Flags(MESSAGE_FLAGS), size: Number, rank: Number, reader: Number) -> (total: Number, priority: Number; bytes data: Data);
    /// More of the message that this reader has received.
    6 rest(reader: Number) -> (; bytes data: Data);
    /// Its number, flags, most messages, their most bytes, and how many there are.
    7 facts() -> (number: Number, flags: Flags(OPEN_FLAGS), messages: Number, size: Number, count: Number);
    /// When next a message comes into the empty queue, and nobody waits for it, the bits are
    /// notified at the port, once, and `told` says so. `kind` and `signal` are for those who read
    /// how the queue is. `EBUSY`: somebody is told already.
    8 expect(kind: Choice(NOTICES), signal: Number, pid: Number, bits: Hex; references port: Kept(Port)) -> (number: Number);
    /// The process is not told any more; whether it would have been.
    9 forget(pid: Number) -> (number: Number, was_expected: Number);
    /// Whether the process was told, since it was asked last, and whose message it was.
    10 told(pid: Number) -> (is_told: Number, sender: Number, user: Number);
    /// The thread was cut off and waits no more. If its message was sent or received all the same:
    /// the one that was received can be fetched by `rest`.
    11 withdraw(thread: Number) -> (is_done: Number, total: Number, priority: Number);
}

/// Beside flags of `open`: whoever opens a queue may have more than others.
pub const PRIVILEGED: u64 = 1 << 32;
/// Instead of a number: the usual one; instead of a user: any.
pub const ANY: u64 = u64::MAX;
/// What a queue holds if nobody says so, which is the most for those who may have no more.
pub const USUAL_MESSAGES: u64 = 10;
/// So long are its messages then.
pub const USUAL_SIZE: u64 = 8192;
/// So many queues there may be for those who may have no more.
pub const USUAL_QUEUES: u64 = 256;
/// What all queues of a user may take unless his limits say otherwise.
pub const USUAL_LIMIT: u64 = 819_200;
