//! Messages: synchronous, unbuffered. A sender and a receiver meet at a port; whoever comes first
//! waits there. `transfer` moves what is sent; this file is who meets whom, and what becomes of
//! both.
//!
//! | thread | stands at | is linked |
//! | --- | --- | --- |
//! | waits to send | `ipc_call` or `ipc_send` | on the port's ring of senders |
//! | waits to receive | `ipc_receive` | on the ring of receivers of a port or set |
//! | waits for a reply | `ipc_receive_reply` | `server` names who owes it, and that thread's `client` names it; or a reply reference leads to it |
//!
//! Invariant: a port never has senders and receivers at once, nor a set receivers and a ready port.

use crate::call_result::wrong;
use crate::kernel::{Attempt, Done, Kernel, Stop};
use crate::list;
use crate::machine::{Machine, Physical, thread_page::register};
use crate::object::{Port, Receivable, Thread, WaitKind, port_of_ready_node, thread_of_queue_node};
use crate::transfer::BlockedSide;
use nacre_abi::arguments::{self, Word};
use nacre_abi::call::DONATION_ARRIVED;
use nacre_abi::message::{FOR_CLIENT, Info};
use nacre_abi::object::TargetType;
use nacre_abi::rights::{REFERENCE_CONTROL, REFERENCE_NOTIFY, REFERENCE_USE};
use nacre_abi::{Call, Code, ObjectType, Status};

/// Maximum number of donating threads at a port that a message wakes at once. The others are woken
/// later.
const MAX_DONORS_TOLD: usize = 8;
/// Cost of finding that a message cannot be transferred, because a page of the receiver or of a
/// waiting sender is missing, in instructions.
const VAIN_WORK: u32 = 900;

impl<M: Machine> Kernel<M> {
    /// The thread that waits to receive from a port, or from the set that it is in.
    #[inline(always)]
    pub(crate) fn receiver_of(&self, port: Port<'_>) -> Option<Thread<'_>> {
        for _ in 0..MAX_DONORS_TOLD {
            let first = self.thread(self.receiver_at(port)?);
            if !first.has(Thread::DONATES) {
                return Some(first);
            }
            // Whoever waits for something to come here while it donates is told that it has.
            self.donation_end(first, DONATION_ARRIVED);
            self.make_ready(first);
        }
        // They may be very many: all who are left look for themselves, in their turn.
        self.all_look_again(port);
        None
    }

    /// Returns the thread that receives at the port, or one that donates until something comes.
    #[inline(always)]
    pub(crate) fn receiver_at(&self, port: Port<'_>) -> Option<Physical> {
        let node = match list::first(&self.machine, port.receivers()) {
            Some(node) => node,
            None => {
                let set = list::link_target(&self.machine, port.set())?;
                list::first(&self.machine, self.receivable(set).receivers())?
            }
        };
        Some(thread_of_queue_node(node))
    }

    /// A message that wants an answer was taken: from now on the receiver owes the sender a reply,
    /// and goes on with what it received.
    #[inline(always)]
    pub(crate) fn connect(&self, sender: Thread<'_>, receiver: Thread<'_>) {
        sender.set_wait(WaitKind::Reply as u64);
        sender.set_server(receiver.at);
        receiver.set_client(sender.at);
        self.received(receiver);
    }

    /// The receiver's wait is over.
    #[inline(always)]
    fn received(&self, receiver: Thread<'_>) {
        list::remove(&self.machine, receiver.queue());
        self.deadline_disarm(receiver);
        receiver.set_wait(WaitKind::None as u64);
    }

    /// Gives what `sender` sends to the first receiver that can take it; `None` if nobody waits
    /// (any more).
    #[inline(always)]
    pub(crate) fn meet(&self, sender: Thread<'_>, port: Port<'_>, needs_reply: bool) -> Attempt<Option<Thread<'_>>> {
        while let Some(receiver) = self.receiver_of(port) {
            match self.transfer(sender, receiver, port.word(), needs_reply) {
                Ok(()) => {
                    self.pass_call(receiver, Status::OK);
                    self.hold(port, receiver);
                    return Ok(Some(receiver));
                }
                // What is cut off the running thread makes again, and that is the sender.
                Err(BlockedSide::Receiver(Stop::Again)) => return Err(Stop::Again),
                Err(BlockedSide::Sender(stop)) => return Err(stop),
                Err(BlockedSide::Receiver(Stop::Status(status))) => self.wait_end(receiver, status),
                Err(BlockedSide::Receiver(_)) => {}
            }
            self.work(VAIN_WORK)?;
        }
        Ok(None)
    }

