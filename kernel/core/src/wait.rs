//! How threads wait, and how waiting ends. A waiting thread's registers stand at its call, so a
//! wait can be undone at any time by taking it off its ring.

use crate::fault::FAULT_REGION;
use crate::kernel::Kernel;
use crate::list;
use crate::machine::{Machine, Physical, thread_page::register};
use crate::object::{Thread, WaitKind};
use nacre_abi::message::FOR_CLIENT;
use nacre_abi::{Call, Code, Status};

/// Length of the instruction by which a thread calls.
const CALL_INSTRUCTION: u64 = 2;
/// Maximum length of a chain of calls that are made for clients.
const MAX_LAYERS: u32 = 64;

impl<M: Machine> Kernel<M> {
    /// Puts a running caller back to its call.
    #[inline(always)]
    pub(crate) fn rewind(&self, caller: Thread<'_>) {
        caller.set_register(register::PROGRAM_COUNTER, caller.register(register::PROGRAM_COUNTER).wrapping_sub(CALL_INSTRUCTION));
    }

    /// Puts a thread that stands at its call behind it, as it was when it entered.
    pub(crate) fn unwind(&self, caller: Thread<'_>) {
        caller.set_register(register::PROGRAM_COUNTER, caller.register(register::PROGRAM_COUNTER).wrapping_add(CALL_INSTRUCTION));
    }

    /// Lets a thread that stands at a call be past it.
    #[inline(always)]
    pub(crate) fn pass_call(&self, thread: Thread<'_>, status: Status) {
        thread.set_register(register::STATUS, status.0);
        thread.set_register(register::PROGRAM_COUNTER, thread.register(register::PROGRAM_COUNTER).wrapping_add(CALL_INSTRUCTION));
    }

    /// Moves a thread past its call, as `pass_call` does, even if it stands at `ipc_receive_reply`.
    pub(crate) fn pass_reply(&self, thread: Thread<'_>, status: Status) {
        thread.lower(Thread::AWAITS_REPLY);
        self.pass_call(thread, status);
    }

    /// A thread that was stopped goes on where it is: where it waits to be answered, with its
    /// fault, or at an instruction.
    pub(crate) fn go_on(&self, thread: Thread<'_>) {
        let awaits = thread.has(Thread::AWAITS_REPLY);
        if (awaits || thread.fault() != 0) && self.is_connected(thread) {
            thread.set_wait(WaitKind::Reply as u64);
            if awaits && thread.register(register::TIMEOUT) != 0 {
                self.deadline_arm(thread, thread.register(register::TIMEOUT));
            }
        } else if awaits {
            self.wait_gone(thread);
        } else if thread.fault() != 0 {
            self.fault_again(thread);
        } else {
            self.make_ready(thread);
        }
    }

    /// Changes which call a thread will make when it goes on.
    #[inline(always)]
    pub(crate) fn set_call(&self, thread: Thread<'_>, call: Call) {
        thread.set_register(register::CALL, call.number());
    }

    /// The caller makes its call again: next, or in its turn if it has left the CPU. Interrupts get
    /// in before it does.
    pub(crate) fn call_again(&self, caller: Thread<'_>) {
        self.rewind(caller);
        if self.cpus[self.machine.cpu()].chosen.get() != caller.at {
            self.make_ready(caller);
        }
    }

    /// The caller waits, on the ring at `anchor`. It has been put back to its call. `timeout` is
    /// the register that says how long.
    #[inline(always)]
    pub(crate) fn wait_on(&self, caller: Thread<'_>, kind: WaitKind, anchor: Physical, timeout: usize) {
        caller.set_wait(kind as u64);
        list::push_back(&self.machine, anchor, caller.queue());
        if caller.register(timeout) != 0 {
            self.deadline_arm(caller, caller.register(timeout));
        }
        self.leave_cpu(caller);
    }

