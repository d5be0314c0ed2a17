//! How a message travels in registers and in memory.
//!
//! | register | on the way in | on return |
//! | --- | --- | --- |
//! | `rax` | number of the call | [`Status`](crate::Status) |
//! | `rdi` | reference (call, send), port or set (receive) | the server's own word of the port that the message came through (receive) |
//! | `rsi` | the label, in the low half; for a call, plus [`FOR_CLIENT`] | [`Info`]: label, sizes, flags of what was received |
//! | `rdx r8 r9 r10 r12 r13` | six words to send | six words received |
//! | `r14` | address of a [`Descriptor`], or 0: no bytes and no references either way; plus [`RECEIVE_ONLY`] | unchanged |
//! | `r15` | timeout in nanoseconds; 0 = wait for ever | what is left of it |
//!
//! A call that waits leaves these registers so that making it again goes on where it was: a message
//! moves whole or not at all, and an `ipc_call` whose message was taken continues as
//! `ipc_receive_reply`.

/// Words that a message carries in registers.
pub const WORDS: usize = 6;
/// Maximum number of bytes in one message.
pub const MAX_BYTES: u64 = 16384;
/// Maximum number of references in one message.
pub const MAX_REFERENCES: u64 = 8;

/// Bit of a notification that the kernel sets itself: the last reference to the port is gone
/// (destroyed, or made null or replaced). Whoever serves the port may destroy it, unless it makes
/// new references to it.
pub const NO_REFERENCES: u64 = 1 << 63;
/// Bit of a notification that the kernel sets itself, at the watcher of a space, or without one at
/// its keeper: a thread of the space was destroyed by somebody outside it, or the last one was by
/// whomever, or the space was while it had threads. Who takes a child back itself gets it too.
pub const THREAD_ENDED: u64 = 1 << 62;
/// The bits that nobody but the kernel sets: `port_notify` and interrupts ignore them.
pub const KERNEL_BITS: u64 = NO_REFERENCES | THREAD_ENDED;

/// Size and alignment of a [`Descriptor`] and alignment of the arrays it names, in bytes: so none
/// crosses a page.
pub const DESCRIPTOR_ALIGNMENT: u64 = 64;

/// Bit beside the label in `rsi` of `ipc_call`: the call is made for the caller's own client, to
/// which the caller owes a reply. It ends with `Interrupted` as soon as that client waits no more:
/// it was cut off, its time is over, or it is gone. So whoever answers in the end finds that nobody
/// waits, through whatever stands between.
pub const FOR_CLIENT: u64 = 1 << 58;

/// Bit of the descriptor's address in `r14`: nothing is sent through the descriptor, it only says
/// where to receive. The kernel need not read it to send.
pub const RECEIVE_ONLY: u64 = 1;

/// Parts of a message that do not fit into registers, and the buffers for an answer. Eight words,
/// at a multiple of 64.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Descriptor {
    /// Address of the bytes to send.
    pub send_address: u64,
    /// Number of bytes to send, at most [`MAX_BYTES`].
    pub send_size: u64,
    /// Address of the buffer for received bytes.
    pub receive_address: u64,
    /// Number of bytes that may be received.
    pub receive_capacity: u64,
    /// Address (a multiple of 64) of an array of addresses of references to send.
    pub send_references: u64,
    /// Number of references to send, at most [`MAX_REFERENCES`].
    pub send_reference_count: u64,
    /// Address (a multiple of 64) of an array of slots for received references: each free, or a
    /// reference that is replaced.
    pub receive_slots: u64,
    /// Number of slots, at most [`MAX_REFERENCES`].
    pub receive_slot_count: u64,
}

const _: () = assert!(core::mem::size_of::<Descriptor>() == 64);

/// The word beside a message: bits 0-31 label, 32-48 bytes received, 49-52 references received,
/// then flags.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub struct Info(pub u64);

impl Info {
    /// The sender waits for a reply.
    pub const NEEDS_REPLY: u64 = 1 << 53;
    /// Flag of a notification, which is no message: the first word holds the port's pending bits.
    pub const NOTIFICATION: u64 = 1 << 54;
    /// Flag of a message from the kernel: a region lacks a page (see [`fault`](crate::fault)).
    pub const FAULT: u64 = 1 << 55;
    /// Flag of a message from the kernel: a thread's exception (see [`fault`](crate::fault)).
    pub const EXCEPTION: u64 = 1 << 56;
    /// Flag of a message from the kernel: a thread that this port schedules is ready. The first
    /// word is the word that the thread is known by. A reference to the thread comes where a slot
    /// is offered.
    pub const READY: u64 = 1 << 57;

    /// An outgoing word with this label.
    pub const fn with_label(label: u32) -> Info {
        Info(label as u64)
    }

    /// A received word.
    pub const fn received(label: u32, bytes: u64, references: u64, flags: u64) -> Info {
        Info(label as u64 | bytes << 32 | references << 49 | flags)
    }

    /// The label, chosen by the sender.
    pub const fn label(self) -> u32 {
        self.0 as u32
    }

    /// Returns the number of bytes that were received.
    pub const fn bytes(self) -> u64 {
        self.0 >> 32 & 0x1ffff
    }

    /// Returns the number of references that were received.
    pub const fn references(self) -> u64 {
        self.0 >> 49 & 0xf
    }

    /// Returns true if all bits of `flags` are set.
    pub const fn has(self, flags: u64) -> bool {
        self.0 & flags == flags
    }
}
