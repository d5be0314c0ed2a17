//! The commonest course of the calls that are made most: a message or a reply of words alone, to
//! somebody who waits for just that, without a deadline on either side; a notification that
//! nobody waits for; a turn given to the next. It does what `ipc` and `scheduler` would do, in one
//! piece; where anything is out of the ordinary it does nothing and answers `None`, and `ipc`
//! decides.
//!
//! Messages and notifications come here with this CPU's own lock, while other CPUs may be here with
//! theirs; whoever is anywhere else in the core has all locks. What is written is then
//!
//! - this CPU's and the caller's: the caller is loaded here;
//! - a client that waits for the caller's reply: it is on no ring and no CPU, and only through the
//!   caller does a short course come to it;
//! - what the *claim* guards: where senders and receivers of a port meet, which is the set that the
//!   port is in, or the port itself. It covers the rings of receivers of all of these ports and of
//!   the set, pending bits, the set's ring of ready ports, and the threads that wait there to
//!   receive. A thread is on such a ring only once its whole context is in its page.
//! - the bits of `Space::active`, which are turned over in one step.
//!
//! All else is only read here, and written under all locks. Who does not get a claim does not wait
//! for it: under all locks nobody has one.
//!
//! Faults of regions come here under all locks, because tables are filled for them.

use crate::fault::FAULT_REGION;
use crate::kernel::{Attempt, Done, Kernel};
use crate::list;
use crate::machine::{Machine, Physical, thread_page::register};
use crate::object::{self, Port, Space, Thread, WaitKind, thread_of_queue_node};
use nacre_abi::fault::{MAP, RESUME};
use nacre_abi::message::{FOR_CLIENT, Info, KERNEL_BITS};
use nacre_abi::object::{TargetType, UNIT};
use nacre_abi::rights::{REFERENCE_NOTIFY, REFERENCE_USE};
use nacre_abi::{Call, ObjectType, Rights, Status, USER_END};

impl<M: Machine> Kernel<M> {
    /// The object that the first argument names, and its first word.
    #[inline(always)]
    fn fast_object(&self, caller: Thread<'_>) -> Option<(Physical, u64)> {
        let (address, space) = (caller.register(register::ARGUMENT_1), self.space(caller.space()));
        let at = if caller.named() == address && caller.named_generation() == space.generation() {
            caller.named_at()
        } else {
            self.fast_lookup(caller, space, address)?
        };
        Some((at, self.machine.words::<1>(at)[0].get()))
    }

    /// Returns the place of the object page's unit at `address`, and makes the thread remember it,
    /// because servers and clients mostly name one object again and again. A remembered place
    /// always lies in a frame of objects. Before the frame can become anything else, `object_place`
    /// seizes it: it goes from all tables, and the generation ends.
    pub(crate) fn fast_lookup(&self, caller: Thread<'_>, space: Space<'_>, address: u64) -> Option<Physical> {
        if address % UNIT != 0 || address >= USER_END {
            return None;
        }
        let at = self.machine.object_lookup(space.root(), address)?;
        // As in `object_in_frame`: what stands inside a thread's frame is no object.
        if self.machine.words::<1>(at.frame())[0].get() == object::header(ObjectType::Thread) {
            return None;
        }
        caller.set_named(address);
        caller.set_named_at(at);
        caller.set_named_generation(space.generation());
        Some(at)
    }

    /// The port that the first argument's reference leads to, if the reference has this right.
    #[inline(always)]
    fn fast_port(&self, caller: Thread<'_>, right: u64) -> Option<Physical> {
        let (at, word) = self.fast_object(caller)?;
        // Only then is a reference's room sure to be there.
        if word != object::header(ObjectType::Reference) {
            return None;
        }
        let reference = self.reference(at);
        let usable = reference.kind() == TargetType::Port as u64 && reference.rights() & right != 0;
        if !usable {
            return None;
        }
        list::link_target(&self.machine, reference.target())
    }

    /// Takes the claim on where senders to this port and receivers from it meet: its word. The port
    /// enters or leaves a set under all locks only.
    #[inline(always)]
    fn claim_meeting(&self, port: Port<'_>) -> Option<Physical> {
        let word = list::link_target(&self.machine, port.set()).map_or(port.claim(), |set| self.receivable(set).claim());
        self.machine.claim(word).then_some(word)
    }