    pub(crate) fn ipc_call(&self, caller: Thread<'_>) -> Attempt<Done> {
        let call: arguments::IpcCall = caller.arguments();
        let port = self.port(self.target(caller, call.target, ObjectType::Port, REFERENCE_USE)?);
        if caller.register(register::INFO) & FOR_CLIENT != 0 && caller.client() == Physical(0) {
            return Err(Status::new(Code::Interrupted).into());
        }
        let Some(receiver) = self.meet(caller, port, true)? else { return self.wait_to_send(caller, port) };
        self.connect(caller, receiver);
        self.await_reply(caller);
        self.leave_cpu(caller);
        self.lend_time(caller, receiver);
        self.hand_over(caller, receiver);
        Ok(Done::Settled)
    }

    /// Makes all threads that wait at the port wait for this thread.
    #[inline(always)]
    pub(crate) fn hold(&self, port: Port<'_>, receiver: Thread<'_>) {
        port.set_holder(receiver.at);
        receiver.set_served(port.at);
    }

    /// The sender of a message that was taken stands at `ipc_receive_reply` now.
    #[inline(always)]
    fn await_reply(&self, sender: Thread<'_>) {
        self.set_call(sender, Call::IpcReceiveReply);
        self.rewind(sender);
        sender.raise(Thread::AWAITS_REPLY);
        if sender.register(register::TIMEOUT) != 0 {
            self.deadline_arm(sender, sender.register(register::TIMEOUT));
        }
    }

    fn wait_to_send(&self, caller: Thread<'_>, port: Port<'_>) -> Attempt<Done> {
        self.rewind(caller);
        caller.set_waits_at(port.at);
        self.wait_on(caller, WaitKind::Send, port.senders(), register::TIMEOUT);
        port.refresh_ready(&self.machine);
        Err(Stop::Wait)
    }

    pub(crate) fn ipc_receive_reply(&self, caller: Thread<'_>) -> Attempt<Done> {
        // Whoever is owed a reply waits for it without making this call: nobody owes the caller
        // one.
        debug_assert!(!caller.has(Thread::AWAITS_REPLY));
        Err(Status::new(Code::Gone).into())
    }

    pub(crate) fn ipc_send(&self, caller: Thread<'_>) -> Attempt<Done> {
        let call: arguments::IpcSend = caller.arguments();
        let (found, at) = self.object(caller, call.target)?;
        if found == ObjectType::Reference && self.reference(at).kind() == TargetType::Reply as u64 {
            return self.send_reply(caller, call.target, at);
        }
        let port = self.port(self.target(caller, call.target, ObjectType::Port, REFERENCE_USE)?);
        let Some(receiver) = self.meet(caller, port, false)? else { return self.wait_to_send(caller, port) };
        self.received(receiver);
        self.make_ready(receiver);
        Ok(Done::Return)
    }

    /// Answers a client through a reply reference, which is used up.
    fn send_reply(&self, caller: Thread<'_>, named: Word, reference: Physical) -> Attempt<Done> {
        let link = self.reference(reference).target();
        let Some(client) = list::link_target(&self.machine, link) else { return wrong(Code::NullReference, named) };
        self.answer(caller, self.thread(client))?;
        Ok(Done::Return)
    }

    /// Gives `client`, which waits for it, the reply that `server` holds in its registers.
    #[inline(always)]
    fn answer(&self, server: Thread<'_>, client: Thread<'_>) -> Attempt<()> {
        if client.fault() != 0 {
            return self.fault_answer(server, client, server.register(register::INFO) as u32);
        }
        let status = self.transfer_reply(server, client)?;
        if !self.is_connected(client) {
            // One of the references that it received took the place of the only one by which it
            // could be answered.
            return Ok(());
        }
        self.deadline_disarm(client);
        self.disconnect(client);
        self.pass_reply(client, status);
        if client.waits_for(WaitKind::Reply) {
            client.set_wait(WaitKind::None as u64);
            self.hand_over(server, client);
        }
        Ok(())
    }

    pub(crate) fn ipc_reply(&self, caller: Thread<'_>) -> Attempt<Done> {
        if caller.client() == Physical(0) {
            return Err(Status::new(Code::NotConnected).into());
        }
        self.answer(caller, self.thread(caller.client()))?;
        Ok(Done::Return)
    }

