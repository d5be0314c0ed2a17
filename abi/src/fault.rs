//! Messages that the kernel sends in a thread's name: faults to the keeper of a region, exceptions
//! to the keeper of a space.
//!
//! | | fault | exception |
//! | --- | --- | --- |
//! | flag in the info word | `FAULT` | `EXCEPTION` |
//! | word 0 | offset in the region | kind (below) |
//! | word 1 | rights that the access needs | the machine's error code |
//! | word 2 | 0 | address that was accessed, for memory kinds |
//! | word 3 | 0 | address of the instruction |
//! | bytes | none | [`ThreadState`](crate::state::ThreadState), if the receiver's buffer has room for it |
//! | references | the faulting thread, to name it only (`REFERENCE_USE`), if the receiver offers a slot | the thread, with all rights |
//!
//! A fault whose keeper refuses becomes an exception with the error code of an absent page.
//! The reply's label says what follows: [`RESUME`], [`STOP`], [`REFUSE`] or [`MAP`]. To an
//! exception
//! the reply may carry a `ThreadState` as bytes: the thread goes on with it.
//!
//! A reply with the label [`MAP`] makes a mapping first, as `mapping_create` does, with the rights
//! of
//! the thread that replies. Its words, by register:
//!
//! | register | argument | |
//! | --- | --- | --- |
//! | `rdx` | 3 | start of the window, in the space that is mapped into |
//! | `r8` | 4 | size |
//! | `r9` | 5 | region, or a reference to it |
//! | `r10` | 6 | offset in the region, and the rights in its lowest 12 bits |
//! | `r12` | 7 | space, or a reference to it; 0 is the own one |
//! | `r13` | 8 | slot of the new mapping |
//!
//! If the mapping cannot be made, the reply fails with the status that `mapping_create` would have,
//! with these numbers of arguments. The thread still waits then.

/// Bit of the error code of [`KIND_MEMORY`]: the access was a write.
pub const ERROR_WRITE: u64 = 2;
/// Bit of the error code of [`KIND_MEMORY`]: the access was made in user mode.
pub const ERROR_USER: u64 = 4;
/// Bit of the error code of [`KIND_MEMORY`]: the access fetched an instruction.
pub const ERROR_FETCH: u64 = 16;

/// Reply label: try again (fault), go on (exception).
pub const RESUME: u32 = 0;
/// Reply label: the thread stays stopped.
pub const STOP: u32 = 1;
/// Reply label to a fault: there is no such page; it becomes an exception of the thread.
pub const REFUSE: u32 = 2;
/// Reply label to a fault: a mapping is made as the reply's words say, and the thread tries again.
pub const MAP: u32 = 3;

/// Exception kinds: what x86 calls vectors 0 to 31 keep their number (0 divide, 1 debug, 3
/// breakpoint, 6 opcode, 13 protection, 14 page fault, 16/19 floating point...).
pub const KIND_BREAKPOINT: u64 = 3;
/// Undefined instruction.
pub const KIND_OPCODE: u64 = 6;
/// General protection.
pub const KIND_PROTECTION: u64 = 13;
/// An address that composition does not resolve, or whose region's keeper refused.
pub const KIND_MEMORY: u64 = 14;
/// A foreign call by a thread that has no entry for it is no exception: it returns `UnknownCall`.
/// Kinds from 32 on are the kernel's own:
/// a call needs memory of the caller that cannot be had.
pub const KIND_CALL_MEMORY: u64 = 32;
