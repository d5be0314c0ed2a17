//! What is sent, and what is received.

use nacre_abi::message::{FOR_CLIENT, WORDS};

use crate::{Info, Reference, Span, SpanMut};

/// An outgoing message.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// Subject of the message. In a request: number of the protocol `<< 16 |` number of the
    /// operation. In a reply: Linux's errno.
    pub label: u32,
    /// Six words.
    pub words: [u64; WORDS],
    /// Bytes to send; at most 16384.
    pub bytes: Span<'a>,
    /// References to send, which are copied; at most 8.
    pub references: &'a [Reference],
    /// Set if the message is sent for the client whose message this thread received last. The call
    /// ends with `Interrupted` when that client waits no more.
    pub for_client: bool,
}

impl<'a> Message<'a> {
    /// A message of words alone.
    pub const fn new(label: u32, words: [u64; WORDS]) -> Message<'a> {
        Message { label, words, bytes: Span::EMPTY, references: &[], for_client: false }
    }

    /// Adds bytes.
    pub fn with_bytes(self, bytes: impl Into<Span<'a>>) -> Message<'a> {
        Message { bytes: bytes.into(), ..self }
    }

    /// Returns the register that holds label, counts and flags.
    #[inline(always)]
    pub(crate) const fn info(&self) -> u64 {
        Info::with_label(self.label).0 | if self.for_client { FOR_CLIENT } else { 0 }
    }

    /// Marks the message as sent for the client.
    pub const fn for_client(self) -> Message<'a> {
        Message { for_client: true, ..self }
    }

    /// Adds references.
    pub const fn with_references(self, references: &'a [Reference]) -> Message<'a> {
        Message { references, ..self }
    }
}

/// Buffers for incoming bytes and references.
#[derive(Debug)]
pub struct Buffers<'a> {
    /// Memory for the bytes.
    pub bytes: SpanMut<'a>,
    /// Slots for the references: each a free slot, or a reference that is replaced.
    pub slots: &'a [Reference],
}

impl<'a> Buffers<'a> {
    /// Buffers that take words only.
    pub const NONE: Buffers<'static> = Buffers { bytes: SpanMut::EMPTY, slots: &[] };

    /// Room for bytes and references.
    pub fn new(bytes: impl Into<SpanMut<'a>>, slots: &'a [Reference]) -> Buffers<'a> {
        Buffers { bytes: bytes.into(), slots }
    }
}

/// A message that was received.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Received {
    /// Label, sizes and flags.
    pub info: Info,
    /// The word of the port that the message came through; meaningless in a reply.
    pub word: u64,
    /// The words of the message; of a notification, its bits in the first.
    pub words: [u64; WORDS],
}

impl Received {
    /// The label.
    pub const fn label(&self) -> u32 {
        self.info.label()
    }

    /// Returns the number of bytes that were received.
    pub const fn bytes(&self) -> usize {
        self.info.bytes() as usize
    }

    /// Returns the number of references that were received.
    pub const fn references(&self) -> usize {
        self.info.references() as usize
    }

    /// Returns true if the sender waits for a reply.
    pub const fn needs_reply(&self) -> bool {
        self.info.has(Info::NEEDS_REPLY)
    }

    /// The word of the thread that is ready, if it is an announcement to its scheduler.
    pub const fn ready(&self) -> Option<u64> {
        if self.info.has(Info::READY) { Some(self.words[0]) } else { None }
    }

    /// The bits, if it is a notification.
    pub const fn notification(&self) -> Option<u64> {
        if self.info.has(Info::NOTIFICATION) { Some(self.words[0]) } else { None }
    }
}
