//! The server's side: an endpoint receives events, hands out requests, and sends what was answered
//! to them.

use alloc::vec::Vec;

use nacre_abi::message::{MAX_BYTES, MAX_REFERENCES};
use nacre_abi::rights::REFERENCE_NOTIFY;
use nacre_sys::ipc::{self, Buffers, Message, Received};
use nacre_sys::gate::{self, Headroom};
use nacre_sys::{Code, Info, OwnedReference, Reference, Span, SpanMut, Status, EmptySlot};

use crate::Errno;
use crate::frees::frees;
use crate::reference::{Ref, Type};

/// Maximum number of references of a message, as a number of slots.
const SLOTS: usize = MAX_REFERENCES as usize;

/// A reference in an answer.
#[derive(Debug, Default)]
pub enum Given {
    /// Absence of a reference. The client gets `EPROTO`, because its function expects one.
    #[default]
    Nothing,
    /// A copy of this one, which stays.
    Lent(Reference),
    /// A reference that is destroyed when the answer has been sent.
    Owned(OwnedReference),
}

impl Given {
    /// The reference to send.
    pub fn reference(&self) -> Option<Reference> {
        match self {
            Given::Nothing => None,
            Given::Lent(reference) => Some(*reference),
            Given::Owned(owned) => Some(owned.handle()),
        }
    }
}

impl From<Reference> for Given {
    fn from(reference: Reference) -> Given {
        Given::Lent(reference)
    }
}

impl From<OwnedReference> for Given {
    fn from(reference: OwnedReference) -> Given {
        Given::Owned(reference)
    }
}

/// Outcome of a handler.
#[derive(Debug)]
pub enum Answer<T> {
    /// The answer.
    Now(T),
    /// The answer comes later, through the reference that [`Request::detach`] made.
    Later,
}

impl<T> From<T> for Answer<T> {
    fn from(output: T) -> Answer<T> {
        Answer::Now(output)
    }
}

/// Result of a handler: an answer or an error.
pub type HandlerResult<T> = Result<Answer<T>, Errno>;

/// The answer to an operation, as declared.
pub trait Output: Sized {
    /// Words and references in the order of the declaration.
    fn into_parts(self) -> Parts;

    /// The answer as a handler returns it.
    fn now(self) -> HandlerResult<Self> {
        Ok(Answer::Now(self))
    }

    /// Answers before anything else is done: of the references in the answer none is held any
    /// longer than that, as the server is not at work on its client's time any more. Whoever has
    /// gone does not get it.
    fn at_once(self, request: &mut Request<'_>, bytes: &[u8]) -> HandlerResult<Self> {
        let reply = request.detach()?;
        let _ = self.send(reply, Span::from(bytes));
        Ok(Answer::Later)
    }

    /// Answers a request that was detached.
    fn send(self, to: OwnedReference, bytes: Span<'_>) -> Result<(), Status> {
        answer(to, &self.into_parts().message(0, bytes))
    }
}

/// Words and references of an answer.
#[derive(Debug, Default)]
pub struct Parts {
    words: [u64; 6],
    references: [Reference; SLOTS],
    count: usize,
    /// A bit for each reference that is destroyed when this is dropped.
    owned: u8,
}

impl Parts {
    /// The parts that start with `words` and `references`.
    pub fn new<const W: usize, const R: usize>(words: [u64; W], references: [Given; R]) -> Parts {
        let mut parts = Parts { words: crate::client::words(words), ..Parts::default() };
        references.into_iter().for_each(|given| parts.add(given));
        parts
    }

    /// Adds a reference; one too many is dropped.
    fn add(&mut self, given: Given) {
        let (Some(reference), Some(place)) = (given.reference(), self.references.get_mut(self.count)) else { return };
        *place = reference;
        if let Given::Owned(owned) = given {
            owned.leak();
            self.owned |= 1 << self.count;
        }
        self.count += 1;
    }

