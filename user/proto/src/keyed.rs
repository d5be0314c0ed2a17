//! Protocol 10, `keyed`: System V's shared memory, semaphores and queues of messages.

use crate::flags::{KEYED_FLAGS, KEYED_KINDS};

crate::protocol! {
    /// Segments of memory, sets of semaphores and queues of messages that are found by keys and
    /// named by numbers, as System V has them. Numbers, errors and rules are Linux's. They belong
    /// to one world of processes: there is nobody to protect them from within. `enter` is the
    /// service's, at the port of `channel`; all else is asked at the port that it gives.
    keyed = 10;

    /// A port for a process. When the last reference to it goes, the process has ended: its
    /// operations that are to be undone are, and its segments are detached.
    1 enter(pid: Number, owner: Hex) -> (; references port: Own(Keyed));
    /// The number of what has this key; key 0: a new one. With `IPC_CREAT` it is made if it is not
    /// there. `size`: how many semaphores; of memory, at least so many bytes. `ENOENT`, `EEXIST`,
    /// `EINVAL`, `ENOSPC`. Memory is not made by this: `ENOENT` for what would have to be,
    /// `get_memory` makes it.
    2 get(kind: Choice(KEYED_KINDS), key: Number, size: Number, flags: Flags(KEYED_FLAGS)) -> (number: Number);
    /// Does what `get` does for a segment of memory. A new segment is this file.
    3 get_memory(key: Number, size: Number, flags: Flags(KEYED_FLAGS); references file: Kept(Unnamed)) -> (number: Number);
    /// The caller has the segment in its memory once more. `EINVAL`: there is none with this
    /// number.
    4 attach(number: Number) -> (size: Number; references file: Found(Unnamed));
    /// Removes one attachment of the segment.
    5 detach(number: Number) -> ();
    /// Returns the state of an object as words. All kinds: key, user, group, maker's user and
    /// group, mode, sequence, and time of change. Memory: size, times of attaching and detaching,
    /// maker, last user, number of attachments. Semaphores: number, time of the last operation.
    /// Queue: bytes, messages, maximum of bytes, last sender, last receiver, times of the last
    /// message sent and received.
    6 state(kind: Choice(KEYED_KINDS), number: Number) -> (; bytes words: Data);
    /// Sets user, group (in the upper half), mode and, of a queue, most bytes.
    7 change(kind: Choice(KEYED_KINDS), number: Number, owner: Hex, mode: Mode, bytes: Number) -> ();
    /// Removes it. Those that wait get `EIDRM`; memory stays until it is nobody's.
    8 remove(kind: Choice(KEYED_KINDS), number: Number) -> ();
    /// The number of the one at this place, of so many; the highest place and how many there are.
    9 place(kind: Choice(KEYED_KINDS), index: Number) -> (number: Number, highest: Number, count: Number);
    /// Operations on semaphores, all at once or none: six bytes each, as in Linux's `sembuf`. Waits
    /// until they can be done. `EAGAIN`: `IPC_NOWAIT`. `E2BIG`, `EFBIG`, `ERANGE`, `EIDRM`.
    10 operate(number: Number; bytes operations: Data) -> ();
    /// A semaphore: its value, who used it last, how many wait for more, and for zero. `EINVAL`.
    11 semaphore(number: Number, index: Number) -> (value: Number, pid: Number, up: Number, zero: Number);
    /// Sets its value. `ERANGE`.
    12 semaphore_set(number: Number, index: Number, value: Number) -> ();
    /// Values from this semaphore on, as far as they fit a message, two bytes each.
    13 values(number: Number, first: Number) -> (; bytes values: Data);
    /// Sets values from this semaphore on. `ERANGE`.
    14 values_set(number: Number, first: Number; bytes values: Data) -> ();
    /// Sends a message of a kind of more than 0. Waits for room. `EAGAIN`: `IPC_NOWAIT`. `EIDRM`,
    /// `EINVAL`.
    15 send(number: Number, kind: Number, flags: Flags(KEYED_FLAGS); bytes data: Data) -> ();
    /// The first message; of this kind; or, with a negative kind, the one of the lowest kind up to
    /// it. Waits for one. `ENOMSG`: `IPC_NOWAIT`. `E2BIG`: it is longer than `size`, and stays.
    /// `EIDRM`, `EINVAL`.
    16 receive(number: Number, size: Number, kind: Signed, flags: Flags(KEYED_FLAGS)) -> (kind: Number; bytes data: Data);
    /// The caller is another program now, and has no segments any more.
    17 detach_all() -> ();
}
