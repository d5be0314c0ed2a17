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
    /// Returns number and flags of the queue, its maximum of messages and of their bytes, and its
    /// present number of messages.
    7 facts() -> (number: Number, flags: Flags(OPEN_FLAGS), messages: Number, size: Number, count: Number);
    /// Asks for one notification of a message that comes into the empty queue while no reader
    /// waits. The server notifies the bits at the port, and `told` says so afterwards. `kind` and
    /// `signal` are shown to those who read the queue's state. `EBUSY`: another process is to be
    /// notified already.
    8 expect(kind: Choice(NOTICES), signal: Number, pid: Number, bits: Hex; references port: Kept(Port)) -> (number: Number);
    /// The process is not told any more; whether it would have been.
    9 forget(pid: Number) -> (number: Number, was_expected: Number);
    /// Returns whether the process was notified since it last asked, and the sender of the message.
    10 told(pid: Number) -> (is_told: Number, sender: Number, user: Number);
    /// The thread was cut off and waits no more. If its message was sent or received all the same:
    /// the one that was received can be fetched by `rest`.
    11 withdraw(thread: Number) -> (is_done: Number, total: Number, priority: Number);
}

/// Flag of `open` besides `file`'s: the user may exceed the limits of ordinary users.
pub const PRIVILEGED: u64 = 1 << 32;
/// Value that stands for the default number, or for any user.
pub const ANY: u64 = u64::MAX;
/// Default number of messages of a queue, and the maximum for ordinary users.
pub const USUAL_MESSAGES: u64 = 10;
/// Default size of a message in bytes, and the maximum for ordinary users.
pub const USUAL_SIZE: u64 = 8192;
/// Maximum number of queues that ordinary users may make.
pub const USUAL_QUEUES: u64 = 256;
/// Default limit of the bytes of all queues of one user.
pub const USUAL_LIMIT: u64 = 819_200;
