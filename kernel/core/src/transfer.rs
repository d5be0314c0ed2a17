//! What a message moves: words from registers to registers, bytes from memory to memory, references
//! from slot to slot.
//!
//! All of both sides is checked before anything moves, so a message arrives whole or not at all.

use crate::call_result::wrong;
use crate::decode::DESCRIPTOR;
use crate::fault::FAULT_REGION;
use crate::kernel::{Attempt, Kernel, Stop};
use crate::list;
use crate::machine::{Machine, Physical, thread_page::register};
use crate::object::{self, Reference, Thread, WaitKind};
use crate::user_memory::Span;
use nacre_abi::arguments::Word;
use nacre_abi::message::{Descriptor, Info, MAX_BYTES, MAX_REFERENCES, RECEIVE_ONLY};
use nacre_abi::object::TargetType;
use nacre_abi::rights::{REFERENCE_ALL, REFERENCE_USE};
use nacre_abi::state::ThreadState;
use nacre_abi::{Code, ObjectType, Rights, Status};

/// Cost of transferring a reference, in instructions.
const REFERENCE_WORK: u32 = 150;

/// Side that blocks a transfer: sender or receiver.
pub(crate) enum BlockedSide {
    /// The sender's: an error for it, or it lacks a page and has begun to wait for that.
    Sender(Stop),
    /// The receiver's: the same.
    Receiver(Stop),
}

/// References on their way: where they are, and where they go.
#[derive(Clone, Copy)]
struct References {
    from: [Physical; MAX_REFERENCES as usize],
    to: [Physical; MAX_REFERENCES as usize],
    count: usize,
}

/// Everything of a message beyond its words, checked.
struct Parcel {
    source: Span,
    target: Span,
    size: u64,
    references: References,
}

impl<M: Machine> Kernel<M> {
    /// Moves the message (or fault) of `sender` to `receiver`, whose registers then hold what
    /// `ipc_receive` returns.
    #[inline(always)]
    pub(crate) fn transfer(&self, sender: Thread<'_>, receiver: Thread<'_>, word: u64, needs_reply: bool) -> Result<(), BlockedSide> {
        if sender.fault() != 0 {
            return self.transfer_fault(sender, receiver, word);
        }
        if sender.waits_for(WaitKind::Ready) {
            return self.transfer_ready(sender, receiver, word);
        }
        let (bytes, references) = if sender.sends_words_alone() { (0, 0) } else { self.transfer_long(sender, receiver)? };
        let flags = if needs_reply { Info::NEEDS_REPLY } else { 0 };
        let label = sender.register(register::INFO) as u32;
        self.move_words(sender, receiver);
        receiver.set_register(register::INFO, Info::received(label, bytes, references, flags).0);
        receiver.set_register(register::PORT_WORD, word);
        Ok(())
    }

    #[inline(always)]
    pub(crate) fn move_words(&self, sender: Thread<'_>, receiver: Thread<'_>) {
        for word in register::WORDS {
            receiver.set_register(word, sender.register(word));
        }
    }

    #[inline(never)]
    fn transfer_long(&self, sender: Thread<'_>, receiver: Thread<'_>) -> Result<(u64, u64), BlockedSide> {
        let sends = self.descriptor(sender, DESCRIPTOR, sender.register(register::DESCRIPTOR)).map_err(BlockedSide::Sender)?;
        if sends.send_size == 0 && sends.send_reference_count == 0 {
            return Ok((0, 0));
        }
        let takes = self.descriptor(receiver, DESCRIPTOR, receiver.register(register::DESCRIPTOR)).map_err(BlockedSide::Receiver)?;
        let refuse = |code| Err(BlockedSide::Sender(Stop::Status(Status::argument(code, DESCRIPTOR))));
        if sends.send_size > MAX_BYTES || sends.send_reference_count > MAX_REFERENCES {
            return refuse(Code::BadArgument);
        }
        if sends.send_size > takes.receive_capacity {
            return refuse(Code::MessageTooLong);
        }
        if sends.send_reference_count > takes.receive_slot_count {
            return refuse(Code::NoSlots);
        }
        let source = self.span(sender, DESCRIPTOR, sends.send_address, sends.send_size, Rights::READ).map_err(BlockedSide::Sender)?;
        let count = sends.send_reference_count as usize;
        let from = self.references_to_send(sender, &sends, count).map_err(BlockedSide::Sender)?;
        let target = self.span(receiver, DESCRIPTOR, takes.receive_address, sends.send_size, Rights::WRITE).map_err(BlockedSide::Receiver)?;
        let to = self.slots_to_fill(receiver, &takes, count).map_err(BlockedSide::Receiver)?;
        self.work_check(DESCRIPTOR).map_err(BlockedSide::Sender)?;
        self.stop_receiving(receiver);
        self.deliver(&Parcel { source, target, size: sends.send_size, references: References { from, to, count } });
        Ok((sends.send_size, count as u64))
    }

