//! Protocol 3, `segment`: memory taken from a pool.

use crate::flags::{ADVICE, PIN_FLAGS};

/// Maximum number of pages that `pages`, `pin`, `unpin` and `advise` deal with at once.
pub const MAX_PAGES: u64 = 1024;

crate::protocol! {
    /// Memory taken from a pool. Its region is mapped; this port controls it. When the last
    /// reference to the port is gone the segment is destroyed: kernel objects in it are destroyed
    /// and its mappings unmapped. The server reads a word only of memory that cannot hold kernel
    /// objects: `wait`, `wake`, `requeue` and `meet` answer `EINVAL` on a segment that was taken
    /// with `SEGMENT_OBJECTS`.
    segment = 3;

    /// Returns the size in bytes.
    1 status() -> (size: Number);
    /// Changes the size, rounded up to pages; new bytes are zeros. `ENOMEM`: the pool's limit is
    /// reached, or the segment cannot grow where it is.
    2 resize(size: Number) -> (size: Number);
    /// Destroys the segment.
    3 destroy() -> ();
    /// Waits until somebody wakes this word, with any of the bits. `EAGAIN`: the word, of 32 bits,
    /// is not `expected` any more. `EINVAL`: no whole word of the segment. `ENOMEM`: too many wait.
    4 wait(offset: Number, expected: Number, bits: Hex) -> ();
    /// Wakes up to `count` of those who wait at this word with any of the bits, first come first;
    /// how many.
    5 wake(offset: Number, count: Number, bits: Hex) -> (woken: Number);
    /// Wakes up to `count` of those who wait at this word, and lets up to `most` more wait at
    /// another word of the segment; how many of both.
    6 requeue(offset: Number, count: Number, most: Number, to: Number) -> (done: Number);
    /// Makes a part of it zeros: pages that nobody has touched since they were zeros cost nothing,
    /// others are cleared when they are touched; kernel objects there are destroyed. `EINVAL`:
    /// offset or size are no multiples of a page, or the part leaves the segment.
    7 clear(offset: Number, size: Number) -> ();
    /// A condition at which whoever waits for this word can wait by the kernel's own call, and be
    /// woken. Who waits there is woken first by `wake`, too, and instead of being moved by
    /// `requeue`. `ENOMEM`: too many words have one.
    8 meet(offset: Number) -> (; references condition: Condition);
    /// The machine's address of the byte at `offset`, and how many bytes lie from there on in one
    /// run, in the order of the segment. `EACCES`: the segment was not taken by `memory.run_create`
    /// or `memory.coloured_create`, and does not lie in one that was. `EINVAL`: the offset is not
    /// in the segment. `EAGAIN`: the page is not in memory now.
    9 locate(offset: Hex) -> (address: Hex, size: Number);
    /// Finds the next part from `offset` on that may not be zeros. It is empty if there is none.
    10 next(offset: Number) -> (start: Number, end: Number);
    /// Tells where pages are that may go: `PAGE_STATES` of each page from `offset` on, a byte for
    /// each, of up to 1,024 pages. `ENOSYS`: pages of this memory never go. `EINVAL`: offset or
    /// size are no multiples of a page, or the part leaves the segment.
    11 pages(offset: Number, size: Number) -> (; bytes states: Data);
    /// Brings pages, up to 1,024 of them, and keeps them in memory until `unpin`, or until the
    /// segment ends. All who have the segment have the same pins. `done`: bytes that are pinned
    /// now. `ENOMEM`: as many pages as the manager allows are pinned; those of this request are
    /// not. `ENOSYS` and `EINVAL` as for `pages`; `EINVAL` also: flags are set that have no
    /// meaning.
    12 pin(offset: Number, size: Number, flags: Flags(PIN_FLAGS)) -> (done: Number);
    /// Lets pages go again, up to 1,024 of them. Errors as for `pages`.
    13 unpin(offset: Number, size: Number) -> (done: Number);
    /// Tells what will be done with pages, up to 1,024 of them. What the manager cannot do for them
    /// now it leaves undone. `EACCES`: the reference only reads. `EINVAL` also: no advice that
    /// there is; other errors as for `pages`.
    14 advise(offset: Number, size: Number, advice: Choice(ADVICE)) -> (done: Number);
}