    /// Returns true if a waiting thread has no flags but `flags`. A scheduler is no hindrance for a
    /// thread that goes on with time that was given to this CPU's thread.
    #[inline(always)]
    fn is_plain(caller: Thread<'_>, other: Thread<'_>, flags: u64) -> bool {
        other.flags() == flags || (caller.chain() != 0 && other.flags() & !(Thread::SCHEDULED | Thread::KNOWN) == flags)
    }

    /// `ipc_call`.
    #[inline(always)]
    pub(crate) fn fast_call(&self, cpu: usize, caller: Thread<'_>) -> Option<()> {
        let port = self.port(self.fast_port(caller, REFERENCE_USE)?);
        let has_left = caller.register(register::INFO) & FOR_CLIENT != 0 && caller.client() == Physical(0);
        if has_left || !caller.is_brief() {
            return None;
        }
        let receiver = self.fast_receiver(caller, port)?;
        self.move_words(caller, receiver);
        let label = caller.register(register::INFO) as u32;
        receiver.set_register(register::INFO, Info::received(label, 0, 0, Info::NEEDS_REPLY).0);
        receiver.set_register(register::PORT_WORD, port.word());
        self.fast_connect(caller, receiver);
        self.set_call(caller, Call::IpcReceiveReply);
        self.rewind(caller);
        caller.raise(Thread::AWAITS_REPLY);
        self.switch_directly(cpu, caller, receiver);
        Some(())
    }

    /// Lets the receiver owe the caller a reply, and work on its time.
    #[inline(always)]
    fn fast_connect(&self, caller: Thread<'_>, receiver: Thread<'_>) {
        self.pass_call(receiver, Status::OK);
        receiver.set_wait(WaitKind::None as u64);
        receiver.set_client(caller.at);
        receiver.set_chain(caller.chain());
        caller.set_wait(WaitKind::Reply as u64);
        caller.set_server(receiver.at);
    }

    /// A page that a region lacks, if the region's keeper waits at `port` for words alone. `words`
    /// are those of the fault.
    #[inline(always)]
    pub(crate) fn fast_fault(&self, thread: Thread<'_>, port: Port<'_>, words: [u64; 3]) -> Option<()> {
        let keeper = self.thread(self.receiver_at(port)?);
        let plain = keeper.deadline_armed() | keeper.register(register::DESCRIPTOR) == 0 && Self::is_plain(thread, keeper, 0);
        if !plain {
            return None;
        }
        list::remove(&self.machine, keeper.queue());
        self.hold(port, keeper);
        thread.set_faulted(FAULT_REGION, words);
        self.move_fault(thread, keeper, port.word(), (0, 0));
        self.fast_connect(thread, keeper);
        self.switch_directly(self.machine.cpu(), thread, keeper);
        Some(())
    }

    /// `ipc_reply_receive` of a keeper that has brought the page for which its client waits, or
    /// brings it by this reply.
    #[inline(always)]
    pub(crate) fn fast_resume(&self, caller: Thread<'_>) -> Option<Attempt<Done>> {
        let (client, label) = (self.thread(caller.client()), caller.register(register::INFO) as u32);
        let resumes = client.fault() == FAULT_REGION && (label == RESUME || label == MAP) && caller.is_brief();
        if !resumes || !client.waits_for(WaitKind::Reply) || client.chain() != caller.chain() || !Self::is_plain(caller, client, 0) {
            return None;
        }
        let receivable = self.fast_receivable(caller)?;
        if label == MAP
            && let Err(stop) = self.mapping_of_reply(caller)
        {
            self.machine.claim_end(receivable.1);
            return Some(Err(stop));
        }
        client.set_fault(0);
        // What the keeper has brought goes into the tables now: else the thread would fault once
        // more for that. If it brought nothing, the thread finds out.
        let _ = self.fill(self.space(client.space()), client.fault_third(), Rights(client.fault_second()));
        self.fast_receive(self.machine.cpu(), caller, receivable, client);
        Some(Ok(Done::Settled))
    }