    /// Ends the receiver's wait before the message arrives. A reference that the message replaces
    /// may be the last one to a port. The notification of that must not reach a receiver that is
    /// already getting a message.
    pub(crate) fn stop_receiving(&self, receiver: Thread<'_>) {
        list::remove(&self.machine, receiver.queue());
    }

    /// The references that a descriptor offers.
    fn references_to_send(&self, sender: Thread<'_>, sends: &Descriptor, count: usize) -> Attempt<[Physical; 8]> {
        let mut from = [Physical(0); 8];
        if count == 0 {
            return Ok(from);
        }
        let addresses = self.user_words(sender, DESCRIPTOR, sends.send_references)?;
        for (at, address) in from.iter_mut().zip(addresses).take(count) {
            let (found, reference) = self.object(sender, Word { number: DESCRIPTOR, value: address })?;
            if found != ObjectType::Reference {
                return Err(Status::argument(Code::WrongType, DESCRIPTOR).into());
            }
            if self.reference(reference).kind() == TargetType::Reply as u64 {
                return Err(Status::argument(Code::Denied, DESCRIPTOR).into());
            }
            *at = reference;
        }
        Ok(from)
    }

    /// The slots that a descriptor names for received references, ready to be filled. The last part
    /// of decoding.
    pub(crate) fn slots_to_fill(&self, receiver: Thread<'_>, takes: &Descriptor, count: usize) -> Attempt<[Physical; 8]> {
        let mut to = [Physical(0); 8];
        if count == 0 {
            return Ok(to);
        }
        let addresses = self.user_words(receiver, DESCRIPTOR, takes.receive_slots)?;
        for (at, address) in to.iter_mut().zip(addresses).take(count) {
            *at = self.reference_slot(receiver, Word { number: DESCRIPTOR, value: address })?;
        }
        self.slots_prepare(&to[..count])?;
        Ok(to)
    }

    /// Makes sure that references can be made in slots that were found. If this has to be cut off,
    /// the call that the running thread makes is made again.
    fn slots_prepare(&self, slots: &[Physical]) -> Attempt<()> {
        slots.iter().try_for_each(|slot| self.frame_prepare(*slot))
    }

    /// Moves what was checked. Bytes first: making a slot may turn a page of the buffer into an
    /// object page, never the other way round.
    fn deliver(&self, parcel: &Parcel) {
        self.span_copy(&parcel.source, &parcel.target, parcel.size);
        // It cannot be cut off here; but what the same call would do next can wait.
        let _ = self.work(parcel.size as u32 / 8 + parcel.references.count as u32 * REFERENCE_WORK);
        let References { from, to, count } = parcel.references;
        for (from, to) in from.into_iter().zip(to).take(count) {
            if from != to {
                self.reference_copy(self.reference(from), to, REFERENCE_ALL);
            }
        }
    }

    /// Moves a reply. Nothing of the client's can hold the server up: what does not fit is cut off,
    /// what is not there fails for the client alone. Its status.
    #[inline(always)]
    pub(crate) fn transfer_reply(&self, server: Thread<'_>, client: Thread<'_>) -> Attempt<Status> {
        let (mut bytes, mut references, mut status) = (0, 0, Status::OK);
        if !server.sends_words_alone() {
            (bytes, references, status) = self.transfer_reply_long(server, client)?;
        }
        self.move_words(server, client);
        let label = server.register(register::INFO) as u32;
        client.set_register(register::INFO, Info::received(label, bytes, references, 0).0);
        client.set_register(register::PORT_WORD, 0);
        Ok(status)
    }