    pub(crate) fn ipc_reply_receive(&self, caller: Thread<'_>) -> Attempt<Done> {
        if caller.client() != Physical(0)
            && let Some(done) = self.fast_resume(caller)
        {
            return done;
        }
        let call: arguments::IpcReplyReceive = caller.arguments();
        let at = self.receivable_argument(caller, call.from)?;
        if caller.client() == Physical(0) {
            return Err(Status::new(Code::NotConnected).into());
        }
        // While the reply goes out, the caller is not to be the one that this CPU was to run: then
        // the client can be.
        self.leave_cpu(caller);
        let answered = self.answer(caller, self.thread(caller.client()));
        if let Err(stop) = answered {
            if stop != Stop::Wait {
                self.take_cpu(caller);
            }
            return Err(stop);
        }
        self.set_call(caller, Call::IpcReceive);
        let result = self.work(0).and_then(|()| self.receive_from(caller, at));
        if result != Err(Stop::Wait) {
            self.take_cpu(caller);
        }
        result
    }

    /// The caller goes on after all; whoever was chosen meanwhile waits for its turn.
    fn take_cpu(&self, caller: Thread<'_>) {
        let chosen = &self.cpus[self.machine.cpu()].chosen;
        let other = chosen.replace(caller.at);
        if other != Physical(0) && other != caller.at {
            self.make_ready(self.thread(other));
        }
    }

