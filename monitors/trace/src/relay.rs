//! The relay: workers that receive at all proxies, send what they received on to the originals, and hand back what those answer.
//!
//! A worker that waits for an answer serves nobody else, so there is always one more than wait, up to a bound: the last idle worker, before it
//! sends on, hires another.

use crate::crossing::{Crossing, TooMany, Translator, destroy};
use crate::desk::{Answer, Desk, copied, filled, room};
use crate::objects::Objects;
use crate::proxies::{Proxies, Seen, index_of};
use crate::record::{Done, Record};
use crate::text::Half;
use alloc::format;
use alloc::string::String;
use core::sync::atomic::{AtomicUsize, Ordering};
use nacre_abi::message::NO_REFERENCES;
use nacre_abi::{Code, Status, fault};
use nacre_nest::host::Exception;
use nacre_proto::flags::REPORT_MESSAGE;
use nacre_proto::describe::Kind;
use nacre_proto::{Errno, PROTOCOLS, parent};
use nacre_sys::ipc::{self, Buffers, Message, Received};
use nacre_sys::lock::Lock;
use nacre_sys::{FOREVER, Info, PortSet, Reference, Window};

/// Most workers: as many clients can be kept waiting without keeping the others waiting.
const MAX_WORKERS: usize = 32;

/// How workers are hired, and what they are given.
#[derive(Clone, Copy)]
pub struct Staff {
    /// Starts a thread that calls [`Relay::work`].
    pub hire: fn(usize) -> bool,
    /// Memory for a desk.
    pub desk: fn() -> Option<Window>,
    /// Memory for the objects of proxies.
    pub objects: fn() -> Option<Window>,
}

/// What all workers share.
pub struct Relay {
    set: PortSet,
    objects: Objects,
    proxies: Lock<Proxies>,
    record: Record,
    /// Of the program, in what is said of it.
    name: String,
    workers: AtomicUsize,
    idle: AtomicUsize,
    staff: Staff,
    bare: BareReplies,
}

/// Which operations are declared to answer with words alone: for each protocol a bit for each operation. The kernel carries such an answer with less ado.
struct BareReplies([u32; PROTOCOLS.len() + 1]);

impl BareReplies {
    fn new() -> BareReplies {
        let mut bits = [0; PROTOCOLS.len() + 1];
        let operations = PROTOCOLS.iter().flat_map(|protocol| protocol.operations);
        for operation in operations.filter(|one| one.bytes_out == Kind::None && one.references_out.is_empty()) {
            if let Some(word) = bits.get_mut((operation.label >> 16) as usize) {
                *word |= 1u32.checked_shl(operation.label & 0xffff).unwrap_or(0);
            }
        }
        BareReplies(bits)
    }

    #[inline]
    fn has(&self, label: u32) -> bool {
        let (protocol, operation) = ((label >> 16) as usize, label & 0xffff);
        operation < 32 && self.0.get(protocol).is_some_and(|bits| bits & (1 << operation) != 0)
    }
}

fn references(crossing: Option<&Crossing>) -> &[Reference] {
    crossing.map_or(&[], Crossing::references)
}

impl Relay {
    /// A relay without workers.
    pub fn new(set: PortSet, record: Record, name: String, staff: Staff) -> Relay {
        let (objects, proxies) = (Objects::new(set), Lock::new(Proxies::new(0)));
        Relay { set, objects, proxies, record, name, workers: AtomicUsize::new(0), idle: AtomicUsize::new(1), staff, bare: BareReplies::new() }
    }

    /// Makes the first proxy, for `parent`, which is moved: what the child gets as its parent. [`Relay::parent_given`] follows.
    pub fn parent(&self, parent: Reference) -> Result<Reference, Status> {
        let (_, handle) = self.translator().make(parent, false).map_err(|_| Status::new(Code::NoMemory))?;
        Ok(handle)
    }

    /// The child has its own reference to its parent.
    pub fn parent_given(&self) {
        self.objects.withdraw(0);
    }

