//! The relay: workers that receive at all proxies, send what they received on to the originals, and
//! hand back what those answer.
//!
//! A worker that waits for an answer serves nobody else, so there is always one more than wait: the
//! last idle worker, before it sends on, hires another. The first workers live on memory of the
//! monitor, all others on that of the child, whose threads make them needed. Where there is no
//! memory for one more, the last does not send on what could wait. So however many threads of the
//! child wait, its end is heard of.

mod adopt;
mod bare;
mod facts;
mod hiring;
mod restart;
mod substitute;

use super::reference_translation::{ReferenceTranslation, Translator, Way, destroy};
use super::worker_buffers::{Answer, WorkerBuffers, filled, room};
use super::objects::Objects;
use super::proxies::{Origin, Proxies, ProxyInfo, index_of};
use bare::BareReplies;
use super::{InterposedRequest, InterposedReply, Interposer};
use crate::{ChildPool, attending};
use crate::host::Exception;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicUsize, Ordering};
use nacre_abi::message::{KERNEL_BITS, NO_REFERENCES};
use nacre_abi::rights::REFERENCE_USE;
use nacre_abi::{Code, Status, fault};
use nacre_proto::describe::Operation;
use nacre_proto::flags::{SERVICE_CONTROL, SERVICE_MEMORY, SERVICE_OBJECTS};
use nacre_proto::frees::frees;
use nacre_proto::{Errno, describe, parent};
use nacre_sys::ipc::{self, Buffers, Message, Received};
use nacre_rt::roomed::Room;
use nacre_sys::gate;
use nacre_sys::lock::Lock;
use nacre_sys::{FOREVER, Info, PortSet, Reference, Space, Window};

/// Functions that hire workers and provide for them.
#[derive(Clone, Copy)]
pub struct Staff {
    /// Starts a thread that calls [`Relay::work`] with this number.
    pub hire: fn(usize) -> bool,
    /// Memory for a desk.
    pub desk: fn() -> Option<Window>,
    /// Memory for a worker beyond the first, of this pool, or of the monitor if there is none.
    pub room: fn(Option<Reference>) -> Option<Room>,
    /// Body of such a worker, which gets its number.
    pub worker: fn(usize),
    /// Takes this many bytes for the objects of proxies.
    pub objects: fn(u64) -> Option<Window>,
    /// Ends the child, if it is a manager's.
    pub end_child: fn(),
}

/// State that all workers share.
pub struct Relay<W: Interposer> {
    set: PortSet,
    objects: Objects,
    proxies: Lock<Proxies<W::Tag>>,
    watch: W,
    /// Number of workers that live on memory of the monitor.
    workers: AtomicUsize,
    /// Number of the next one.
    next_worker: AtomicUsize,
    idle: AtomicUsize,
    /// Desks for workers that begin.
    desks: Lock<Vec<WorkerBuffers>>,
    /// Left by a worker that could not begin.
    spare: Lock<Option<WorkerBuffers>>,
    staff: Staff,
    bare: BareReplies,
    /// The child's, if we made it; one that is a manager's process ends by the manager's word.
    space: Lock<Option<Space>>,
    /// Memory of the child and of all that it starts, in place of ours and our manager's.
    pool: Option<ChildPool>,
}

fn references<T>(crossing: Option<&ReferenceTranslation<T>>) -> &[Reference] {
    crossing.map_or(&[], ReferenceTranslation::references)
}

impl<W: Interposer> Relay<W> {
    /// A relay without workers. The child finds `pool`, if there is one, where we find our memory.
    pub fn new(set: PortSet, watch: W, staff: Staff, pool: Option<ChildPool>) -> Relay<W> {
        let (objects, proxies) = (Objects::new(set), Lock::new(Proxies::new(0)));
        let (workers, next_worker, idle) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
        let (desks, spare) = (Lock::new(Vec::new()), Lock::new(None));
        Relay { set, objects, proxies, watch, workers, next_worker, idle, desks, spare, staff, bare: BareReplies::new(W::reads_answer), pool, space: Lock::new(None) }
    }

    /// Makes the first proxy, for `parent`, which is moved: what the child gets as its parent.
    /// [`Relay::parent_given`] follows.
    pub fn parent(&self, parent: Reference, tag: W::Tag) -> Result<Reference, Status> {
        let (_, handle) = self.translator().make((parent, REFERENCE_USE), false, Origin::Unknown, tag).map_err(|_| Status::new(Code::NoMemory))?;
        Ok(handle)
    }