    /// As a message.
    fn message<'a>(&'a self, label: u32, bytes: Span<'a>) -> Message<'a> {
        Message { bytes, references: self.references.get(..self.count).unwrap_or_default(), ..Message::new(label, self.words) }
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        while self.owned != 0 {
            let index = self.owned.trailing_zeros();
            self.owned &= self.owned - 1;
            drop(OwnedReference::adopt(self.references[index as usize]));
        }
    }
}

/// Sends `message` as the answer to a request that was detached. The reply reference is used up.
pub fn answer(to: OwnedReference, message: &Message<'_>) -> Result<(), Status> {
    ipc::send(to.handle(), message, nacre_sys::FOREVER)
}

/// Answers a request that was detached with an error.
pub fn refuse(to: OwnedReference, errno: Errno) -> Result<(), Status> {
    answer(to, &Message::new(errno.0, [0; 6]))
}

/// The next reply.
#[derive(Debug, Default)]
struct Outgoing {
    due: bool,
    label: u32,
    parts: Parts,
    buffer: Vec<u8>,
    span: Option<Span<'static>>,
}

impl Outgoing {
    fn set(&mut self, label: u32, parts: Parts) {
        self.label = label;
        self.parts = parts;
    }

    fn refuse(&mut self, label: u32) {
        self.set(label, Parts::default());
        self.buffer.clear();
        self.span = None;
    }
}

/// Somebody's message, on its way through a server.
#[derive(Debug)]
pub struct Request<'a> {
    received: Received,
    bytes: &'a [u8],
    slots: &'a mut [Reference],
    outgoing: &'a mut Outgoing,
}

impl<'a> Request<'a> {
    /// The word of the port that it came through.
    pub fn word(&self) -> u64 {
        self.received.word
    }

    /// The label.
    pub fn label(&self) -> u32 {
        self.received.label()
    }

    /// Number of the protocol.
    pub fn protocol(&self) -> u32 {
        self.label() >> 16
    }

    /// Label, sizes and flags.
    pub fn info(&self) -> Info {
        self.received.info
    }

    /// The words.
    pub fn words(&self) -> [u64; 6] {
        self.received.words
    }

    /// The bytes: a copy that nobody else can change.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The references, lent: they are destroyed when the request is over.
    pub fn references(&self) -> &[Reference] {
        self.slots.get(..self.received.references()).unwrap_or_default()
    }

    /// The first references, if there are so many.
    pub fn expect_references<const N: usize>(&self) -> Option<[Reference; N]> {
        self.references().get(..N)?.try_into().ok()
    }

    /// Returns true if the request may have each port notified that it brings for that, as its
    /// operation declares. Only the maker of a port gives this right. Without the check a process
    /// could have servers keep each other's ports, and with them what it has left there.
    pub fn may_notify(&self, declared: &[Ref]) -> bool {
        let notified = declared.iter().zip(self.references()).filter(|(declared, _)| matches!(declared, Ref::Kept(Type::Port)));
        notified.into_iter().all(|(_, reference)| reference.get_state().is_ok_and(|state| state.rights & REFERENCE_NOTIFY != 0))
    }

    /// Keeps one of the references.
    pub fn keep(&mut self, index: usize) -> Result<OwnedReference, Errno> {
        if index >= self.received.references() {
            return Err(Errno::EPROTO);
        }
        let place = self.slots.get_mut(index).ok_or(Errno::EPROTO)?;
        let fresh = EmptySlot::<Reference>::new()?;
        let kept = OwnedReference::adopt(*place);
        *place = take_slot(fresh);
        Ok(kept)
    }

    /// A place for the bytes of the answer: `size` (at most `MAX_BYTES`) zeros to be filled in.
    pub fn buffer(&mut self, size: usize) -> &mut [u8] {
        self.outgoing.span = None;
        self.outgoing.buffer.clear();
        self.outgoing.buffer.resize(size.min(MAX_BYTES as usize), 0);
        &mut self.outgoing.buffer
    }