    #[inline(never)]
    fn transfer_reply_long(&self, server: Thread<'_>, client: Thread<'_>) -> Attempt<(u64, u64, Status)> {
        let sends = self.descriptor(server, DESCRIPTOR, server.register(register::DESCRIPTOR))?;
        if sends.send_size == 0 && sends.send_reference_count == 0 {
            return Ok((0, 0, Status::OK));
        }
        if sends.send_size > MAX_BYTES || sends.send_reference_count > MAX_REFERENCES {
            return Err(Status::argument(Code::BadArgument, DESCRIPTOR).into());
        }
        let source = self.span(server, DESCRIPTOR, sends.send_address, sends.send_size, Rights::READ)?;
        let from = self.references_to_send(server, &sends, sends.send_reference_count as usize)?;
        match self.client_part(client, &sends) {
            Ok((size, target, to, count, status)) => {
                self.slots_prepare(&to[..count])?;
                self.work_check(DESCRIPTOR)?;
                self.deliver(&Parcel { source, target, size, references: References { from, to, count } });
                Ok((size, count as u64, status))
            }
            Err(Stop::Status(status)) => Ok((0, 0, status)),
            Err(stop) => Err(stop),
        }
    }

    /// Returns the client's room for a reply: bytes, their place, slots, number of slots, and its
    /// status.
    fn client_part(&self, client: Thread<'_>, sends: &Descriptor) -> Attempt<(u64, Span, [Physical; 8], usize, Status)> {
        let takes = self.descriptor_present(client)?;
        let size = sends.send_size.min(takes.receive_capacity);
        let target = self.span_present(client, DESCRIPTOR, takes.receive_address, size, Rights::WRITE)?;
        let count = sends.send_reference_count.min(takes.receive_slot_count) as usize;
        let to = self.slots_present(client, &takes, count)?;
        let status = if size < sends.send_size {
            Status::argument(Code::MessageTooLong, DESCRIPTOR)
        } else if (count as u64) < sends.send_reference_count {
            Status::argument(Code::NoSlots, DESCRIPTOR)
        } else {
            Status::OK
        };
        Ok((size, target, to, count, status))
    }

    fn words_present(&self, thread: Thread<'_>, address: u64) -> Attempt<[u64; 8]> {
        if !address.is_multiple_of(64) {
            return wrong(Code::BadAddress, DESCRIPTOR);
        }
        let span = self.span_present(thread, DESCRIPTOR, address, 64, Rights::READ)?;
        let mut words = [0; 8];
        self.span_read(&span, 0, &mut words);
        Ok(words)
    }

    fn descriptor_present(&self, client: Thread<'_>) -> Attempt<Descriptor> {
        let address = client.register(register::DESCRIPTOR) & !RECEIVE_ONLY;
        if address == 0 {
            return Ok(Descriptor::default());
        }
        let words = self.words_present(client, address)?;
        Ok(Descriptor {
            receive_address: words[2],
            receive_capacity: words[3],
            receive_slots: words[6],
            receive_slot_count: words[7],
            ..Descriptor::default()
        })
    }

    fn slots_present(&self, client: Thread<'_>, takes: &Descriptor, count: usize) -> Attempt<[Physical; 8]> {
        let bad = Stop::Status(Status::argument(Code::BadAddress, DESCRIPTOR));
        let mut to = [Physical(0); 8];
        if count == 0 {
            return Ok(to);
        }
        let addresses = self.words_present(client, takes.receive_slots)?;
        for (at, address) in to.iter_mut().zip(addresses).take(count) {
            // A slot that is present can be looked at without making the client wait.
            let needed = Rights::WRITE.union(Rights::OBJECTS);
            if self.leaf_in_tables(client, address, needed).is_none() {
                self.leaf_present(client, DESCRIPTOR, address, needed).map_err(|lack| if lack == Err(Stop::Again) { Stop::Again } else { bad })?;
            }
            *at = self.reference_slot(client, Word { number: DESCRIPTOR, value: address }).map_err(|stop| if stop == Stop::Again { stop } else { bad })?;
        }
        Ok(to)
    }

    /// Puts a fault or exception into the registers of a keeper; the thread itself as a reference
    /// and its state as bytes, where the keeper has offered room.
    fn transfer_fault(&self, thread: Thread<'_>, receiver: Thread<'_>, word: u64) -> Result<(), BlockedSide> {
        let takes = self.descriptor(receiver, DESCRIPTOR, receiver.register(register::DESCRIPTOR)).map_err(BlockedSide::Receiver)?;
        let exception = thread.fault() != FAULT_REGION;
        let mut bytes = 0;
        if exception && takes.receive_capacity >= ThreadState::SIZE {
            let span = self.span(receiver, DESCRIPTOR, takes.receive_address, ThreadState::SIZE, Rights::WRITE).map_err(BlockedSide::Receiver)?;
            if takes.receive_address.is_multiple_of(8) {
                self.span_write(&span, 0, &self.thread_words(receiver, thread));
                bytes = ThreadState::SIZE;
            }
        }
        let count = usize::from(takes.receive_slot_count > 0);
        let to = self.slots_to_fill(receiver, &takes, count).map_err(BlockedSide::Receiver)?;
        self.stop_receiving(receiver);
        if count == 1 {
            // Who keeps the space made the thread's world; who keeps a region only happens to be
            // mapped in it.
            let rights = if exception { REFERENCE_ALL } else { REFERENCE_USE };
            let reference = self.reference_fill(to[0], TargetType::Thread as u64, rights);
            list::link_set(&self.machine, reference.target(), thread.at, thread.links());
        }
        self.move_fault(thread, receiver, word, (bytes, count as u64));
        Ok(())
    }

