//! A thread. Its page holds the kernel's words, then the user's registers where the machine's entry
//! code saves them, then the FPU state.
//!
//! States: *ready* (in the run queue, or chosen on a CPU), *waiting* (`wait` says for what; its
//! registers stand at the call that it will make again), *stopped* (in addition to either being
//! ready; a wait is undone by stopping, except that for an answer). Invariants: in the run queue
//! exactly if ready, not stopped, on no CPU and without a scheduler; `server` and `client` name
//! each other; a thread with `AWAITS_REPLY` or a fault waits or is stopped, so it is on no CPU.

use crate::machine::{Machine, Physical, thread_page};
use crate::list;
use crate::view::view;

view! {
    /// A thread.
    Thread, 128 words {
        header, set_header: u64 = 0;
        /// The space that it runs in; null once that was destroyed.
        space, set_space: Physical = 1;
        /// `STOPPED`, `ABANDONED`, ...
        flags, set_flags: u64 = 2;
        /// Reason of the wait, a `WaitKind`.
        wait, set_wait: u64 = 7;
        /// Thread that owes this one a reply; null if a reply reference stands for it.
        server, set_server: Physical = 8;
        /// Thread to which this one owes a reply.
        client, set_client: Physical = 9;
        /// The CPU that it is on, plus one; 0 = none.
        cpu, set_cpu: u64 = 10;
        /// Fault that is not answered yet: 0 none, 1 a page, 2 an exception.
        fault, set_fault: u64 = 11;
        fault_first, set_fault_first: u64 = 12;
        fault_second, set_fault_second: u64 = 13;
        fault_third, set_fault_third: u64 = 14;
        /// Object that the thread named last in a short message, its place, and the generation of
        /// its space's tables in which that was valid.
        named, set_named: u64 = 40;
        named_at, set_named_at: Physical = 41;
        named_generation, set_named_generation: u64 = 42;
        /// Start of the deadline's tree node: the time itself. Its size is 1 while armed, else 0.
        deadline, set_deadline: u64 = 18;
        deadline_armed, set_deadline_armed: u64 = 19;
        /// Number of the chain of donations that it runs in, or ran in when it began to wait
        /// (`donate`); 0 = it runs by its own right.
        chain, set_chain: u64 = 43;
        /// The port that it received from last. If that names it too, it is the port's holder.
        served, set_served: Physical = 44;
        /// The port that it waits to send to, if that has not moved.
        waits_at, set_waits_at: Physical = 45;
        /// The word that its scheduler knows it by.
        scheduler_word, set_scheduler_word: u64 = 46;
        /// Deadline of the thread's donation.
        donates_until, set_donates_until: u64 = 47;
        /// CPU time used, in the machine's stamps. While the thread is on a CPU, the stamp of its
        /// start is subtracted.
        used, set_used: u64 = 56;
        /// CPU time used before its state was set, in nanoseconds.
        had, set_had: u64 = 57;
        /// Number of times in a row that its call was cut off for following mappings too long.
        cut_off, set_cut_off: u64 = 15;
    } places {
        /// Node in the run queue or in the ring of what it waits for.
        queue = 3;
        /// Node in its space's ring of threads.
        peers = 5;
        /// Base of the deadline's tree node.
        deadline_node = 16;
        links = 30;
        /// Anchor of the reply reference that leads here.
        reply_links = 32;
        /// Link to its scheduler's port.
        scheduler = 48;
        /// Node in the run queue while it donates.
        turn = 51;
        /// Link to the thread that it donates to.
        donee = 53;
    }
}

/// Reason why a thread waits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u64)]
pub enum WaitKind {
    /// Ready: the thread waits for nothing.
    None = 0,
    /// Sender that waits for a receiver, on a port's ring of senders.
    Send = 1,
    /// Faulting thread that waits for a keeper to receive the fault, on a port's ring of senders.
    Fault = 2,
    /// Receiver that waits for a sender, on the ring of receivers of a port or set.
    Receive = 3,
    /// Client that waits for a reply to its message or fault.
    Reply = 4,
    /// Waiter on a mutex or condition.
    Lock = 5,
    /// Sleeper that waits for a time.
    Sleep = 6,
    /// Until its donation ends; on the ring of receivers of the port or set that ends it, if it
    /// named one.
    Donate = 7,
    /// Ready, but only its scheduler can let it run, and does not know yet: on that port's ring of
    /// senders, or about to be put there.
    Ready = 8,
    /// Ready, for somebody to give it time.
    Time = 9,
}