    /// The answer carries only the first `size` bytes of what was put.
    pub fn truncate(&mut self, size: usize) {
        self.outgoing.buffer.truncate(size);
        self.outgoing.span = self.outgoing.span.map(|span| span.first(size));
    }

    /// The answer carries a copy of `bytes`.
    pub fn put(&mut self, bytes: &[u8]) {
        let bytes = &bytes[..bytes.len().min(MAX_BYTES as usize)];
        self.outgoing.span = None;
        self.outgoing.buffer.clear();
        self.outgoing.buffer.extend_from_slice(bytes);
    }

    /// The answer carries these bytes straight from where they are.
    pub fn put_span(&mut self, span: Span<'static>) {
        self.outgoing.buffer.clear();
        self.outgoing.span = Some(span.first(MAX_BYTES as usize));
    }

    /// Makes a reference through which the request can be answered later; the handler then returns
    /// [`Answer::Later`].
    pub fn detach(&mut self) -> Result<OwnedReference, Errno> {
        let slot = EmptySlot::<Reference>::new()?;
        ipc::detach(slot.address())?;
        self.outgoing.due = false;
        Ok(slot.occupied())
    }

    /// Sends the answer of a handler, or its error.
    pub fn conclude<T: Output>(&mut self, handled: HandlerResult<T>) {
        match handled {
            Ok(Answer::Now(output)) => self.outgoing.set(0, output.into_parts()),
            Ok(Answer::Later) => self.outgoing.due = false,
            Err(errno) => self.refuse(errno),
        }
    }

    /// The server answers with an error.
    pub fn refuse(&mut self, errno: Errno) {
        self.outgoing.refuse(errno.0);
    }

    /// The server answers with this label and these words, besides what was put: for faults,
    /// exceptions and protocols that are not declared.
    pub fn answer(&mut self, label: u32, words: [u64; 6]) {
        self.outgoing.set(label, Parts::new(words, []));
    }

    /// Answers with words and references.
    pub fn answer_with(&mut self, label: u32, words: [u64; 6], references: [Given; SLOTS]) {
        self.outgoing.set(label, Parts::new(words, references));
    }
}