    /// Undoes a wait: the thread stands at its call and is on no ring. A message or fault that was
    /// taken stays taken: who owes the answer can still give it.
    pub(crate) fn wait_cancel(&self, thread: Thread<'_>) {
        self.chain_touched(thread);
        list::remove(&self.machine, thread.queue());
        if thread.has(Thread::DONATES) {
            self.donation_forget(thread);
        }
        if thread.waits_for(WaitKind::Fault) && thread.fault() == FAULT_REGION {
            // Nobody has received it, and it happens again by itself.
            thread.set_fault(0);
        }
        self.deadline_disarm(thread);
        thread.set_wait(WaitKind::None as u64);
    }

    /// Ends a wait: the call returns `status`, and the thread goes on.
    pub(crate) fn wait_end(&self, thread: Thread<'_>, status: Status) {
        list::remove(&self.machine, thread.queue());
        if thread.waits_for(WaitKind::Ready) {
            // Its scheduler's port has gone: it stays ready, and without time.
            return thread.set_wait(WaitKind::Time as u64);
        }
        if thread.has(Thread::DONATES) {
            self.donation_forget(thread);
        }
        if thread.fault() != 0 {
            // Its call was never the thing it waited for.
            return self.fault_again(thread);
        }
        self.pass_reply(thread, status);
        self.deadline_disarm(thread);
        thread.set_wait(WaitKind::None as u64);
        self.make_ready(thread);
    }

    /// Ends a wait because the other side has gone.
    pub(crate) fn wait_gone(&self, thread: Thread<'_>) {
        self.wait_end(thread, Status::new(Code::Gone));
    }

    /// Breaks the bond between a client and whoever owes it a reply; the client still awaits one.
    pub(crate) fn disconnect(&self, client: Thread<'_>) {
        self.chain_touched(client);
        let server = client.server();
        if server != Physical(0) {
            self.thread(server).set_client(Physical(0));
            client.set_server(Physical(0));
        }
        if let Some(node) = list::first(&self.machine, client.reply_links()) {
            list::link_clear(&self.machine, Physical(node.0 - 8));
        }
    }

    /// A client waits no more, by no doing of whoever owes it a reply. If that one calls others for
    /// it, it does no more: they will find nobody to answer.
    pub(crate) fn client_leaves(&self, client: Thread<'_>) {
        let mut server = client.server();
        self.disconnect(client);
        for _ in 0..MAX_LAYERS {
            if server == Physical(0) || !self.calls_for_client(self.thread(server)) {
                return;
            }
            let left = self.thread(server);
            server = left.server();
            self.disconnect(left);
            if left.wait() == 0 {
                // It is stopped.
                self.pass_reply(left, Status::new(Code::Interrupted));
            } else {
                self.wait_end(left, Status::new(Code::Interrupted));
            }
        }
    }

    /// Returns true if a thread waits in a call that it makes for its client, or is stopped where
    /// it would.
    fn calls_for_client(&self, thread: Thread<'_>) -> bool {
        let calls = thread.waits_for(WaitKind::Send) && thread.register(register::CALL) == Call::IpcCall.number();
        (calls || thread.has(Thread::AWAITS_REPLY)) && thread.fault() == 0 && thread.register(register::INFO) & FOR_CLIENT != 0
    }

    /// Returns true if a thread is at work on the reply that `client` waits for.
    pub(crate) fn is_served(&self, client: Thread<'_>) -> bool {
        let mut server = client.server();
        for _ in 0..MAX_LAYERS {
            if server == Physical(0) {
                return false;
            }
            if !self.calls_for_client(self.thread(server)) {
                return true;
            }
            server = self.thread(server).server();
        }
        true
    }

    /// The client of a server that will not answer gets `Gone`; if it is stopped, then when it is
    /// started, unless somebody owes it a reply again by then.
    pub(crate) fn client_fail(&self, client: Thread<'_>) {
        self.disconnect(client);
        if client.waits_for(WaitKind::Reply) {
            self.wait_gone(client);
        }
    }

    /// Returns true if some thread can still reply to this client.
    pub(crate) fn is_connected(&self, client: Thread<'_>) -> bool {
        client.server() != Physical(0) || !list::is_empty(&self.machine, client.reply_links())
    }
}