    #[inline(always)]
    pub(crate) fn receivable_argument(&self, caller: Thread<'_>, argument: Word) -> Attempt<Receivable<'_>> {
        let (found, at) = self.object(caller, argument)?;
        let at = match found {
            ObjectType::Port | ObjectType::PortSet => at,
            ObjectType::Reference if self.reference(at).kind() == TargetType::PortSet as u64 => {
                self.target_of(argument, (found, at), ObjectType::PortSet, REFERENCE_CONTROL)?
            }
            _ => self.target_of(argument, (found, at), ObjectType::Port, REFERENCE_CONTROL)?,
        };
        Ok(self.receivable(at))
    }

    pub(crate) fn ipc_receive(&self, caller: Thread<'_>) -> Attempt<Done> {
        let call: arguments::IpcReceive = caller.arguments();
        let at = self.receivable_argument(caller, call.from)?;
        self.receive_from(caller, at)
    }

    /// Takes what is there, or waits.
    #[inline(always)]
    fn receive_from(&self, caller: Thread<'_>, at: Receivable<'_>) -> Attempt<Done> {
        if caller.client() != Physical(0) {
            self.client_fail(self.thread(caller.client()));
        }
        while let Some(port) = self.ready_port(at) {
            if self.take_from(caller, port)? {
                return Ok(Done::Return);
            }
            self.work(VAIN_WORK)?;
        }
        self.rewind(caller);
        self.wait_on(caller, WaitKind::Receive, at.receivers(), register::TIMEOUT);
        Err(Stop::Wait)
    }

    /// The port with something to receive, if there is one.
    #[inline(always)]
    pub(crate) fn ready_port(&self, at: Receivable<'_>) -> Option<Port<'_>> {
        if at.is_port() {
            let port = self.port(at.at);
            return port.has_something(&self.machine).then_some(port);
        }
        list::first(&self.machine, at.ready()).map(|node| self.port(port_of_ready_node(node)))
    }

    /// Receives one thing from a port; false if what was there turned out not to be receivable.
    fn take_from(&self, caller: Thread<'_>, port: Port<'_>) -> Attempt<bool> {
        if port.pending() != 0 {
            self.give_notification(caller, port);
            return Ok(true);
        }
        let Some(node) = list::first(&self.machine, port.senders()) else {
            port.refresh_ready(&self.machine);
            return Ok(false);
        };
        let sender = self.thread(thread_of_queue_node(node));
        let is_call = sender.fault() != 0 || sender.register(register::CALL) == Call::IpcCall.number();
        let taken = match self.transfer(sender, caller, port.word(), is_call) {
            Ok(()) => {
                self.hold(port, caller);
                self.sender_taken(sender, caller, is_call);
                true
            }
            Err(BlockedSide::Sender(Stop::Again)) => return Err(Stop::Again),
            Err(BlockedSide::Sender(stop)) => {
                if let Stop::Status(status) = stop {
                    self.wait_end(sender, status);
                }
                false
            }
            Err(BlockedSide::Receiver(stop)) => return Err(stop),
        };
        port.refresh_ready(&self.machine);
        self.rotate_ready(port);
        Ok(taken)
    }

    /// Moves on a waiting sender whose message the caller has received: it waits for the reply, or
    /// becomes ready.
    fn sender_taken(&self, sender: Thread<'_>, receiver: Thread<'_>, is_call: bool) {
        if sender.waits_for(WaitKind::Ready) {
            return self.scheduler_told(sender);
        }
        if !is_call {
            return self.wait_end(sender, Status::OK);
        }
        list::remove(&self.machine, sender.queue());
        sender.set_wait(WaitKind::Reply as u64);
        sender.set_server(receiver.at);
        receiver.set_client(sender.at);
        if sender.fault() == 0 {
            self.set_call(sender, Call::IpcReceiveReply);
            sender.raise(Thread::AWAITS_REPLY);
        }
    }

    /// Lets the other ports of a set come first next time, so that one busy port does not starve
    /// them.
    fn rotate_ready(&self, port: Port<'_>) {
        if let Some(set) = list::link_target(&self.machine, port.set())
            && !list::is_empty(&self.machine, port.ready())
        {
            list::remove(&self.machine, port.ready());
            list::push_back(&self.machine, self.receivable(set).ready(), port.ready());
        }
    }

    /// Hands the pending bits of a port to a receiver's registers.
    fn give_notification(&self, receiver: Thread<'_>, port: Port<'_>) {
        receiver.set_register(register::WORDS[0], port.pending());
        receiver.set_register(register::INFO, Info::received(0, 0, 0, Info::NOTIFICATION).0);
        receiver.set_register(register::PORT_WORD, port.word());
        port.set_pending(0);
        port.refresh_ready(&self.machine);
    }

    pub(crate) fn port_notify(&self, caller: Thread<'_>) -> Attempt<Done> {
        let call: arguments::PortNotify = caller.arguments();
        let port = self.target(caller, call.port, ObjectType::Port, REFERENCE_NOTIFY)?;
        // Some bits are the kernel's own.
        self.notify(self.port(port), call.bits.value & !nacre_abi::message::KERNEL_BITS);
        Ok(Done::Return)
    }

    /// Adds pending bits to a port; whoever waits to receive gets them.
    pub(crate) fn notify(&self, port: Port<'_>, bits: u64) {
        if let Some(receiver) = self.notified(port, bits) {
            self.make_ready(receiver);
        }
    }

    /// Delivers the bits as `notify` does, but leaves the woken thread for the caller to make
    /// ready.
    pub(crate) fn notified(&self, port: Port<'_>, bits: u64) -> Option<Thread<'_>> {
        port.set_pending(port.pending() | bits);
        if port.pending() == 0 {
            return None;
        }
        let Some(receiver) = self.receiver_of(port) else {
            port.refresh_ready(&self.machine);
            return None;
        };
        self.give_notification(receiver, port);
        self.pass_call(receiver, Status::OK);
        self.received(receiver);
        Some(receiver)
    }

    /// Something has come to a port other than by a meeting: whoever waits to receive from it, or
    /// from its set, makes the call again.
    pub(crate) fn port_look_again(&self, port: Port<'_>) {
        port.refresh_ready(&self.machine);
        if !port.has_something(&self.machine) {
            return;
        }
        self.all_look_again(port);
    }

    fn all_look_again(&self, port: Port<'_>) {
        self.announce_receivers(port.receivers());
        if let Some(set) = list::link_target(&self.machine, port.set()) {
            self.announce_receivers(self.receivable(set).receivers());
        }
    }

    pub(crate) fn ipc_detach(&self, caller: Thread<'_>) -> Attempt<Done> {
        let call: arguments::IpcDetach = caller.arguments();
        let slot = self.reference_slot(caller, call.slot)?;
        if caller.client() == Physical(0) {
            return Err(Status::new(Code::NotConnected).into());
        }
        self.frame_prepare(slot)?;
        let client = self.thread(caller.client());
        self.chain_touched(client);
        caller.set_client(Physical(0));
        client.set_server(Physical(0));
        let reference = self.reference_fill(slot, TargetType::Reply as u64, REFERENCE_USE);
        list::link_set(&self.machine, reference.target(), client.at, client.reply_links());
        Ok(Done::Return)
    }
}