/// Event that a server receives.
#[derive(Debug)]
pub enum Event<'a> {
    /// A message.
    Request(Request<'a>),
    /// Pending bits of the port with this word.
    Notification {
        /// The port's word.
        word: u64,
        /// The bits.
        bits: u64,
    },
    /// A page that a region lacks; answered with a label of [`fault`](nacre_abi::fault).
    Fault(Request<'a>),
    /// A thread's exception; the same.
    Exception(Request<'a>),
}

/// A server's place of work: buffers and slots, and the answer that is sent when the next event is
/// waited for. Each thread that serves has one.
#[derive(Debug)]
pub struct ServerEndpoint {
    incoming: Vec<u8>,
    slots: Slots,
    /// Number of slots that the last message filled.
    filled: usize,
    outgoing: Outgoing,
    _headroom: Headroom,
}

/// Pieces that an endpoint sets aside: one for a request, and one for what is carried out while the
/// first is used.
const PIECES: usize = 2;

/// Slots for received references, aligned so that the kernel can read them where they are.
#[derive(Debug, Default)]
#[repr(align(64))]
struct Slots([Reference; SLOTS]);

/// The slot of a vacancy, kept as a bare address.
fn take_slot(vacant: EmptySlot<Reference>) -> Reference {
    let slot = vacant.handle();
    core::mem::forget(vacant);
    slot
}

impl ServerEndpoint {
    /// An endpoint that takes messages of up to `capacity` bytes and 8 references.
    pub fn new(capacity: usize) -> Result<ServerEndpoint, Errno> {
        let mut endpoint = ServerEndpoint {
            incoming: alloc::vec![0; capacity.min(MAX_BYTES as usize)],
            slots: Slots::default(),
            filled: 0,
            outgoing: Outgoing::default(),
            _headroom: Headroom::take(PIECES)?,
        };
        for slot in &mut endpoint.slots.0 {
            *slot = take_slot(EmptySlot::new()?);
        }
        Ok(endpoint)
    }

    /// Sends the answer that is due, if there is one, and waits for the next event at the port or
    /// set of ports `at`.
    ///
    /// A request that comes while the [gate](nacre_sys::gate) is shut is refused with `ENOMEM`
    /// here, unless it frees memory. So a server that has no memory left goes on. A message that
    /// wants no reply is dropped unread, because its sender lends no time for the work. Both are
    /// notifications without bits, so that whoever waits for a deadline sees how far it is: clients
    /// that ask again and again do not put it off.
    pub fn next(&mut self, at: u64, timeout: u64) -> Result<Event<'_>, Status> {
        let received = self.receive(at, timeout)?;
        let is_turned_away = !gate::is_open() && is_refused(&received);
        if is_turned_away {
            self.outgoing.refuse(Errno::ENOMEM.0);
        }
        if is_turned_away || received.notification().is_some() || !received.needs_reply() {
            return Ok(Event::Notification { word: received.word, bits: received.notification().unwrap_or(0) });
        }
        let bytes = self.incoming.get(..received.bytes()).unwrap_or_default();
        let request = Request { received, bytes, slots: &mut self.slots.0, outgoing: &mut self.outgoing };
        Ok(match received.info {
            info if info.has(Info::FAULT) => Event::Fault(request),
            info if info.has(Info::EXCEPTION) => Event::Exception(request),
            _ => Event::Request(request),
        })
    }

    fn receive(&mut self, at: u64, timeout: u64) -> Result<Received, Status> {
        self.clear_slots();
        let received = self.exchange(at, timeout)?;
        self.filled = received.references().min(SLOTS);
        self.outgoing.due = received.needs_reply() && received.notification().is_none();
        self.outgoing.refuse(Errno::ENOSYS.0);
        Ok(received)
    }

    fn exchange(&mut self, at: u64, timeout: u64) -> Result<Received, Status> {
        if core::mem::take(&mut self.outgoing.due) {
            match self.reply_receive(at, timeout) {
                // The client went away, or took not all that it was sent: its affair.
                Err(status) if !ends_a_wait(status) => (),
                result => return result,
            }
        }
        ipc::receive(at, Buffers { bytes: SpanMut::from(&mut self.incoming[..]), slots: &self.slots.0 }, timeout)
    }

    fn reply_receive(&mut self, at: u64, timeout: u64) -> Result<Received, Status> {
        let bytes = self.outgoing.span.unwrap_or(Span::from(&self.outgoing.buffer[..]));
        let message = self.outgoing.parts.message(self.outgoing.label, bytes);
        ipc::reply_receive(at, &message, Buffers { bytes: SpanMut::from(&mut self.incoming[..]), slots: &self.slots.0 }, timeout)
    }

    /// Destroys the references that the last message brought and nobody kept.
    fn clear_slots(&mut self) {
        for slot in &self.slots.0[..core::mem::take(&mut self.filled)] {
            // A slot whose reference was kept has nothing in it.
            let _ = slot.destroy();
        }
    }
}

/// Returns true if a server without memory does not look at this message.
#[cold]
fn is_refused(received: &Received) -> bool {
    let is_request = received.notification().is_none() && !received.info.has(Info::FAULT) && !received.info.has(Info::EXCEPTION);
    is_request && !frees(received.label())
}

/// Returns true if the status is about the receiving half of `reply_receive`.
fn ends_a_wait(status: Status) -> bool {
    matches!(status.code(), Some(Code::TimedOut | Code::Interrupted))
}

impl Drop for ServerEndpoint {
    fn drop(&mut self) {
        self.clear_slots();
        for slot in self.slots.0.iter().filter(|slot| **slot != Reference::NONE) {
            nacre_sys::slots::free(slot.0, nacre_abi::ObjectType::Reference);
        }
    }
}

#[cfg(any(test, feature = "rehearsal"))]
pub mod rehearsal;
#[cfg(test)]
mod tests;
