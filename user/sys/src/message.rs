//! What is sent, and what is received.

use nacre_abi::message::{FOR_CLIENT, WORDS};

use crate::{Info, Reference, Span, SpanMut};

/// An outgoing message.
#[derive(Clone, Copy, Debug)]
pub struct Message<'a> {
    /// What it is about. In a request, number of the protocol `<< 16 |` number of the operation; in a reply, Linux's errno.
    pub label: u32,
    /// Six words.
    pub words: [u64; WORDS],
    /// At most 16384 bytes.
    pub bytes: Span<'a>,
    /// At most 8 references, which are copied.
    pub references: &'a [Reference],
    /// It is sent for the client whose message this thread received last: a call ends with `Interrupted` when that waits no more.
    pub for_client: bool,
}

impl<'a> Message<'a> {
    /// A message of words alone.
    pub const fn new(label: u32, words: [u64; WORDS]) -> Message<'a> {
        Message { label, words, bytes: Span::EMPTY, references: &[], for_client: false }
    }

    /// The same, with bytes.
    pub fn with_bytes(self, bytes: impl Into<Span<'a>>) -> Message<'a> {
        Message { bytes: bytes.into(), ..self }
    }

    /// What is beside the words in the registers.
    #[inline(always)]
    pub(crate) const fn info(&self) -> u64 {
        Info::with_label(self.label).0 | if self.for_client { FOR_CLIENT } else { 0 }
    }

    /// The same, sent for the client.
    pub const fn for_client(self) -> Message<'a> {
        Message { for_client: true, ..self }
    }

    /// The same, with references.
    pub const fn with_references(self, references: &'a [Reference]) -> Message<'a> {
        Message { references, ..self }
    }
}

/// Where incoming bytes and references go.
#[derive(Debug)]
pub struct Buffers<'a> {
    /// Where bytes go.
    pub bytes: SpanMut<'a>,
    /// Where references go: each a free slot, or a reference that is replaced.
    pub slots: &'a [Reference],
}

impl<'a> Buffers<'a> {
    /// Nothing but words can be received.
    pub const NONE: Buffers<'static> = Buffers { bytes: SpanMut::EMPTY, slots: &[] };

    /// Room for bytes and references.
    pub fn new(bytes: impl Into<SpanMut<'a>>, slots: &'a [Reference]) -> Buffers<'a> {
        Buffers { bytes: bytes.into(), slots }
    }
}

/// What was received.
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

    /// How many bytes were received.
    pub const fn bytes(&self) -> usize {
        self.info.bytes() as usize
    }

    /// How many references were received.
    pub const fn references(&self) -> usize {
        self.info.references() as usize
    }

    /// Whether the sender waits for a reply.
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