    /// Takes the first thread that waits to receive from the port off its ring: from then on it is
    /// this CPU's alone.
    #[inline(always)]
    fn fast_receiver(&self, caller: Thread<'_>, port: Port<'_>) -> Option<Thread<'_>> {
        let claim = self.claim_meeting(port)?;
        let first = self.receiver_at(port).map(|at| self.thread(at));
        let plain = first.filter(|receiver| receiver.deadline_armed() == 0 && Self::is_plain(caller, *receiver, 0));
        if let Some(receiver) = plain {
            list::remove(&self.machine, receiver.queue());
            self.hold(port, receiver);
        }
        self.machine.claim_end(claim);
        plain
    }

    /// The port or set that the first argument names, if nothing is to be received there yet, and
    /// the claim on it.
    #[inline(always)]
    fn fast_receivable(&self, caller: Thread<'_>) -> Option<(Physical, Physical)> {
        let (at, word) = self.fast_object(caller)?;
        let (claim, quiet) = if word == object::header(ObjectType::PortSet) {
            let set = self.receivable(at);
            (self.machine.claim(set.claim()).then_some(set.claim())?, list::is_empty(&self.machine, set.ready()))
        } else if word == object::header(ObjectType::Port) {
            let port = self.port(at);
            (self.claim_meeting(port)?, !port.has_something(&self.machine))
        } else {
            return None;
        };
        if !quiet {
            self.machine.claim_end(claim);
            return None;
        }
        Some((at, claim))
    }

    /// `ipc_reply_receive`.
    #[inline(always)]
    pub(crate) fn fast_reply_receive(&self, cpu: usize, caller: Thread<'_>) -> Option<()> {
        if caller.client() == Physical(0) || !caller.is_brief() {
            return None;
        }
        let client = self.thread(caller.client());
        let plain = client.waits_for(WaitKind::Reply) && client.chain() == caller.chain() && Self::is_plain(caller, client, Thread::AWAITS_REPLY);
        if !plain || client.fault() | client.deadline_armed() != 0 {
            return None;
        }
        let receivable = self.fast_receivable(caller)?;
        self.move_words(caller, client);
        client.set_register(register::INFO, u64::from(caller.register(register::INFO) as u32));
        client.set_register(register::PORT_WORD, 0);
        self.pass_call(client, Status::OK);
        client.lower(Thread::AWAITS_REPLY);
        self.fast_receive(cpu, caller, receivable, client);
        Some(())
    }

    /// The caller has answered its client, which goes on, and receives, for which it waits.
    #[inline(always)]
    fn fast_receive(&self, cpu: usize, caller: Thread<'_>, (at, claim): (Physical, Physical), client: Thread<'_>) {
        client.set_wait(WaitKind::None as u64);
        client.set_server(Physical(0));
        caller.set_client(Physical(0));
        self.set_call(caller, Call::IpcReceive);
        self.rewind(caller);
        caller.set_wait(WaitKind::Receive as u64);
        list::push_back(&self.machine, self.receivable(at).receivers(), caller.queue());
        self.switch_directly(cpu, caller, client);
        // Not before the machine has put all of the caller into its page: another CPU may take it
        // from the ring at once.
        self.machine.claim_end(claim);
    }

    /// `port_notify`, where nobody waits.
    #[inline(always)]
    pub(crate) fn fast_notify(&self, cpu: usize, caller: Thread<'_>) -> Option<()> {
        let port = self.port(self.fast_port(caller, REFERENCE_NOTIFY)?);
        let bits = caller.register(register::ARGUMENT_2) & !KERNEL_BITS;
        if bits == 0 || self.cpus[cpu].timer_stale.get() {
            return None;
        }
        let claim = self.claim_meeting(port)?;
        let nobody = self.receiver_at(port).is_none();
        if nobody {
            self.fast_pend(port, bits);
            caller.set_register(register::STATUS, 0);
        }
        self.machine.claim_end(claim);
        nobody.then_some(())
    }

    #[inline(always)]
    fn fast_pend(&self, port: Port<'_>, bits: u64) {
        let new = port.pending() == 0;
        port.set_pending(port.pending() | bits);
        if new {
            port.refresh_ready(&self.machine);
        }
    }

    /// `thread_yield`, where somebody wants the turn. Under all locks: the run queue is
    /// everybody's.
    #[inline(always)]
    pub(crate) fn fast_yield(&self, cpu: usize, caller: Thread<'_>) -> Option<()> {
        if self.cpus[cpu].timer_stale.get() || self.idle.get() != 0 {
            return None;
        }
        let donates = list::first(&self.machine, self.run_queue()).is_some_and(|node| self.thread(thread_of_queue_node(node)).wait() != 0);
        if donates || caller.chain() != 0 {
            return None;
        }
        let next = self.queue_first(cpu)?;
        caller.set_register(register::STATUS, 0);
        self.queue_last(caller);
        self.switch_directly(cpu, caller, self.thread(next));
        Some(())
    }
}
