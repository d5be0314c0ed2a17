//! The commonest course of the calls that are made most: a message or a reply of words alone, to somebody who waits for just that, without a deadline on either side; a notification that
//! nobody waits for; a turn given to the next. It does what `ipc` and `scheduler` would do, in one piece; where anything is out of the ordinary it does nothing and answers `None`, and `ipc` decides.

use crate::kernel::Kernel;
use crate::list;
use crate::machine::{Machine, Physical, thread_page::register};
use crate::object::{self, Space, Thread, WaitKind};
use nacre_abi::message::{Info, NO_REFERENCES};
use nacre_abi::object::{TargetType, UNIT};
use nacre_abi::rights::REFERENCE_USE;
use nacre_abi::{Call, ObjectType, PAGE_SIZE, Status, USER_END};

impl<M: Machine> Kernel<M> {
    /// The object that the first argument names, and its first word.
    #[inline(always)]
    fn fast_object(&self, caller: Thread<'_>) -> Option<(Physical, u64)> {
        let (address, space) = (caller.register(register::RDI), self.space(caller.space()));
        let at = if caller.named() == address && caller.named_generation() == space.generation() {
            caller.named_at()
        } else {
            self.fast_lookup(caller, space, address)?
        };
        let word = self.machine.words::<1>(at)[0].get();
        // As in `object_in_frame`: what stands inside a thread's frame is no object.
        let inside = at.0 % PAGE_SIZE != 0 && self.machine.words::<1>(at.frame())[0].get() == object::header(ObjectType::Thread);
        (!inside).then_some((at, word))
    }

    /// Where the object page's unit at `address` lies, which the thread then remembers: servers and clients mostly name one object again and again.
    fn fast_lookup(&self, caller: Thread<'_>, space: Space<'_>, address: u64) -> Option<Physical> {
        if address % UNIT != 0 || address >= USER_END {
            return None;
        }
        let at = self.machine.object_lookup(space.root(), address)?;
        caller.set_named(address);
        caller.set_named_at(at);
        caller.set_named_generation(space.generation());
        Some(at)
    }

    /// The port that the first argument's reference leads to.
    #[inline(always)]
    fn fast_port(&self, caller: Thread<'_>) -> Option<Physical> {
        let (at, word) = self.fast_object(caller)?;
        // Only then is a reference's room sure to be there.
        if word != object::header(ObjectType::Reference) {
            return None;
        }
        let reference = self.reference(at);
        let usable = reference.kind() == TargetType::Port as u64 && reference.rights() & REFERENCE_USE != 0;
        if !usable {
            return None;
        }
        list::link_target(&self.machine, reference.target())
    }

    /// `ipc_call`.
    #[inline(always)]
    pub(crate) fn fast_call(&self, cpu: usize, caller: Thread<'_>) -> Option<()> {
        let port = self.port(self.fast_port(caller)?);
        let receiver = self.thread(self.receiver_at(port)?);
        if !caller.sends_words_alone() || caller.register(register::R15) != 0 || receiver.deadline_armed() != 0 || receiver.flags() != 0 {
            return None;
        }
        self.move_words(caller, receiver);
        let label = caller.register(register::RSI) as u32;
        receiver.set_register(register::RSI, Info::received(label, 0, 0, Info::NEEDS_REPLY).0);
        receiver.set_register(register::RDI, port.word());
        self.pass_call(receiver, Status::OK);
        list::remove(&self.machine, receiver.queue());
        receiver.set_wait(WaitKind::None as u64);
        receiver.set_client(caller.at);
        caller.set_wait(WaitKind::Reply as u64);
        caller.set_server(receiver.at);
        self.set_call(caller, Call::IpcReceiveReply);
        self.rewind(caller);
        caller.raise(Thread::AWAITS_REPLY);
        self.switch_directly(cpu, caller, receiver);
        Some(())
    }

    /// The port or set that the first argument names, if nothing is to be received there yet.
    #[inline(always)]
    fn fast_receivable(&self, caller: Thread<'_>) -> Option<Physical> {
        let (at, word) = self.fast_object(caller)?;
        let quiet = if word == object::header(ObjectType::PortSet) {
            list::is_empty(&self.machine, self.receivable(at).ready())
        } else if word == object::header(ObjectType::Port) {
            !self.port(at).has_something(&self.machine)
        } else {
            false
        };
        quiet.then_some(at)
    }

    /// `ipc_reply_receive`.
    #[inline(always)]
    pub(crate) fn fast_reply_receive(&self, cpu: usize, caller: Thread<'_>) -> Option<()> {
        if caller.client() == Physical(0) || !caller.sends_words_alone() || caller.register(register::R15) != 0 {
            return None;
        }
        let client = self.thread(caller.client());
        let plain = client.waits_for(WaitKind::Reply) && client.flags() == Thread::AWAITS_REPLY;
        if !plain || client.fault() != 0 || client.deadline_armed() != 0 {
            return None;
        }
        let at = self.receivable(self.fast_receivable(caller)?);
        self.move_words(caller, client);
        client.set_register(register::RSI, u64::from(caller.register(register::RSI) as u32));
        client.set_register(register::RDI, 0);
        self.pass_call(client, Status::OK);
        client.set_wait(WaitKind::None as u64);
        client.set_server(Physical(0));
        client.lower(Thread::AWAITS_REPLY);
        caller.set_client(Physical(0));
        self.set_call(caller, Call::IpcReceive);
        self.rewind(caller);
        caller.set_wait(WaitKind::Receive as u64);
        list::push_back(&self.machine, at.receivers(), caller.queue());
        self.switch_directly(cpu, caller, client);
        Some(())
    }

    /// `port_notify`, where nobody waits.
    #[inline(always)]
    pub(crate) fn fast_notify(&self, caller: Thread<'_>) -> Option<()> {
        let port = self.port(self.fast_port(caller)?);
        let bits = caller.register(register::RSI) & !NO_REFERENCES;
        if bits == 0 || self.timer_stale.get() || self.receiver_at(port).is_some() {
            return None;
        }
        let new = port.pending() == 0;
        port.set_pending(port.pending() | bits);
        if new {
            port.refresh_ready(&self.machine);
        }
        caller.set_register(register::RAX, 0);
        Some(())
    }

    /// `thread_yield`, where somebody wants the turn.
    #[inline(always)]
    pub(crate) fn fast_yield(&self, cpu: usize, caller: Thread<'_>) -> Option<()> {
        if self.timer_stale.get() || self.idle.get() != 0 {
            return None;
        }
        let next = self.queue_first(cpu)?;
        caller.set_register(register::RAX, 0);
        self.queue_last(caller);
        self.switch_directly(cpu, caller, self.thread(next));
        Some(())
    }
}