    /// Puts what a thread faulted with into the registers of a receiver, who gets so many bytes and
    /// references.
    #[inline(always)]
    pub(crate) fn move_fault(&self, thread: Thread<'_>, receiver: Thread<'_>, word: u64, (bytes, references): (u64, u64)) {
        let exception = thread.fault() != FAULT_REGION;
        let flag = if exception { Info::EXCEPTION } else { Info::FAULT };
        receiver.set_register(register::WORDS[0], thread.fault_first());
        receiver.set_register(register::WORDS[1], thread.fault_second());
        receiver.set_register(register::WORDS[2], if exception { thread.fault_third() } else { 0 });
        receiver.set_register(register::WORDS[3], if exception { thread.register(register::PROGRAM_COUNTER) } else { 0 });
        receiver.set_register(register::INFO, Info::received(0, bytes, references, flag | Info::NEEDS_REPLY).0);
        receiver.set_register(register::PORT_WORD, word);
    }

    /// A place for a reference: a free slot, or a reference that will be replaced.
    pub(crate) fn reference_slot(&self, thread: Thread<'_>, place: Word) -> Attempt<Physical> {
        let object = ObjectType::Reference;
        let (at, frame) = self.slot_memory(thread, place, object)?;
        let is_reference = frame.kind.get() == crate::machine::Frame::OBJECTS && matches!(self.object_in_frame(at), Some((ObjectType::Reference, _)));
        if is_reference { Ok(at) } else { self.slot_checked(place, (at, frame), object) }
    }

    /// Makes what is at a place found by `reference_slot` a reference of this kind, without a
    /// target yet.
    pub(crate) fn reference_fill(&self, at: Physical, kind: u64, rights: u64) -> Reference<'_> {
        let is_object = self.machine.frame(at).is_some_and(|frame| frame.kind.get() == crate::machine::Frame::OBJECTS);
        if is_object && object::type_at(&self.machine, at) == Some(ObjectType::Reference) {
            self.reference_clear(self.reference(at));
        } else {
            self.object_put(at, ObjectType::Reference);
            self.reference(at).init(&self.machine);
        }
        let reference = self.reference(at);
        reference.set_kind(kind);
        reference.set_rights(rights);
        reference
    }

    /// Makes a copy of a reference at `to`, with no more than `rights`.
    pub(crate) fn reference_copy(&self, from: Reference<'_>, to: Physical, rights: u64) {
        let (kind, first, count) = (from.kind(), from.first(), from.count());
        let target = list::link_target(&self.machine, from.target());
        let copy = self.reference_fill(to, kind, from.rights() & rights);
        copy.set_first(first);
        copy.set_count(count);
        match (target, ObjectType::from_number(kind)) {
            (Some(target), Some(object)) => list::link_set(&self.machine, copy.target(), target, object::links_of(object, target)),
            _ if kind >= TargetType::IoPorts as u64 => {}
            _ => copy.set_kind(0),
        }
    }

    /// Makes a reference null, and tells who cares.
    pub(crate) fn reference_clear(&self, reference: Reference<'_>) {
        let kind = reference.kind();
        reference.set_kind(0);
        let Some(target) = list::link_target(&self.machine, reference.target()) else { return };
        list::link_clear(&self.machine, reference.target());
        if kind == TargetType::Port as u64 {
            self.references_check(target);
        } else if kind == TargetType::Reply as u64 {
            self.client_fail(self.thread(target));
        }
    }

    /// The server of a port without references is told so.
    pub(crate) fn references_check(&self, port: Physical) {
        let port = self.port(port);
        if list::is_empty(&self.machine, port.links()) {
            if let Some(server) = self.notified(port, nacre_abi::message::NO_REFERENCES) {
                self.tell(server);
            }
        }
    }
}