    fn translator(&self) -> Translator<'_> {
        Translator { objects: &self.objects, proxies: &self.proxies, more: self.staff.objects }
    }

    /// Serves until the child ends, which ends this program. Returns only if that is impossible.
    pub fn work(&self) -> Status {
        let number = self.workers.fetch_add(1, Ordering::Relaxed);
        let Some(mut desk) = (self.staff.desk)().and_then(|memory| Desk::new(number, memory)) else {
            self.idle.fetch_sub(1, Ordering::Relaxed);
            return Status::new(Code::NoMemory);
        };
        let mut waited = self.receive(&mut desk);
        loop {
            let received = match waited {
                Ok(received) => received,
                Err(status) => return status,
            };
            if self.idle.fetch_sub(1, Ordering::Relaxed) == 1 {
                self.hire();
            }
            let answer = if self.is_quick(&received) { self.carry_words(&received) } else { self.handle(&mut desk, &received) };
            self.idle.fetch_add(1, Ordering::Relaxed);
            let next = answer.and_then(|answer| self.answer(&mut desk, answer));
            waited = next.map_or_else(|| self.receive(&mut desk), Ok);
        }
    }

    /// Waits for something to do. A client that was not answered learns that nobody will.
    #[inline]
    fn receive(&self, desk: &mut Desk) -> Result<Received, Status> {
        let buffers = Buffers::new(room(desk.request), &desk.request_slots);
        ipc::receive(self.set.address(), buffers, FOREVER)
    }

    /// Whether a message and its answer are words alone, and nobody wants to see them: nearly all that is to be fast is of this kind.
    #[inline]
    fn is_quick(&self, received: &Received) -> bool {
        let plain = received.info.0 >> 32 == Info::NEEDS_REPLY >> 32;
        plain && self.bare.has(received.label()) && !self.record.wants_text() && index_of(received.word) != 0
    }

    /// Carries a message that is quick.
    #[inline]
    fn carry_words(&self, received: &Received) -> Option<Answer> {
        let started = self.record.time();
        let entered = self.proxies.lock().enter(received.word);
        if entered.is_none() {
            return Some(Answer::error(Errno::EIO));
        }
        let index = index_of(received.word);
        let result = ipc::call_words(self.objects.original(index), received.label(), received.words);
        self.translator().leave(index);
        let failed = !result.is_ok_and(|reply| reply.label() == 0);
        self.record.count(received.label(), failed, started);
        match result {
            Ok(reply) => Some(Answer { label: reply.label(), words: reply.words, size: 0, crossing: None }),
            Err(status) => self.failure(received, status),
        }
    }

    /// Sends an answer. `None`: nothing was received meanwhile.
    fn answer(&self, desk: &mut Desk, answer: Answer) -> Option<Received> {
        if answer.crossing.is_none() {
            return self.reply_receive(desk, &answer);
        }
        self.reply(desk, answer);
        None
    }

    /// `None` if the client has gone, or its buffers have: nothing was received.
    #[inline]
    fn reply_receive(&self, desk: &mut Desk, answer: &Answer) -> Option<Received> {
        let message = Message::new(answer.label, answer.words).with_bytes(filled(desk.reply, answer.size));
        let buffers = Buffers::new(room(desk.request), &desk.request_slots);
        ipc::reply_receive(self.set.address(), &message, buffers, FOREVER).ok()
    }

    /// Sends an answer with references, of which nothing is kept here.
    fn reply(&self, desk: &Desk, answer: Answer) {
        let message = Message::new(answer.label, answer.words)
            .with_bytes(filled(desk.reply, answer.size))
            .with_references(references(answer.crossing.as_deref()));
        // A client that has gone needs no answer.
        let _ = ipc::reply(&message);
        if let Some(crossing) = answer.crossing {
            self.translator().finish(crossing);
        }
    }

    #[cold]
    fn hire(&self) {
        let workers = self.workers.load(Ordering::Relaxed);
        if workers < MAX_WORKERS {
            self.idle.fetch_add(1, Ordering::Relaxed);
            if !(self.staff.hire)(workers) {
                self.idle.fetch_sub(1, Ordering::Relaxed);
            }
        }
    }

    fn handle(&self, desk: &mut Desk, received: &Received) -> Option<Answer> {
        if received.info.0 & (Info::NOTIFICATION | Info::FAULT | Info::EXCEPTION) == 0 {
            self.carry(desk, received)
        } else {
            self.handle_signal(desk, received)
        }
    }

    #[cold]
    fn handle_signal(&self, desk: &mut Desk, received: &Received) -> Option<Answer> {
        destroy(&desk.request_slots[..received.references()]);
        if let Some(bits) = received.notification() {
            self.pass_notification(desk, received.word, bits);
            return None;
        }
        if received.info.has(Info::EXCEPTION) && index_of(received.word) == 0 {
            self.end_by_exception(desk.number, &Exception::from_words(received.words));
        }
        // Keepers of regions are not interposed on: a fault that comes here was sent astray.
        Some(Answer::bare(fault::REFUSE))
    }

    fn pass_notification(&self, desk: &Desk, word: u64, bits: u64) {
        let passed = bits & !NO_REFERENCES;
        let entered = if passed == 0 { None } else { self.proxies.lock().enter(word) };
        if let Some(seen) = entered {
            let sent = ipc::notify(self.objects.original(index_of(word)), passed);
            self.translator().leave(index_of(word));
            self.record.note(desk.number, &format!("notify(#{}, {passed:#x})", seen.number), if sent.is_ok() { "0" } else { "?" });
        }
        if bits & NO_REFERENCES != 0 {
            self.translator().retire(word);
        }
    }

    /// Carries a message to its original and brings the answer. `None`: there is no answer to give.
    #[inline]
    fn carry(&self, desk: &mut Desk, received: &Received) -> Option<Answer> {
        let entered = self.proxies.lock().enter(received.word);
        let Some(seen) = entered else {
            destroy(&desk.request_slots[..received.references()]);
            return Some(Answer::error(Errno::EIO));
        };
        let carried = self.carry_through(desk, received, seen);
        self.translator().leave(index_of(received.word));
        match carried {
            Ok(answer) => received.needs_reply().then_some(answer),
            Err(status) => self.failure(received, status),
        }
    }

    /// What becomes of a client whose message the original did not answer.
    #[cold]
    fn failure(&self, received: &Received, status: Status) -> Option<Answer> {
        if is_gone(status) {
            // No answer: the client learns that its server is gone, as it would have without us.
            self.translator().retire(received.word);
            return None;
        }
        Some(Answer::error(Errno::from(status)))
    }

    #[inline]
    fn carry_through(&self, desk: &mut Desk, received: &Received, seen: Seen) -> Result<Answer, Status> {
        let started = self.record.time();
        let slots = &desk.request_slots[..received.references()];
        let Ok(crossing) = self.translator().translate(slots, !seen.outward) else {
            return Ok(Answer::error(Errno::ENOMEM));
        };
        let asked = self.request_text(desk, received, seen, crossing.as_deref());
        if received.label() == parent::exit::LABEL && index_of(received.word) == 0 {
            self.end(desk.number, &asked, received.words[0]);
        }
        let result = self.send_on(desk, received, references(crossing.as_deref()));
        if let Some(crossing) = crossing {
            self.translator().finish(crossing);
        }
        let answer = result.map(|reply| self.take_answer(desk, &reply, seen));
        self.show(desk, received.label(), started, &asked, &answer);
        answer
    }

    fn request_text(&self, desk: &Desk, received: &Received, seen: Seen, crossing: Option<&Crossing>) -> String {
        if !self.record.wants_text() {
            return String::new();
        }
        let bytes = copied(desk.request, received.bytes());
        let references = crossing.map_or(&[][..], Crossing::names);
        self.record.request(seen.outward, seen.number, &Half { label: received.label(), words: received.words, bytes: &bytes, references })
    }

    #[inline]
    fn send_on(&self, desk: &mut Desk, received: &Received, references: &[Reference]) -> Result<Received, Status> {
        let original = self.objects.original(index_of(received.word));
        let message =
            Message::new(received.label(), received.words).with_bytes(filled(desk.request, received.bytes())).with_references(references);
        if received.needs_reply() {
            let buffers = Buffers::new(room(desk.reply), &desk.reply_slots);
            return ipc::call(original, &message, buffers, FOREVER);
        }
        ipc::send(original, &message, FOREVER)?;
        Ok(Received { info: Info(0), word: 0, words: [0; 6] })
    }

    /// What the original answered, ready to be handed back.
    #[inline]
    fn take_answer(&self, desk: &Desk, reply: &Received, seen: Seen) -> Answer {
        match self.translator().translate(&desk.reply_slots[..reply.references()], seen.outward) {
            Ok(crossing) => Answer { label: reply.label(), words: reply.words, size: reply.bytes(), crossing },
            Err(TooMany) => Answer::error(Errno::ENOMEM),
        }
    }

    #[inline]
    fn show(&self, desk: &Desk, label: u32, started: u64, asked: &str, answer: &Result<Answer, Status>) {
        let failed = answer.as_ref().map_or(true, |answer| answer.label != 0);
        let answered = match answer {
            _ if !self.record.wants_text() => String::new(),
            Ok(answer) => {
                let bytes = copied(desk.reply, answer.size);
                let references = answer.crossing.as_deref().map_or(&[][..], Crossing::names);
                self.record.reply(label, &Half { label: answer.label, words: answer.words, bytes: &bytes, references })
            }
            Err(status) => format!("({status:?})"),
        };
        let ended = self.record.time();
        self.record.done(&Done { worker: desk.number, label, failed, started, ended, message: asked, answer: &answered });
    }

    /// The child did what the machine does not do: it has ended.
    fn end_by_exception(&self, worker: usize, exception: &Exception) -> ! {
        let Exception { kind, error, address, instruction } = exception;
        let text = format!("exception({kind}, error={error:#x}, address={address:#x}, instruction={instruction:#x})");
        self.record.note(worker, &text, &format!("signal {}", exception.signal()));
        // Who runs the system is told as if we were not there; if nobody listens, the status tells.
        let _ = parent::report(Reference::PARENT, REPORT_MESSAGE, format!("{}: {exception}", self.name).as_bytes());
        self.leave(exception.exit_status())
    }

    fn end(&self, worker: usize, asked: &str, status: u64) -> ! {
        self.record.note(worker, asked, "?");
        self.leave(status)
    }

    /// Ends this program as the child ended.
    fn leave(&self, status: u64) -> ! {
        self.record.finish();
        match status {
            0..=255 => nacre_rt::exit(status as i32),
            _ => nacre_rt::exit::exit_by_signal(status & 0x7f),
        }
    }
}

/// Whether the original leads nowhere, or went while it was asked.
fn is_gone(status: Status) -> bool {
    status.about() <= 1 && matches!(status.code(), Some(Code::Gone | Code::NullReference | Code::NotAnObject))
}