    /// The monitor's treatment of messages.
    pub fn watch(&self) -> &W {
        &self.watch
    }

    /// The keeper of a child that we made: the port of the first proxy.
    pub fn keeper(&self) -> Reference {
        self.objects.port(0).as_keeper()
    }

    /// The child has its own reference to its parent, and lives in `space`, if that is ours.
    pub fn parent_given(&self, space: Option<Space>) {
        *self.space.lock() = space;
        self.objects.withdraw(0);
    }

    fn translator(&self) -> Translator<'_, W::Tag> {
        Translator { objects: &self.objects, proxies: &self.proxies, more: self.staff.objects, attenuates: W::ATTENUATES }
    }

    /// Serves as worker `number`, who was hired, until the child ends, which ends this program.
    /// Returns only if that is impossible.
    pub fn work(&self, number: usize) -> Status {
        let taken = self.take_desk(number);
        let Some(mut desk) = taken else {
            return Status::new(Code::NoMemory);
        };
        let mut waited = self.receive(&mut desk);
        loop {
            let received = match waited {
                Ok(received) => received,
                Err(status) => return status,
            };
            // Work for a message that wants no reply would be done on this monitor's time.
            if received.notification().is_none() && !received.needs_reply() {
                destroy(&desk.request_slots[..received.references()]);
                waited = self.receive(&mut desk);
                continue;
            }
            let is_last = self.idle.fetch_sub(1, Ordering::Relaxed) == 1;
            let is_alone = is_last && !is_brief(&received) && !self.hire(self.staff.hire);
            let is_quick = self.is_quick(&received);
            let answer = if is_alone && self.may_wait(&received) || !is_quick && !gate::is_open() && self.is_refused(&received) {
                destroy(&desk.request_slots[..received.references()]);
                Some(Answer::error(Errno::ENOMEM))
            } else if is_quick {
                self.carry_words(&received)
            } else {
                self.handle(&mut desk, &received)
            };
            self.idle.fetch_add(1, Ordering::Relaxed);
            let next = answer.and_then(|answer| self.answer(&mut desk, answer));
            waited = next.map_or_else(|| self.receive(&mut desk), Ok);
        }
    }

    /// Waits for something to do. A client that was not answered learns that nobody will.
    #[inline]
    fn receive(&self, desk: &mut WorkerBuffers) -> Result<Received, Status> {
        let buffers = Buffers::new(room(desk.request), &desk.request_slots);
        ipc::receive(self.set.address(), buffers, FOREVER)
    }

    /// Returns true if a received message may take any time to be answered. Requests of the child
    /// to its parent are answered at once, as far up as parents go.
    fn may_wait(&self, received: &Received) -> bool {
        received.notification().is_none() && index_of(received.word) != 0
    }

    /// Returns true if a relay without memory does not carry this message. All that ends or frees
    /// something is carried.
    #[cold]
    fn is_refused(&self, received: &Received) -> bool {
        let is_request = received.info.0 & (Info::NOTIFICATION | Info::FAULT | Info::EXCEPTION) == 0;
        is_request && !frees(received.label())
    }

    /// Returns true if a message and its answer are words alone, and nobody wants to see them.
    /// Nearly all messages that have to be fast are of this kind.
    #[inline]
    fn is_quick(&self, received: &Received) -> bool {
        let plain = received.info.0 >> 32 == Info::NEEDS_REPLY >> 32;
        plain && self.bare.has(received.label()) && self.watch.lets_words_pass() && index_of(received.word) != 0
    }

    /// Carries a message that is quick.
    #[inline]
    fn carry_words(&self, received: &Received) -> Option<Answer<W::Tag>> {
        let started = self.watch.time();
        let entered = self.proxies.lock().enter(received.word);
        let Some(seen) = entered else {
            return Some(Answer::error(Errno::EIO));
        };
        let index = index_of(received.word);
        let result = match self.watch.words(&seen, received.label(), &received.words) {
            Ok(()) => ipc::call_words_for_client(self.objects.original(index), received.label(), received.words),
            Err(errno) => {
                self.translator().leave(index);
                return Some(Answer::error(errno));
            }
        };
        self.translator().leave(index);
        let failed = !result.is_ok_and(|reply| reply.label() == 0);
        self.watch.words_done(received.label(), failed, started);
        match result {
            Ok(reply) => Some(Answer { label: reply.label(), words: reply.words, size: 0, crossing: None }),
            Err(status) => self.failure(received, status),
        }
    }

    /// Sends an answer. `None`: nothing was received meanwhile.
    fn answer(&self, desk: &mut WorkerBuffers, answer: Answer<W::Tag>) -> Option<Received> {
        if answer.crossing.is_none() {
            return self.reply_receive(desk, &answer);
        }
        self.reply(desk, answer);
        None
    }

    /// `None` if the client has gone, or its buffers have: nothing was received.
    #[inline]
    fn reply_receive(&self, desk: &mut WorkerBuffers, answer: &Answer<W::Tag>) -> Option<Received> {
        let message = Message::new(answer.label, answer.words).with_bytes(filled(desk.reply, answer.size));
        let buffers = Buffers::new(room(desk.request), &desk.request_slots);
        ipc::reply_receive(self.set.address(), &message, buffers, FOREVER).ok()
    }

    /// Sends an answer with references, of which nothing is kept here.
    fn reply(&self, desk: &WorkerBuffers, answer: Answer<W::Tag>) {
        let message =
            Message::new(answer.label, answer.words).with_bytes(filled(desk.reply, answer.size)).with_references(references(answer.crossing.as_deref()));
        // A client that has gone needs no answer.
        let _ = ipc::reply(&message);
        if let Some(crossing) = answer.crossing {
            self.translator().finish(crossing);
        }
    }

    #[inline(never)]
    fn handle(&self, desk: &mut WorkerBuffers, received: &Received) -> Option<Answer<W::Tag>> {
        if received.info.0 & (Info::NOTIFICATION | Info::FAULT | Info::EXCEPTION) == 0 {
            self.carry(desk, received)
        } else {
            self.handle_signal(desk, received)
        }
    }

    #[cold]
    fn handle_signal(&self, desk: &mut WorkerBuffers, received: &Received) -> Option<Answer<W::Tag>> {
        destroy(&desk.request_slots[..received.references()]);
        let is_of_child = index_of(received.word) == 0 && self.proxies.lock().has(received.word);
        if let Some(bits) = received.notification() {
            // Who keeps the child's space has its first proxy, so both bits of the kernel say there
            // that the child is no more.
            if bits & KERNEL_BITS != 0 && is_of_child {
                if self.is_ours() {
                    self.end(self.watch.killed(desk.number));
                }
                (self.staff.end_child)();
            }
            self.pass_notification(desk, received.word, bits);
            return None;
        }
        if received.info.has(Info::EXCEPTION) && is_of_child {
            self.end(self.watch.exception(desk.number, &Exception::from_words(received.words)));
        }
        // Keepers of regions are not interposed on: a fault that comes here was sent astray.
        Some(Answer::bare(fault::REFUSE))
    }

    fn pass_notification(&self, desk: &WorkerBuffers, word: u64, bits: u64) {
        let passed = bits & !KERNEL_BITS;
        let entered = if passed == 0 { None } else { self.proxies.lock().enter(word) };
        if let Some(seen) = entered {
            let original = self.objects.original(index_of(word));
            if self.watch.notified(desk.number, &seen, original, passed) {
                // Whether the original is still there is no affair of who notifies.
                let _ = ipc::notify(original, passed);
            }
            self.translator().leave(index_of(word));
        }
        let retired = if bits & NO_REFERENCES == 0 { None } else { self.proxies.lock().fade(word) };
        if let Some(word) = retired {
            self.translator().retire(word);
        }
    }

    /// Carries a message to its original and brings the answer. `None`: there is no answer to give.
    #[inline]
    fn carry(&self, desk: &mut WorkerBuffers, received: &Received) -> Option<Answer<W::Tag>> {
        let entered = self.proxies.lock().enter(received.word);
        let Some(seen) = entered else {
            destroy(&desk.request_slots[..received.references()]);
            return Some(Answer::error(Errno::EIO));
        };
        let is_keep = received.label() == parent::keep::LABEL && index_of(received.word) == 0 && self.is_ours();
        let carried = if is_keep { Ok(self.keep(desk, received)) } else { self.carry_through(desk, received, &seen) };
        self.translator().leave(index_of(received.word));
        match carried {
            Ok(answer) => Some(answer),
            Err(status) => self.failure(received, status),
        }
    }

    /// The child takes care of its exceptions itself: whoever made its space has to see to that,
    /// and it is we who did.
    #[cold]
    fn keep(&self, desk: &WorkerBuffers, received: &Received) -> Answer<W::Tag> {
        let slots = &desk.request_slots[..received.references()];
        let kept = match (slots.first(), *self.space.lock()) {
            (Some(_), Some(_)) if self.has_proxies(slots) => Err(Errno::EINVAL),
            (Some(keeper), Some(space)) => self.watch.keep(space, *keeper, self.keeper()).map_err(Errno::from),
            _ => Err(Errno::EPROTO),
        };
        destroy(slots);
        kept.map_or_else(Answer::error, |()| Answer::bare(0))
    }

    #[cold]
    #[inline(never)]
    fn has_proxies(&self, slots: &[Reference]) -> bool {
        slots.iter().any(|slot| self.objects.index_of(*slot).is_some())
    }

    /// Returns the answer for a client whose message the original did not answer.
    #[cold]
    fn failure(&self, received: &Received, status: Status) -> Option<Answer<W::Tag>> {
        if is_gone(status) {
            // No answer: the client learns that its server is gone, as it would have without us. A
            // server that drops one message may be there for others.
            if self.objects.original(index_of(received.word)).is_null().unwrap_or(true) {
                self.translator().retire(received.word);
            }
            return None;
        }
        Some(Answer::error(Errno::from(status)))
    }

    /// Translates what came with a request, lets the monitor look at it, sends it on, and
    /// translates what comes back.
    #[inline]
    fn carry_through(&self, desk: &mut WorkerBuffers, received: &Received, seen: &ProxyInfo<W::Tag>) -> Result<Answer<W::Tag>, Status> {
        let slots = &desk.request_slots[..received.references()];
        // A keeper is called by the kernel: a proxy in its place could not answer.
        let is_keep = received.label() == parent::keep::LABEL;
        if is_keep && self.has_proxies(slots) {
            destroy(slots);
            return Ok(Answer::error(Errno::EINVAL));
        }
        let declared = if W::ATTENUATES { describe(received.label()) } else { None };
        let kinds = declared.and_then(|operation| operation.kinds_in(slots.len()));
        if W::ATTENUATES && kinds.is_none() {
            destroy(slots);
            return Ok(Answer::error(Errno::EACCES));
        }
        let asked_at = index_of(received.word);
        let way = Way { outward: !seen.outward, is_reply: false, asked: asked_at, service: None, is_keeper: is_keep };
        let translated = self.translator().translate(slots, way, |number| kinds.as_ref().map(|kinds| kinds(number)), |arrival| self.watch.sent(seen, arrival));
        let crossing = match translated {
            Ok(crossing) => crossing,
            Err(errno) => return Ok(Answer::error(errno)),
        };
        let original = self.objects.original(index_of(received.word));
        let mut letter = InterposedRequest::new(desk, received, seen, crossing.as_deref(), original);
        let watched = self.watch.request(&mut letter);
        let (original, words, size, patience, substitute) = (letter.original, letter.words, letter.size, letter.patience, letter.answer.take());
        let is_exit = received.label() == parent::exit::LABEL && index_of(received.word) == 0;
        if is_exit && self.is_ours() && watched.is_ok() {
            self.end(received.words[0]);
        }
        let message = Message::new(received.label(), words).with_bytes(filled(desk.request, size)).with_references(references(crossing.as_deref()));
        let result = match (&watched, &substitute) {
            (Ok(_), Some(substitute)) => Ok(substitute::put(desk, substitute)),
            (Ok(_), None) => Ok(self.send_on(desk, original, &message, patience)),
            (Err(errno), _) => Err(*errno),
        };
        if let Some(crossing) = crossing {
            self.translator().finish(crossing);
        }
        match (watched, result) {
            // It has ended, and has been shown to end.
            (Ok(_), Ok(Err(status))) if is_exit => Err(status),
            (Ok(mut asked), Ok(result)) => {
                self.watch.arrives(&asked);
                if !seen.outward && received.label() == parent::find::LABEL {
                    self.put_own(desk, words[0], &result);
                }
                let service = (received.label() == parent::find::LABEL).then_some(words[0]);
                let way = Way { outward: seen.outward, is_reply: true, asked: asked_at, service, is_keeper: false };
                let answer = result.map(|reply| self.take_answer(desk, &reply, (way, declared), &mut asked));
                let returned = answer.as_ref().map(|answer| InterposedReply::new(desk, answer)).map_err(|status| *status);
                self.watch.answered(desk.number, asked, &returned);
                answer
            }
            (Err(errno), _) | (_, Err(errno)) => Ok(Answer::error(errno)),
        }
    }

    /// Service of the monitor that the child finds in place of another. Memory for objects of a
    /// manager's process ends with the process, so the manager gives it.
    fn own_service(&self, service: u64) -> Option<Reference> {
        match service {
            SERVICE_OBJECTS if !self.is_ours() => None,
            SERVICE_MEMORY | SERVICE_OBJECTS => self.pool.as_ref().map(|pool| pool.shared.handle()),
            SERVICE_CONTROL if self.watch.attends() => attending::service(),
            _ => None,
        }
    }

    /// Puts a service of the monitor in place of another, where an answer names that.
    #[cold]
    fn put_own(&self, desk: &WorkerBuffers, service: u64, result: &Result<Received, Status>) {
        let is_found = result.is_ok_and(|reply| reply.label() == 0 && reply.references() == 1);
        if let Some(own) = self.own_service(service).filter(|_| is_found) {
            let slot = desk.reply_slots[0];
            // Without a copy the slot stays empty, and the child finds nothing.
            let _ = slot.destroy().and_then(|()| Reference::create(slot.address())).and_then(|slot| own.reference(slot, REFERENCE_USE));
        }
    }

    #[inline]
    fn send_on(&self, desk: &WorkerBuffers, original: Reference, message: &Message<'_>, patience: u64) -> Result<Received, Status> {
        ipc::call_in_place(original, &message.for_client(), Buffers::new(room(desk.reply), &desk.reply_slots), patience)
    }

    /// Takes the answer of the original, ready to be handed back.
    #[inline]
    fn take_answer(
        &self,
        desk: &WorkerBuffers,
        reply: &Received,
        (way, declared): (Way, Option<&'static Operation>),
        asked: &mut W::Asked,
    ) -> Answer<W::Tag> {
        let slots = &desk.reply_slots[..reply.references()];
        let kinds = declared.and_then(|operation| operation.kinds_out(slots.len()));
        // An error brings no references, and all that it brings is refused.
        if W::ATTENUATES && !slots.is_empty() && (kinds.is_none() || reply.label() != 0) {
            destroy(slots);
            return Answer::error(Errno::EPROTO);
        }
        match self.translator().translate(slots, way, |number| kinds.as_ref().map(|kinds| kinds(number)), |arrival| self.watch.returned(asked, reply, arrival)) {
            Ok(crossing) => Answer { label: reply.label(), words: reply.words, size: reply.bytes(), crossing },
            Err(errno) => Answer::error(errno),
        }
    }

    fn is_ours(&self) -> bool {
        self.space.lock().is_some()
    }

    /// The child has ended, by its manager's word.
    pub fn leave(&self, status: u64) -> ! {
        if status > 255 {
            self.watch.signalled(status & 0x7f);
        }
        self.end(status)
    }

    /// Ends this program as the child ended.
    fn end(&self, status: u64) -> ! {
        self.watch.ended();
        match status {
            0..=255 => nacre_rt::exit(status as i32),
            _ => nacre_rt::exit::exit_by_signal(status & 0x7f),
        }
    }
}

/// Returns true for news of the kernel's: whatever comes of them waits for nobody. Many come at
/// once when a process ends, and a worker hired for each would keep what the process had.
#[cold]
fn is_brief(received: &Received) -> bool {
    received.notification().is_some_and(|bits| bits & !KERNEL_BITS == 0)
}

/// Returns true if the original leads nowhere, or went while it was asked.
fn is_gone(status: Status) -> bool {
    status.about() <= 1 && matches!(status.code(), Some(Code::Gone | Code::NullReference | Code::NotAnObject))
}