/// Flag of the machine's word: the thread has used the FPU.
pub(crate) const FPU_USED: u64 = 1;

impl Thread<'_> {
    /// Stopped: the thread may not run until `thread_start`.
    pub const STOPPED: u64 = 1;
    /// Stopped by a fault without a keeper.
    pub const ABANDONED: u64 = 2;
    /// Another CPU wants it off its own.
    pub const EVICT: u64 = 4;
    /// Call received: a server took the thread's `ipc_call`. The thread stands at
    /// `ipc_receive_reply`, and waits there whenever it is not stopped.
    pub const AWAITS_REPLY: u64 = 8;

    /// A scheduler lets it run: it is never in the run queue.
    pub const SCHEDULED: u64 = 16;
    /// Announced: the scheduler knows that the thread is ready.
    pub const KNOWN: u64 = 32;
    /// Notified of a port's last reference: the scheduler's next announcement says so, too.
    pub const FIRST: u64 = 128;
    /// Donor: the thread waits for `WaitKind::Donate`.
    pub const DONATES: u64 = 64;

    /// Returns true if the thread could run if it had a CPU.
    pub fn is_ready(self) -> bool {
        self.waits_for(WaitKind::None) || self.waits_for(WaitKind::Ready) || self.waits_for(WaitKind::Time)
    }

    /// Returns true if the thread is on this CPU.
    pub fn on_cpu(self, cpu: usize) -> bool {
        self.cpu() == cpu as u64 + 1
    }

    /// Returns true if the message in its registers has nothing but words.
    #[inline(always)]
    pub fn sends_words_alone(self) -> bool {
        let descriptor = self.register(thread_page::register::DESCRIPTOR);
        descriptor == 0 || descriptor & nacre_abi::message::RECEIVE_ONLY != 0
    }

    /// Returns true if the message in its registers has nothing but words, and no timeout. One test
    /// of three things.
    #[inline(always)]
    pub fn is_brief(self) -> bool {
        let descriptor = self.register(thread_page::register::DESCRIPTOR);
        // All ones but where the bit is set.
        let sends = (descriptor & nacre_abi::message::RECEIVE_ONLY).wrapping_sub(nacre_abi::message::RECEIVE_ONLY);
        descriptor & sends | self.register(thread_page::register::TIMEOUT) == 0
    }

    /// A register, by its number in [`thread_page::register`].
    #[inline(always)]
    pub fn register(self, number: usize) -> u64 {
        self.words[thread_page::REGISTERS + number].get()
    }

    /// Sets a register.
    #[inline(always)]
    pub fn set_register(self, number: usize, value: u64) {
        self.words[thread_page::REGISTERS + number].set(value)
    }

    /// The machine's own word.
    pub fn machine_word(self) -> u64 {
        self.words[thread_page::MACHINE].get()
    }

    /// Sets the machine's own word.
    pub fn set_machine_word(self, value: u64) {
        self.words[thread_page::MACHINE].set(value)
    }

    /// Returns true if `flag` is set.
    #[inline(always)]
    pub fn has(self, flag: u64) -> bool {
        self.flags() & flag != 0
    }

    /// Sets flags.
    #[inline(always)]
    pub fn raise(self, flag: u64) {
        self.set_flags(self.flags() | flag)
    }

    /// Clears flags.
    #[inline(always)]
    pub fn lower(self, flag: u64) {
        self.set_flags(self.flags() & !flag)
    }

    /// Notes what it faulted with: a kind, and three words.
    #[inline(always)]
    pub fn set_faulted(self, kind: u64, [first, second, third]: [u64; 3]) {
        self.set_fault(kind);
        self.set_fault_first(first);
        self.set_fault_second(second);
        self.set_fault_third(third);
    }

    /// Returns true if the thread waits for this reason.
    #[inline(always)]
    pub fn waits_for(self, kind: WaitKind) -> bool {
        self.wait() == kind as u64
    }

    /// Makes the words of a new thread, stopped.
    pub fn init<M: Machine>(self, machine: &M, space: Physical) {
        self.set_space(space);
        self.set_flags(Self::STOPPED);
        // It has named nothing yet: no generation is this one.
        self.set_named_generation(u64::MAX);
        for node in [self.queue(), self.peers(), self.links(), self.reply_links(), self.turn()] {
            list::init(machine, node);
        }
        list::link_init(machine, self.scheduler());
        list::link_init(machine, self.donee());
    }
}

/// The thread whose queue node is at `node`.
#[inline(always)]
pub fn thread_of_queue_node(node: Physical) -> Physical {
    Physical(node.0 & !0xfff)
}
